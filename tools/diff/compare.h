/*
 * compare.h - what differs between two entries of the same kind.
 *
 * Reads no more than it must: files of different sizes are not opened.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_COMPARE_H
#define TOOLS_DIFF_COMPARE_H

#include "change.h"
#include "compiler.h"
#include "sides.h"

/* One entry: (dirfd, name) as in content.h, and what it was when collected. */
struct compare_end {
	int dirfd;
	const char *name;
	const struct change_side *side;
	/* It is in the upper or in links, where files may be partial; else
	 * NULL. Only of the second end. */
	const struct sides *sides;
};

/* The enum change_flags that apply (0 = equal), or the -errno of what could
 * not be read. */
int compare_ends(const struct compare_end *a,
		 const struct compare_end *b) MUST_CHECK;

#endif
