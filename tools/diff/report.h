/*
 * report.h - all that is told of an execution: every view, with what is odd,
 * git's stories and what is folded.
 *
 * The forms that are one document (summary, JSON, HTML) and the browser are
 * made from it. Nothing is filtered: each form folds by change.noise.
 *
 * Calling sequence: `AUTO_REPORT report = {0};`, report_make, use.
 *
 * Threads: one at a time in the process (libgit2's options are global).
 */
#ifndef TOOLS_DIFF_REPORT_H
#define TOOLS_DIFF_REPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "diff.h"
#include "execution.h"
#include "fold.h"
#include "git_story.h"
#include "manifest.h"
#include "odd.h"
#include "trouble.h"

struct report_view {
	const struct manifest_view *view; /* borrowed */
	int error; /* the view can't be compared: all else is empty */
	struct diff diff;
	struct odd_list odd;
	struct story_list stories;
	struct fold fold;
};

struct report {
	const struct execution *execution;    /* borrowed */
	const struct manifest *manifest;      /* borrowed */
	const struct manifest_view *checkout; /* borrowed; NULL: none */
	struct report_view *views;
	size_t n;
};

#define AUTO_REPORT AUTO(report_release) struct report

/* What of it. All borrowed. */
struct report_wish {
	const struct manifest_view *only; /* NULL: all views */
	/* As the person gave them: relative to a view, or below the place
	 * where the sandbox has it. None: all. */
	char *const *paths;
	size_t n_paths;
	bool renames;
};

/* 0 or -ENOMEM; a view that can't be compared has its `error`. */
int report_make(struct report *report, const struct execution *execution,
		const struct manifest *manifest, const struct report_wish *wish,
		struct trouble *trouble) MUST_CHECK;

/* The same for one view, whatever wish->only. `ret_view` is to be released on
 * failure, too. */
int report_view_make(struct report_view *ret_view,
		     const struct execution *execution,
		     const struct manifest_view *manifest_view,
		     const struct report_wish *wish,
		     struct trouble *trouble) MUST_CHECK;

void report_view_release(struct report_view *view);
void report_release(struct report *report);

#endif
