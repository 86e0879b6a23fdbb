/*
 * sides.h - the two sides of a comparison: a view's base and its upper.
 *
 * Old content is always read from the base. New content is in the upper, or,
 * for names that the upper does not have, in the base under another name, or in
 * `links` beside the upper, where the view keeps the one copy of a base file
 * with several names (fs/store/README.md).
 *
 * Threads: immutable between sides_open and sides_close.
 */
#ifndef TOOLS_DIFF_SIDES_H
#define TOOLS_DIFF_SIDES_H

#include "applied.h"
#include "compiler.h"
#include "execution.h"
#include "layer.h"
#include "manifest.h"
#include "mask_set.h"
#include "origin.h"

struct sides {
	const struct manifest_view *view; /* borrowed from the manifest */
	struct layer base;
	struct layer upper;
	/* Copies of base files, by origin_key; root_fd -1: there are none. */
	struct layer links;
	struct applied applied; /* entries of the base that an apply made */
	/* What the view never shows is in no change, on neither side. */
	struct mask_set masks;
	struct mask_links masked_links;
};

#define SIDES_INIT                                                             \
	{                                                                      \
		.base.root_fd = -1, .upper.root_fd = -1, .links.root_fd = -1   \
	}
#define AUTO_SIDES AUTO(sides_close) struct sides

/* Whether `name` in the base's directory `dir` is masked; `st` is what is
 * there. */
bool sides_hide(const struct sides *sides, const char *dir, const char *name,
		const struct stat *st);

/* Opens both folders of `view`; nothing stays open on failure. -ENOENT where
 * the base or the upper is gone, -EACCES, ... */
int sides_open(struct sides *sides, const struct execution *execution,
	       const struct manifest_view *view) MUST_CHECK;

void sides_close(struct sides *sides);

#endif
