/*
 * past.h - the history of one name, through its renames.
 *
 * Going back in time, a name that came by a rename, an exchange or a link was
 * another before, and so was one in a directory that was renamed.
 *
 * Calling sequence: `struct past past = {0};`, past_follow, past_has for each
 * record of another reading, past_release. Threads: one at a time.
 */
#ifndef TOOLS_DIFF_PAST_H
#define TOOLS_DIFF_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "history.h"

struct past_name {
	char *path;     /* owned */
	uint64_t first; /* the sequence from which on it was that */
	uint64_t last;
};

struct past {
	struct past_name *names; /* the newest first */
	size_t n;
	/* private */
	const char *view; /* borrowed */
};

/* Finds all names that `path` in `view` had. -ENOMEM. */
int past_follow(struct past *past, struct history *history, const char *view,
		const char *path) MUST_CHECK;

/* Whether the record is of what had one of the names then. */
bool past_has(const struct past *past, const struct journal_record *record);

void past_release(struct past *past);

#endif
