/*
 * env.h - the environment that the command gets.
 *
 * It is the caller's, less what secrets, sockets and sessions are known by
 * (rules as data in env.c: names first, then what a value looks like), plus
 * what the configuration sets (its deny over its allow, both over the rules)
 * and what the sandbox needs: HOME, TMPDIR, the execution's id, and the git
 * identity, since ~/.gitconfig is not there.
 *
 * Calling sequence: env_build, use, env_release. Pure but for the memory.
 */
#ifndef SANDBOX_ENV_H
#define SANDBOX_ENV_H

#include <stdbool.h>

#include "strv.h"

struct config;

struct env {
	struct strv passed;  /* NAME=VALUE of the caller's */
	struct strv added;   /* NAME=VALUE of ours; the names are in no other */
	struct strv dropped; /* names */
};

struct env_additions {
	const char *home;
	const char *tmp;
	const char *execution;
	const char *git_name;  /* NULL: not known */
	const char *git_email; /* NULL: not known */
	/* NAME=VALUE: folders that stand elsewhere inside (seen.h). */
	const struct strv *moved;
	const struct config *config; /* env.allow, env.deny, env.set */
};

void env_build(struct env *ret_env, char *const *variables,
	       const struct env_additions *additions);
void env_release(struct env *env);

/* Whether a variable reaches the command. */
bool env_passes(const char *name, const char *value);

#endif
