/*
 * background.h - going to the background once the mount is there.
 *
 * The process forks before it has threads; the parent waits until the child
 * says that it is ready, or ends.
 */
#ifndef FS_FUSE_BACKGROUND_H
#define FS_FUSE_BACKGROUND_H

#include "compiler.h"

/* Runs `serve` in a child. 0 once the child is ready (it goes on by itself);
 * -EIO when it ended before, having said why; -errno. */
int background_run(int (*serve)(void *data, int ready_fd),
		   void *data) MUST_CHECK;

/* In the child: tells the parent, and lets go of the terminal. Does nothing
 * for a `ready_fd` of -1 (the foreground). 0 or -errno. */
int background_ready(int ready_fd) MUST_CHECK;

#endif
