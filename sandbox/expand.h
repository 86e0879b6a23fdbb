/*
 * expand.h - "${CARGO_HOME:-~/.cargo}/bin" to paths.
 *
 * Paths of the tables and of the configuration start with '/', '~' or
 * '${NAME:-PATH}', where PATH is such a path again. A variable that is set
 * stands for its value, else PATH does; '${NAME}' that is not set stands for no
 * path at all. A value may be a list ("a:b"), an address ("unix:///x",
 * "unix:path=/x,guid=...") or relative to the current folder; each part of it
 * gives a path.
 *
 * Pure, but for the current folder. Threads: any.
 */
#ifndef SANDBOX_EXPAND_H
#define SANDBOX_EXPAND_H

#include <stdbool.h>

#include "compiler.h"

struct strv;

struct expand {
	const char *home;       /* canonical */
	char *const *variables; /* as environ */
	const char *cwd;        /* for relative values; NULL: they are none */
	bool moved;             /* false: as if no variable were set */
};

/* Whether `text` has that form. */
bool expand_valid(const char *text);

/* Adds the paths; they are absolute and have no "//", "/./" or end in '/'.
 * `text` is valid. */
void expand_path(const struct expand *expand, const char *text,
		 struct strv *paths);

/* The name of the variable whose value `text` starts with, and what comes after
 * it ("/bin"): NULL where none that is set does. Caller frees both. */
char *expand_variable(const struct expand *expand, const char *text,
		      char **ret_rest) MUST_CHECK;

/* `text` as an absolute path without "//", "/./" and a last '/'. Caller
 * frees. */
char *expand_tidy(const char *text) MUST_CHECK;

/* The value of a variable in a list like environ, or NULL. */
const char *expand_lookup(char *const *variables, const char *name);

#endif
