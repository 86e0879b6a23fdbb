/*
 * conflicts.h - what stands in the way of taking changes over.
 *
 * Looked for before anything is written. A change is in conflict where the base
 * moved (moved.h), where the directory that it needs is neither there nor
 * selected, or where a backup would replace something.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_CONFLICTS_H
#define TOOLS_DIFF_CONFLICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "compiler.h"
#include "diff.h"

struct conflicts {
	FILE *out; /* each is a line "conflict: REASON: 'PATH'"; or NULL */
	const char *backup_suffix; /* or NULL */
	bool three_way;            /* a moved text file is none */
	size_t n;                  /* counted up */
};

/* Whether a change is one that --three-way is for. */
bool conflicts_is_mergeable(const struct change *change);

/* Looks at all of diff->list. 0 or -ENOMEM. */
int conflicts_find(struct conflicts *conflicts,
		   const struct diff *diff) MUST_CHECK;

#endif
