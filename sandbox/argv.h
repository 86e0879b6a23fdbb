/*
 * argv.h - the plan as bwrap's arguments. Pure: nothing is opened or run.
 *
 * Most of them go through a descriptor (--args), which has no limit on the
 * length and which nobody reads in the process list: the values of the
 * environment are among them. The command goes to the shim through another
 * one, since bwrap takes 9000 arguments at most, and a command may have more.
 */
#ifndef SANDBOX_ARGV_H
#define SANDBOX_ARGV_H

#include <stdbool.h>
#include <stdint.h>

#include "strv.h"

struct cgroup;
struct env;
struct mounts;

struct argv_plan {
	const struct mounts *mounts;
	const struct env *env;
	const char *cwd;
	const struct cgroup *cgroup; /* that the sandbox is in */
	uint64_t max_pids;           /* for the shim to set; 0: none */
	int seccomp_fd;
	int status_fd;
	bool privileged; /* we are root: no user namespace */
	bool terminal;   /* the command has a terminal of its own */
};

/* What goes through --args, to `ret_args`. */
void argv_add_options(struct strv *ret_args, const struct argv_plan *plan);

/* What the shim is told (legato-exec.c). */
struct argv_shim {
	const char *mode;     /* "init", "terminal" or "become" */
	unsigned int ignored; /* as from signals_ignored */
	int error_fd;         /* the real stderr */
	int command_fd;       /* the command, NUL after each argument */
	int launcher_fd;      /* where it reports to; -1: nowhere */
	uint64_t max_pids;    /* 0: no limit */
};

void argv_add_shim(struct strv *ret_argv, const struct argv_shim *shim);

/* The command line of bwrap. */
void argv_add_command(struct strv *ret_argv, const char *bwrap, int args_fd,
		      const struct argv_shim *shim);

#endif
