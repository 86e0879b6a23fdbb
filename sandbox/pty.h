/*
 * pty.h - a terminal of the command's own, between it and the person's.
 *
 * As of sshd or sudo: the launcher puts the person's terminal into raw mode and
 * moves what is typed and shown. So the command has a terminal whose modes and
 * size it may set and in which it is the foreground, and no descriptor of the
 * person's, whatever else could be done to one (TIOCSTI and its like).
 *
 * The command has one if stdin is the person's terminal, the launcher is in
 * its foreground, and stdout and stderr are no pipe or socket. Behind a pipe
 * there may be a pager, which reads the same terminal: two programs can't, so
 * then, and where stdin is something else, the command gets what the launcher
 * has, and TIOCSTI is refused by the filter (filter.h). Of stdout and stderr,
 * those that are the terminal become the command's own; files are relayed as
 * ever (relay.h).
 *
 * Keys are the command's: Ctrl-C, Ctrl-\ and Ctrl-Z send it signals, by the
 * modes of its own terminal. If it stops, the launcher gives the terminal back
 * and stops itself with its whole job, as if the command were the job;
 * `fg` goes on with both, `bg` without the keyboard. Where nothing could bring
 * the job back (an orphaned process group: no shell started it) the kernel
 * ignores SIGTSTP, and the command goes on at once, as under ssh.
 *
 * The person's modes are restored at every end, also when a signal kills the
 * launcher that it can catch, and while the job is stopped.
 *
 * Threads: one, from pty_start to pty_finish, with all signals blocked, which
 * reads SIGWINCH and SIGCONT from a descriptor; both are blocked in the caller,
 * too. All else is the main thread's.
 *
 * Calling sequence: pty_start, give `fds` to the child with the slave as
 * its session's terminal, pty_let_go, pty_finish after the sandbox ended or
 * could not be started.
 */
#ifndef SANDBOX_PTY_H
#define SANDBOX_PTY_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "compiler.h"

struct pty {
	bool used; /* the command has a terminal of its own */
	/* private */
	int master_fd;
	int slave_fd;
	int terminal_fd; /* the person's */
	int stop_fd;     /* readable: the sandbox has ended */
	int signal_fd;
	sigset_t mask; /* the caller's, before */
	pthread_t thread;
	bool running;       /* the thread */
	atomic_bool typing; /* we are in the foreground: read the keys */
};

#define PTY_INIT                                                               \
	{                                                                      \
		.master_fd = -1, .slave_fd = -1, .terminal_fd = -1,            \
		.stop_fd = -1, .signal_fd = -1                                 \
	}

/* Looks at 0, 1 and 2, and puts the command's end into those of `fds` (what
 * the command gets) that are the terminal. 0, with `used` false where it is
 * to have none, or -errno; call pty_finish in any case. */
int pty_start(struct pty *pty, int fds[3]) MUST_CHECK;

/* Closes what the child has by now. */
void pty_let_go(struct pty *pty);

/* The command has stopped: stops us, too. On return it must be told to go
 * on. */
void pty_stop_job(struct pty *pty);

/* Passes on a SIGINT or SIGQUIT that somebody sent to the launcher. */
void pty_signal(const struct pty *pty, int signal);

/* Shows what is left, ends the thread, gives the terminal back. May be called
 * again. */
void pty_finish(struct pty *pty);

#endif
