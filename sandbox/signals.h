/*
 * signals.h - the launcher's signals and the terminal.
 *
 * While a command runs, the launcher outlives what the terminal sends to the
 * whole foreground group (SIGINT, SIGQUIT): the command decides what they
 * mean. SIGTERM and SIGHUP end the sandbox. All four are blocked and read
 * from `fd`, so nothing happens at a bad moment. Stopping and continuing
 * (SIGTSTP, SIGCONT) stay as they are: the whole group stops, as for any job.
 *
 * Calling sequence: signals_take, once, before the first child; poll `fd`;
 * signals_restore_in_child in each child; signals_give_back at the end.
 * Threads: the main one. Those of relay.h have all signals blocked.
 */
#ifndef SANDBOX_SIGNALS_H
#define SANDBOX_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <termios.h>

#include "compiler.h"

#define SIGNALS_COUNT 6

struct signals {
	int fd; /* readable when one of the four came */
	/* private */
	sigset_t mask;
	struct sigaction actions[SIGNALS_COUNT];
	int terminal_fd; /* -1 unless we are in its foreground */
	struct termios terminal;
};

/* 0 or -errno. */
int signals_take(struct signals *signals) MUST_CHECK;

/* The next signal that came, 0 for none. */
int signals_next(const struct signals *signals);

/* Whether it asks for the end even while a command runs. */
bool signals_means_end(int signal);

/* Between fork and exec: mask and dispositions as we were started with. */
void signals_restore_in_child(const struct signals *signals);

/* A bit per signal (1 << n) that we were started with ignored, of those that
 * bwrap is given ignored though the command must not have them so. */
unsigned int signals_ignored(const struct signals *signals);

/* Takes the terminal back from a shell that ended inside, with its modes as
 * they were: before anything is printed. */
void signals_take_terminal_back(struct signals *signals);

/* The terminal is somebody else's to give back (pty.h). */
void signals_leave_terminal(struct signals *signals);

/* Restores everything. */
void signals_give_back(struct signals *signals);

#endif
