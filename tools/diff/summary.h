/*
 * summary.h - what an execution changed, on one screen.
 *
 * One line per view: where it is mounted, how many changes of each letter
 * (deletions first), the bytes of the changed files. Below the checkout's
 * view follow its first paths, deletions first; what doesn't fit is counted
 * by letter, so that nothing is hidden. Before them stands what is odd (odd.h),
 * behind them what is folded (fold.h), and what git would tell (git_story.h).
 *
 *	work  /home/me/src: D 1, M 2 (12.4 KiB)
 *	  ! run.sh: became executable
 *	  D f  old.c
 *	  M f  main.c
 *	  M f  run.sh
 *	  ignored A 120 (1.2 MiB): build/ A 120 (1.2 MiB)
 *	  .git: M 5, A 4 (9.1 KiB)
 *	    commit 1f0c3a5b9d Fix the parser (main)
 *	tmp  /tmp: A 3 (14 bytes)
 *
 * A view without changes is left out; without any change the one line is
 * "no changes". Works while the execution runs, and after. Reads the uppers,
 * and compares content only where an upper file has a base at its path.
 *
 * Threads: one at a time in the process (libgit2's options are global).
 */
#ifndef TOOLS_DIFF_SUMMARY_H
#define TOOLS_DIFF_SUMMARY_H

#include <stdio.h>

#include "compiler.h"
#include "execution.h"
#include "manifest.h"
#include "report.h"

/* The summary of a report that was made already. 0 or -ENOMEM. */
int summary_write(FILE *out, const struct report *report) MUST_CHECK;

/* Makes the report, too. Prints to `out`, unreadable files and such included.
 * 0, or -ENOMEM, or -errno of the first view that could not be opened; the
 * others are printed even so. */
int diff_summary_print(FILE *out, const struct execution *execution,
		       const struct manifest *manifest) MUST_CHECK;

#endif
