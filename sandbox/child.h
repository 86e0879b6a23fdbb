/*
 * child.h - one process that the launcher starts and waits for.
 *
 * What it says on stderr goes to a file in memory: if it fails, the launcher
 * makes one line of that (child_complaint), instead of letting several
 * programs talk to the person at once.
 *
 * Calling sequence: child_start, child_wait (which reaps), child_release.
 * Threads: the main one. Those of relay.h may run beside it.
 */
#ifndef SANDBOX_CHILD_H
#define SANDBOX_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "buf.h"
#include "compiler.h"
#include "signals.h"

struct child {
	pid_t pid;     /* 0: none, or reaped */
	int pid_fd;    /* readable when it ended */
	int errors_fd; /* its stderr */
	int status;    /* as from waitpid, once reaped */
};

#define CHILD_INIT                                                             \
	{                                                                      \
		.pid_fd = -1, .errors_fd = -1                                  \
	}

struct child_options {
	const struct signals *signals; /* NULL: they were not taken */
	const int *keep_fds;           /* inherited beside 0, 1 and 2 */
	size_t n_keep_fds;
	const char *directory;    /* NULL: ours */
	int input_fd;             /* its stdin, unless no_input */
	int output_fd;            /* its stdout */
	char *const *environment; /* NULL: ours */
	/* Called before exec; -errno ends the child. NULL: nothing. */
	int (*prepare)(const void *data);
	const void *prepare_data;
	bool no_input; /* stdin is /dev/null */
	/* In a session of its own, where no key of the terminal reaches it. */
	bool own_session;
	/* The same, with stdin as that session's terminal. */
	bool own_terminal;
	/* Started with SIGINT and SIGQUIT ignored. */
	bool ignore_interrupts;
	bool die_with_parent;
};

/* argv[0] is a path. 0 or -errno; a failed exec shows as exit status 127 and
 * a complaint. */
int child_start(struct child *child, char *const argv[],
		const struct child_options *options) MUST_CHECK;

/* Forks. In the child `pid` is 0; in the parent the struct is as after
 * child_start, but for its stderr, which is ours. 0 or -errno. */
int child_fork(struct child *child) MUST_CHECK;

/* Waits up to `timeout_ms` (-1: for ever) and reaps. True if it has ended. */
bool child_wait(struct child *child, int timeout_ms);

void child_kill(const struct child *child);

/* Its first line on stderr, without the prefix "<name>: "; "" if it said
 * nothing. */
void child_complaint(const struct child *child, struct buf *line);

/* "exit status 1", "signal 9". */
void child_describe_end(const struct child *child, struct buf *text);

void child_release(struct child *child);

/* Waits until one descriptor is readable or hung up. False on time-out. */
bool child_poll_fd(int fd, int timeout_ms);

/* A helper that is asked early, and answers while other things are done. */
struct child_question {
	/* private */
	struct child child;
	int output_fd;
};

#define CHILD_QUESTION_INIT                                                    \
	{                                                                      \
		.child = CHILD_INIT, .output_fd = -1                           \
	}

/* Starts it. 0 or -errno. */
int child_ask(struct child_question *question, char *const argv[],
	      const char *directory, const struct signals *signals) MUST_CHECK;

/* Waits for its end; the rest is as of child_run. Once for each child_ask. */
int child_answer(struct child_question *question, struct buf *output);

/* Needed only where it isn't waited for. It goes on, unseen. */
void child_question_release(struct child_question *question);

/*
 * Runs a helper to its end and adds what it printed on stdout to `output`
 * (NULL: dropped). Returns its exit status, or -errno if it could not be run
 * or was killed (-EINTR).
 */
int child_run(char *const argv[], const char *directory,
	      const struct signals *signals, struct buf *output);

#endif
