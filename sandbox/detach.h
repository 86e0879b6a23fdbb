/*
 * detach.h - a run that its caller does not wait for.
 *
 * The launcher forks before anything is made. The child, in a session of its
 * own, does the run; the parent waits until the command has started, prints
 * the id and ends with 0. Until then the child's failures go to the person's
 * stderr, and the parent ends with its exit code. The command reads nothing,
 * and what it and then the launcher print goes to DETACH_OUTPUT_FILE in the
 * execution's folder.
 *
 * Calling sequence: detach_fork; in the child detach_enter, before the
 * command's files are looked at, and detach_report. Threads: before any.
 */
#ifndef SANDBOX_DETACH_H
#define SANDBOX_DETACH_H

#include <stdbool.h>

#include "compiler.h"

struct execution;

#define DETACH_OUTPUT_FILE "output"

struct detach {
	/* private */
	int report_fd; /* to the parent; -1 in a run that is not detached */
};

#define DETACH_INIT                                                            \
	{                                                                      \
		.report_fd = -1                                                \
	}

/* In the parent: true, with the exit code. In the child: false. */
bool detach_fork(struct detach *detach, int *ret_code) MUST_CHECK;

/* Gives the descriptors 0, 1 and 2 their new meaning; failures go on to the
 * person's stderr. 0 or -errno. Does nothing in a run that is not detached. */
int detach_enter(struct detach *detach,
		 const struct execution *execution) MUST_CHECK;

/* The command has started. False: nobody waits for it any more. */
bool detach_report(struct detach *detach, const struct execution *execution);

#endif
