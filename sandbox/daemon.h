/*
 * daemon.h - legato-fs as the launcher's child: start, ready, stop.
 *
 * The control protocol is in fs/README.md. The daemon inherits the lock, so
 * the execution lives as long as either of us; it is in a session of its own,
 * so no key of the terminal reaches it.
 *
 * The launcher keeps a duplicate of the /dev/fuse descriptor: the mount
 * outlives the daemon until daemon_abandon or daemon_stop drops it. While it
 * is held, whoever waits for a dead daemon waits unkillably: drop it before
 * ending the sandbox.
 *
 * Calling sequence: daemon_check, daemon_start, daemon_wait_ready, poll
 * control_fd (readable: it died), daemon_stop. Threads: one.
 */
#ifndef SANDBOX_DAEMON_H
#define SANDBOX_DAEMON_H

#include <stdbool.h>

#include "child.h"
#include "compiler.h"

struct execution;
struct programs;

struct daemon {
	struct child child;
	int control_fd;
	/* private */
	int fuse_fd;
	unsigned int connection; /* in /sys/fs/fuse/connections; 0: unknown */
};

#define DAEMON_INIT                                                            \
	{                                                                      \
		.child = CHILD_INIT, .control_fd = -1, .fuse_fd = -1           \
	}

/* Whether there is a usable /dev/fuse. 0 or an exit code. */
int daemon_check(void) MUST_CHECK;

/* Starts it for the locked `execution`. 0 or an exit code; call daemon_stop in
 * any case. */
int daemon_start(struct daemon *daemon, const struct programs *programs,
		 const struct execution *execution,
		 const struct signals *signals, bool debug) MUST_CHECK;

/* Waits until the views are mounted. 0, an exit code, or EXIT_SIGNAL_BASE + n
 * if a signal asked for the end meanwhile. */
int daemon_wait_ready(struct daemon *daemon, const struct execution *execution,
		      const struct signals *signals) MUST_CHECK;

/* Makes every request fail, those that wait included: kills the daemon, drops
 * the duplicate, aborts the connection. */
void daemon_abandon(struct daemon *daemon);

/* Ends it in peace if it can, by force if not; afterwards the execution's
 * mount is gone. Takes one that was not started. */
void daemon_stop(struct daemon *daemon, const struct execution *execution);

/* One line on why it ended, after it did. */
void daemon_describe_end(struct daemon *daemon, struct buf *text);

#endif
