/*
 * unmount.h - takes away a mount whose daemon is gone or going.
 *
 * Detached, never waited for: a process that still has it as its working
 * folder keeps nobody from cleaning up. As an ordinary user with fusermount3.
 */
#ifndef SANDBOX_UNMOUNT_H
#define SANDBOX_UNMOUNT_H

#include "compiler.h"

struct execution;

/* The execution's own mount, if it is mounted; a failure is printed. The
 * caller holds the lock. */
void unmount_execution(const struct execution *execution);

/* The mounts of all executions in `scratch_dir` that nobody lives in any
 * more (killed launchers). Cheap: costs the mounts, not the folders. */
void unmount_stale(const char *scratch_dir);

#endif
