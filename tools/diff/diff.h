/*
 * diff.h - all steps from a view to its finished list of changes.
 *
 * Calling sequence: `struct diff diff = DIFF_INIT;`, diff_view, read
 * diff.list, diff_release (AUTO_DIFF). A format that needs content reads it
 * through diff.sides.
 *
 * Threads: as noise.h.
 */
#ifndef TOOLS_DIFF_DIFF_H
#define TOOLS_DIFF_DIFF_H

#include <stdbool.h>

#include "change.h"
#include "compiler.h"
#include "sides.h"
#include "trouble.h"

struct diff {
	struct sides sides;
	struct change_list list; /* finished, sorted by path */
	/* DIFF_WHOLE: files with several names that are as in the base; not
	 * sorted. */
	struct change_list equal;
};

enum diff_flags {
	DIFF_RENAMES = 1 << 0, /* pair what was renamed */
	/* All that is needed to make the view's tree again, not only what a
	 * person wants to be told: directories with CHANGE_FILLED, `equal`. */
	DIFF_WHOLE = 1 << 1,
};

#define DIFF_INIT                                                              \
	{                                                                      \
		.sides = SIDES_INIT                                            \
	}
#define AUTO_DIFF AUTO(diff_release) struct diff

/* The view that holds the checkout: "work", else the first overlay, else the
 * first of all; NULL where the manifest has none. Borrowed. */
const struct manifest_view *diff_checkout_view(const struct manifest *manifest);

/* A path below the view's root: one below its mount point, as the agent knows
 * it, is taken too. Points into `path`. */
char *diff_relative_path(const struct manifest_view *view, char *path);

/* Fills `diff`, which is DIFF_INIT; `flags` are enum diff_flags. -ENOMEM, or as
 * sides_open. */
int diff_view(struct diff *diff, const struct execution *execution,
	      const struct manifest_view *view, unsigned int flags,
	      struct trouble *trouble) MUST_CHECK;

void diff_release(struct diff *diff);

#endif
