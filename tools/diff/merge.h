/*
 * merge.h - three-way merge of a file that changed in the base and in the view.
 *
 * What both came from is not kept anywhere, but where the base is a git
 * repository it is often there: as the blob of the index's entry, if that has
 * the size and time that the base's file had when the view took it over, else
 * as the committed version, if that has the size. Without it, everything that
 * differs is a conflict.
 *
 * Threads: as noise.h.
 */
#ifndef TOOLS_DIFF_MERGE_H
#define TOOLS_DIFF_MERGE_H

#include <stdbool.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "sides.h"

/* Adds the merged text to `content`, conflicts with git's markers.
 * -EMEDIUMTYPE where there is no text on both sides, -ENOMEM, or as
 * blob_load_old. */
int merge_change(struct buf *content, bool *ret_has_conflicts,
		 const struct sides *sides,
		 const struct change *change) MUST_CHECK;

#endif
