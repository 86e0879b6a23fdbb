/*
 * pager.h - sends standard output through the user's pager, as git does.
 *
 * The pager is GIT_PAGER, PAGER, or less, run by the shell; with LESS=FRX and
 * LV=-c unless they are set. "cat" and an empty name mean none.
 *
 * Calling sequence: pager_start before anything is printed, pager_wait as
 * the last step. Threads: main thread only.
 */
#ifndef TOOLS_DIFF_PAGER_H
#define TOOLS_DIFF_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

#include "compiler.h"

struct pager {
	/* private */
	pid_t pid; /* 0: there is none */
};

/* Starts it if standard output is a terminal; standard error goes there too
 * if it is one. Without a pager that can be started the output is plain. */
void pager_start(struct pager *pager);

/* Flushes and closes our end, and waits until the user leaves. */
void pager_wait(struct pager *pager);

#endif
