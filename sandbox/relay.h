/*
 * relay.h - the person's files that stdin, stdout and stderr are redirected
 * from and to.
 *
 * A process that has a file as a descriptor can open it again through
 * /proc/self/fd, for writing too, truncate it, or change its mode; in a
 * folder it can climb. So the command gets the end of a pipe instead, and the
 * launcher moves the bytes. Terminals, pipes, sockets and /dev/null, which
 * give no more than they are, it gets as they are.
 *
 * Invariants:
 * - Of a relayed file the command has no descriptor, only its bytes.
 * - After relay_finish all that was written to stdout and stderr is in the
 *   file, at the caller's position or appended, as the caller opened it.
 * - stdout and stderr that are one open file, or one file that both append
 *   to, are one pipe: their order stays.
 * - stdin is read ahead as far as a pipe holds. If it can seek, relay_finish
 *   puts the caller's position behind what the command took out of the pipe,
 *   which is more than it used if it has a buffer of its own.
 * - A file that fails (a full disk) closes the pipe: SIGPIPE or EPIPE to the
 *   command, whose exit code stays; relay_finish prints a line.
 * - relay_finish does not wait for a process outside that was given an end of
 *   a pipe.
 *
 * Killing the launcher loses what is in the pipes.
 *
 * Threads: one for each pipe, between relay_start and relay_finish, with all
 * signals blocked. They use the descriptors 0 to 2, which nobody may change
 * meanwhile, and no memory that others use; so forking stays safe.
 *
 * Calling sequence: relay_start, give `fds` to the child, relay_let_go,
 * relay_finish after the sandbox has ended or could not be started.
 */
#ifndef SANDBOX_RELAY_H
#define SANDBOX_RELAY_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "compiler.h"

#define RELAY_STREAMS 3

struct pump {
	/* private; the thread's from its start until it was joined */
	pthread_t thread;
	int stream;   /* the person's: 0, 1 or 2 */
	int pipe_fd;  /* our end */
	int their_fd; /* the command's end */
	int stop_fd;  /* readable: the sandbox has ended */
	int error;    /* of the person's file: 0 or -errno */
	off_t start;  /* of stdin; -1 if it can't seek */
	off_t moved;  /* bytes of stdin that are in the pipe, or were */
	bool shared;  /* stdin: its position is another stream's too */
};

struct relay {
	int fds[RELAY_STREAMS]; /* what the command gets as 0, 1 and 2 */
	/* private */
	struct pump pumps[RELAY_STREAMS];
	int count;
	int stop_fd;
};

#define RELAY_INIT                                                             \
	{                                                                      \
		.fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO},           \
		.stop_fd = -1                                                  \
	}

/* Looks at 0, 1 and 2, which are open, and starts to relay. 0 or -errno; call
 * relay_finish in any case. */
int relay_start(struct relay *relay) MUST_CHECK;

/* Closes what the child has by now: only then an end shows as one. */
void relay_let_go(struct relay *relay);

/* Moves what is left, ends the threads, prints what went wrong. May be called
 * again. */
void relay_finish(struct relay *relay);

#endif
