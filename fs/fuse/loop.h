/*
 * loop.h - running a mounted session until something ends it: a signal, the
 * launcher's end of the control socket, or an unmount.
 *
 * Threads: the caller waits; libfuse's workers serve; one more, the attendant,
 * takes the signals, watches the control socket, and passes changes of the
 * base on. Signals are blocked in all threads.
 */
#ifndef FS_FUSE_LOOP_H
#define FS_FUSE_LOOP_H

#include "ops.h"

/* Blocks the signals that end the daemon, for this thread and those it
 * starts, and ignores those that a write can raise. To be called before
 * anything else waits for them. */
void loop_block_signals(void);

/* `control_fd` is -1 for none. 0 after a clean end, or -errno. */
int loop_run(struct fuse_session *session, struct server *server,
	     int control_fd) MUST_CHECK;

#endif
