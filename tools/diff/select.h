/*
 * select.h - of a whole list, the changes that are to be taken over.
 *
 * Unlike filter.h this never goes beyond what was asked for: of a rename only
 * the ends within the paths count, and what is folded (noise.h) is left out
 * unless all is asked for, it is named itself, or a path names nothing else.
 * Directories that are needed for what is selected are selected with it.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_SELECT_H
#define TOOLS_DIFF_SELECT_H

#include "change.h"
#include "compiler.h"
#include "filter.h"

/* `list` is finished and from a view taken with DIFF_WHOLE; it stays finished.
 * 0 or -ENOMEM. */
int select_changes(struct change_list *list, const struct filter *filter,
		   struct filter_folded *ret_folded) MUST_CHECK;

#endif
