/*
 * run.h - one run from the first check to the last line.
 *
 * The order, and what is undone when a step fails:
 *
 *	check everything that can be checked     nothing to undo
 *	take signals and the terminal            give back
 *	make the execution, its views, manifest  remove the folder
 *	start the daemon, wait for its mount     stop it, remove the folder
 *	relay the files that are 0, 1 and 2      end that, stop, remove
 *	make a terminal for the command          give back, and so on
 *	start bwrap                              kill it, and so on
 *	wait: command, daemon, signals           -
 *	end the sandbox, move the last output    -
 *	stop the daemon                          -
 *	record the end, print the summary        the folder stays
 *
 * Fail closed: until the command has started every failure ends in "remove
 * the folder", one line and EXIT_NOT_SET_UP. From then on the folder holds
 * what the command did, and stays, unless --discard.
 */
#ifndef SANDBOX_RUN_H
#define SANDBOX_RUN_H

#include "compiler.h"

struct detach;
struct spec;

/* Runs or, with dry_run, prints the plan. Returns the exit code. */
int run_spec(const struct spec *spec, const struct detach *detach);

#endif
