/*
 * fold.h - folded changes by the folder that they lie in.
 *
 * "ignored: A 4120 (31 MiB)" tells nothing; "node_modules/ A 4000, build/ A
 * 120" does. A group is the topmost folder that holds a folded change, or the
 * file itself at the view's top.
 *
 * Calling sequence: `AUTO_FOLD fold = {0};`, fold_collect on a finished list
 * that is not filtered yet.
 *
 * Threads: one at a time. Errors: -ENOMEM.
 */
#ifndef TOOLS_DIFF_FOLD_H
#define TOOLS_DIFF_FOLD_H

#include <stddef.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"

struct fold_group {
	char *path; /* owned; a folder's ends in '/' */
	enum change_noise noise;
	struct change_counts counts;
};

struct fold {
	struct fold_group *groups; /* by noise, then by bytes, biggest first */
	size_t n;
	struct change_counts totals[NOISE_N]; /* NOISE_NONE too */
};

#define AUTO_FOLD AUTO(fold_release) struct fold

/* "ignored", "generated", "below .git". */
const char *fold_name(enum change_noise noise);

int fold_collect(struct fold *fold, const struct change_list *list) MUST_CHECK;

/* One line for each noise but git's that folds anything: total, then up to
 * `max` groups. */
void fold_add_lines(struct buf *buf, const struct fold *fold,
		    const char *indent, size_t max);

void fold_release(struct fold *fold);

#endif
