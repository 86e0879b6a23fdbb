/*
 * wait.h - the time while the command runs.
 *
 * Ends with the command, or when it must end: a signal to the launcher, the
 * death of the daemon, `legato-sandbox kill`, or the time that --die-after
 * gives. After that time the command gets SIGTERM, and WAIT_GRACE_MS later
 * the sandbox is killed. Nothing is ended here but by signals to the command:
 * the caller ends the sandbox.
 *
 * Threads: the main one.
 */
#ifndef SANDBOX_WAIT_H
#define SANDBOX_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

struct bwrap;
struct daemon;
struct pty;
struct remote;
struct remote_handler;
struct signals;

#define WAIT_GRACE_MS 10000

struct wait {
	struct signals *signals;
	const struct daemon *daemon;
	struct bwrap *bwrap;
	struct pty *pty; /* of the command */
	struct remote *remote;
	const struct remote_handler *handler;
	int64_t die_after_ms; /* 0: never */
	/* Called once, when the command has started; false ends the run. */
	bool (*started)(void *data);
	void *data;
	/* Set by who wants the sandbox killed: the signal to report. */
	int end_signal;
};

/* Why the wait was over. */
struct outcome {
	int signal; /* that asked for the end, or 0 */
	bool daemon_died;
};

struct outcome wait_for_end(struct wait *wait);

#endif
