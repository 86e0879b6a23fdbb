/*
 * trouble.h - what went wrong on the way, told without giving up.
 *
 * A diff goes on where one file can't be read: the file is named in an
 * "error:" line, and the program ends with 2. What is only worth knowing is a
 * "warning:" line.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_TROUBLE_H
#define TOOLS_DIFF_TROUBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct trouble {
	FILE *out;        /* borrowed; NULL counts only */
	bool no_warnings; /* count them only */
	size_t n_errors;
	size_t n_warnings;
};

/* Whether an error only says that the entry went, or became something else,
 * since it was seen: in a view that is in use that is no trouble. */
bool trouble_is_vanished(int error);

/* "error: can't VERB 'PATH': SENTENCE"; only a warning for what vanished. */
void trouble_error(struct trouble *trouble, const char *verb, const char *path,
		   int error);

/* "warning: WHAT: 'PATH'" */
void trouble_warn(struct trouble *trouble, const char *what, const char *path);

#endif
