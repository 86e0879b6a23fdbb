/*
 * marks.h - which changes, and which hunks of them, a person has marked.
 *
 * Calling sequence: marks_init for a finished list, which must not change
 * after that; set and ask; marks_release.
 *
 * Threads: one at a time. Errors: -ENOMEM.
 */
#ifndef TOOLS_DIFF_MARKS_H
#define TOOLS_DIFF_MARKS_H

#include <stdbool.h>
#include <stddef.h>

#include "change.h"
#include "compiler.h"

enum marks_state {
	MARKS_NONE,
	MARKS_SOME, /* hunks, but not all */
	MARKS_ALL,
};

struct marks_of_one {
	bool *hunks; /* owned; by number from 0 */
	size_t n_hunks;
	bool whole; /* where there are no hunks, or all are marked */
};

struct marks {
	const struct change_list *list; /* borrowed */
	struct marks_of_one *items;     /* as list->items */
};

int marks_init(struct marks *marks, const struct change_list *list) MUST_CHECK;
void marks_release(struct marks *marks);

/* Marks a whole change, or takes all marks off it. */
void marks_set(struct marks *marks, size_t index, bool marked);

/* The other way round for one hunk of `n_hunks`. 0 or -ENOMEM. */
int marks_toggle_hunk(struct marks *marks, size_t index, size_t hunk,
		      size_t n_hunks) MUST_CHECK;

enum marks_state marks_state(const struct marks *marks, size_t index);
bool marks_has_hunk(const struct marks *marks, size_t index, size_t hunk);

/* How many changes have a mark. */
size_t marks_count(const struct marks *marks);

#endif
