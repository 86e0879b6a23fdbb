/*
 * supervise.h - the parent of a command: waits for it, and passes on that it
 * was stopped (Ctrl-Z) and is to go on (fg).
 *
 * Of `run` it is the sandbox's init (legato-exec.c), of `exec` a process
 * between the launcher and the sandbox. A command on a terminal of its own
 * (pty.h) is its session's foreground group. Its parent must be in that
 * session, but in another group: else the kernel takes the group for an
 * orphaned one, which Ctrl-Z can't stop.
 *
 * To the launcher, on a SOCK_SEQPACKET socket: SUPERVISE_STARTED with a pidfd
 * of the command, from the command's process before it becomes the command;
 * SUPERVISE_STOPPED. From it: SUPERVISE_GO_ON.
 *
 * Needs nothing but libc. Threads: one. Calling sequence: supervise_block,
 * fork, in the child supervise_own_group and the rest, in the parent supervise.
 */
#ifndef SANDBOX_SUPERVISE_H
#define SANDBOX_SUPERVISE_H

#include <stdbool.h>
#include <sys/types.h>

#define SUPERVISE_STARTED 's'
#define SUPERVISE_STOPPED 'z'
#define SUPERVISE_GO_ON   'c'

/* Before the fork: the end of the child must not be missed. */
void supervise_block(void);

/* In the child, which has its terminal as stdin: a group of its own, in the
 * foreground. */
void supervise_own_group(void);

/* Waits, and reaps whatever else ends. `launcher_fd` -1: nobody is told.
 * Returns how `command` ended, as an exit code: its own, or 128 + signal. */
int supervise(pid_t command, int launcher_fd, bool has_own_group);

#endif
