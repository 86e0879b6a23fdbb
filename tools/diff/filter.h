/*
 * filter.h - drops from a finished list what is not asked for.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_FILTER_H
#define TOOLS_DIFF_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include "change.h"

struct filter {
	/* Files, or directories with all beneath; relative to the view. None
	 * means all. Borrowed. */
	char *const *paths;
	size_t n_paths;
	bool all; /* keep noise too */
	/* Keep deletions of ignored files: they are never folded in a list of
	 * names. */
	bool keep_deletions;
};

/* What was folded, as far as it is within the paths. */
struct filter_folded {
	struct change_counts git;
	struct change_counts ignored;
	struct change_counts generated;
};

/* Whether `path` is `top` or lies below it; "" has everything. */
bool filter_is_within(const char *path, const char *top);

/* Keeps the order. A rename is within the paths if one of its ends is. */
void filter_apply(struct change_list *list, const struct filter *filter,
		  struct filter_folded *ret_folded);

#endif
