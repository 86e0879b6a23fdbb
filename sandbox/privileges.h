/*
 * privileges.h - the capabilities that a command has inside.
 *
 * As an ordinary user: none. As root there is no user namespace around the
 * command: it keeps what root in a container has that builds and installs
 * need, and can't remount /usr writable, open disks, load or trace.
 * Threads: any.
 */
#ifndef SANDBOX_PRIVILEGES_H
#define SANDBOX_PRIVILEGES_H

#include <stddef.h>

#include "compiler.h"

struct privilege {
	const char *name; /* as bwrap knows it */
	int number;
};

extern const struct privilege privileges_root[];
extern const size_t privileges_n_root;

/* Gives up all others, for good, in a process that is about to become the
 * command: the bounding set too. `is_root` is by the uid outside. 0 or
 * -errno. */
int privileges_drop(int is_root) MUST_CHECK;

#endif
