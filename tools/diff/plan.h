/*
 * plan.h - the steps that turn a base into what a view shows.
 *
 * Made from a list of changes, run on a real folder (plan_run.h): the base
 * itself, or a copy of it. Each step is complete in itself and says what must
 * be there before it, so that a plan that was interrupted can be run again
 * from its beginning: a step that is done already is none.
 *
 * Order of the steps, which nothing may change:
 * 1. PLAN_MAKE and PLAN_RENAME, by path: directories before their content;
 * 2. PLAN_DELETE, by path backwards: content before its directory;
 * 3. PLAN_MAKE of what takes a directory's place, which is empty by now;
 * 4. PLAN_FINISH, backwards: modes and times of directories.
 * So nothing is lost in between: what is deleted was made elsewhere before.
 *
 * Sources: the upper, `links`, or the base, where the view shows a directory
 * of it under another name. A base file that is a source and that the plan
 * changes too has to be kept first (`needs_keeping`; plan_keep in apply.c).
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_PLAN_H
#define TOOLS_DIFF_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "change.h"
#include "compiler.h"
#include "diff.h"

enum plan_op {
	PLAN_MAKE = '+',
	PLAN_RENAME = 'r',
	PLAN_DELETE = '-',
	PLAN_FINISH = 'd', /* attributes of a directory */
};

/* Strings are owned. Paths are relative to the folder and to the view. */
struct plan_step {
	enum plan_op op;
	enum change_kind old_kind; /* what is at `path` (PLAN_RENAME: at
				      `source`) before; KIND_NONE: nothing */
	enum change_kind new_kind;
	struct origin old_id;
	char *path;
	enum change_place place; /* of the new side */
	char *source;            /* its path there; PLAN_RENAME: the old path */
	char *link_to; /* MAKE: another name of the same file, or NULL */
	/* DELETE of a directory: it may stay, for what was not selected. */
	bool is_optional;
	bool with_times; /* FINISH: of a new directory */
	bool is_merged;  /* from more than the view's side */
	bool needs_keeping;
};

struct plan {
	struct plan_step *steps;
	size_t n;
	/* private */
	size_t capacity;
};

#define AUTO_PLAN AUTO(plan_release) struct plan

/* Adds a step with nothing in it that takes `path`; NULL when out of memory,
 * and then `path` is freed. Valid until the next one. */
struct plan_step *plan_add(struct plan *plan, char *path);

/*
 * Fills an empty plan from diff.list, which is sorted and holds what is wanted
 * (of a view taken with DIFF_WHOLE). `in_place`: for the base itself. 0 or
 * -ENOMEM.
 */
int plan_make(struct plan *plan, const struct diff *diff,
	      bool in_place) MUST_CHECK;

void plan_release(struct plan *plan);

#endif
