/*
 * bwrap.h - the bubblewrap process and everything in it.
 *
 * bwrap reports on a descriptor (--json-status-fd): first the process id of
 * the sandbox's init, at the end the command's exit code. No exit code means
 * that the command was never started: bwrap itself failed, or was killed.
 *
 * The sandbox is gone when its init is: the kernel then has ended every other
 * process in it. bwrap dies with us, the init with bwrap.
 *
 * Calling sequence: bwrap_prepare, bwrap_start, poll child.pid_fd and
 * status_fd, bwrap_read_status when the latter is readable, bwrap_end,
 * bwrap_release. Threads: one.
 */
#ifndef SANDBOX_BWRAP_H
#define SANDBOX_BWRAP_H

#include <stdbool.h>

#include "buf.h"
#include "child.h"
#include "compiler.h"

struct argv_plan;

struct bwrap {
	struct child child;
	int status_fd; /* -1 once all is read */
	int shim_fd;   /* to legato-exec; -1 once it is gone */
	bool reported; /* the command ran and ended: */
	int exit_code; /* its own, or 128 + signal */
	/* private */
	int filter_fd;  /* for the child, -1 once it has it */
	int init_fd;    /* pidfd of the sandbox's init, -1 unless known */
	int command_fd; /* the same of the command */
	struct buf status;
};

#define BWRAP_INIT                                                             \
	{                                                                      \
		.child = CHILD_INIT, .status_fd = -1, .shim_fd = -1,           \
		.filter_fd = -1, .init_fd = -1, .command_fd = -1,              \
		.status = BUF_INIT                                             \
	}

/* What takes its time and needs nothing else. 0 or an exit code. */
int bwrap_prepare(struct bwrap *bwrap, bool nested) MUST_CHECK;

/* Starts `program` by `plan`, whose descriptors are filled in here. `fds` are
 * the command's 0, 1 and 2 (relay.h). 0 or an exit code. */
int bwrap_start(struct bwrap *bwrap, const char *program,
		const struct argv_plan *plan, char *const *command,
		const int fds[3], const struct signals *signals) MUST_CHECK;

/* Reads what there is. */
void bwrap_read_status(struct bwrap *bwrap);

/* What the shim has said; one thing at a time. */
enum bwrap_news {
	BWRAP_NO_NEWS,
	BWRAP_STARTED, /* the command */
	BWRAP_STOPPED, /* the command, on a terminal of its own */
};

enum bwrap_news bwrap_read_shim(struct bwrap *bwrap);

/* Has a command that was stopped go on, as its terminal's foreground. */
void bwrap_go_on(const struct bwrap *bwrap);

/* To the command. -ESRCH before its start and after its end. */
int bwrap_signal_command(const struct bwrap *bwrap, int signal);

/* Kills what still lives and waits for it. False if something can't be
 * killed, because it waits for a file system. */
bool bwrap_end(struct bwrap *bwrap);

/* Why the command was not started; prints the line, returns
 * EXIT_NOT_SET_UP. After bwrap_end. */
int bwrap_explain_failure(struct bwrap *bwrap);

void bwrap_release(struct bwrap *bwrap);

#endif
