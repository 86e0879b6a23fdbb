/*
 * apply.h - takes changes of a view over into its base.
 *
 * The one thing in this project that writes a base. Only what is selected is
 * touched (select.h); nothing at all where there is any conflict
 * (conflicts.h). Then a plan (plan.h) is written to the execution's folder,
 * carried out, and removed. Where a plan is there already, an apply was
 * interrupted: it is finished first. At any moment each path of the base holds
 * its old or its new entry, whole.
 *
 * In views/<view>/ of the execution: `apply.log`, the plan, and `apply/`,
 * copies of base files that the plan both reads and replaces, and merged files.
 * No log means that nothing was written yet.
 *
 * Threads: one at a time; a lock on the view's folder keeps other processes
 * out (-EWOULDBLOCK).
 */
#ifndef TOOLS_DIFF_APPLY_H
#define TOOLS_DIFF_APPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "change.h"
#include "compiler.h"
#include "execution.h"
#include "filter.h"
#include "hunks.h"
#include "manifest.h"
#include "trouble.h"

struct apply_request {
	const struct execution *execution;
	const struct manifest_view *view;
	struct filter filter; /* keep_deletions has no meaning */
	/* Of these files only these hunks; their attributes stay the base's. */
	const struct hunk *hunks;
	size_t n_hunks;
	const char *backup_suffix; /* see plan_run.h; NULL: no backups */
	bool three_way; /* merge a text file that the base changed, too */
	bool dry_run;   /* write nothing */
	bool forget;    /* drop an interrupted apply instead of finishing it */
	FILE *conflicts_out; /* see conflicts.h */
	FILE *list_out;      /* names and letters of what is taken over; NULL */
};

struct apply_result {
	bool has_finished_other; /* one that was interrupted */
	size_t n_conflicts;      /* if not 0: see `was_written` */
	bool was_written;        /* conflicts came up only meanwhile */
	size_t n_marked;         /* merged files with conflict markers */
	struct change_counts taken;
	struct filter_folded folded;
};

/*
 * 0 with *ret_result (conflicts included), or -errno: -EWOULDBLOCK,
 * -EINPROGRESS for a dry run while there is an interrupted apply, -EROFS for a
 * view that is no overlay, -EREMOTEIO where the view could not be read whole,
 * -ERANGE and -EMEDIUMTYPE as hunks_apply, and what the disk says. What
 * concerns one path was told in `trouble`.
 */
int apply_view(const struct apply_request *request,
	       struct apply_result *ret_result,
	       struct trouble *trouble) MUST_CHECK;

#endif
