/*
 * hunks.h - a file of the base with some of the hunks of its change.
 *
 * Hunks are numbered from 1 in the order in which a patch shows them.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_HUNKS_H
#define TOOLS_DIFF_HUNKS_H

#include <stddef.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "sides.h"

/* One hunk of one file. */
struct hunk {
	const char *path; /* as change->path; borrowed */
	size_t number;
};

/*
 * Adds to `content` the old file of `change` with those of the `n` hunks that
 * are its own. -ERANGE where there is no hunk with such a number, -EMEDIUMTYPE
 * where the change has none (it is not of text in a file on both sides),
 * -ENOMEM, or as blob_load_old.
 */
int hunks_apply(struct buf *content, const struct sides *sides,
		const struct change *change, const struct hunk *hunks,
		size_t n) MUST_CHECK;

#endif
