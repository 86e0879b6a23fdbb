/*
 * resolve.h - which folders a run is about.
 *
 * The paths that come out are absolute and canonical; the caller frees them.
 * Functions that return int print and return EXIT_NOT_SET_UP on failure.
 * Threads: one.
 */
#ifndef SANDBOX_RESOLVE_H
#define SANDBOX_RESOLVE_H

#include "compiler.h"

/* `path` must be a folder; `what` it is called in the line. */
int resolve_folder(const char *what, const char *path,
		   char **ret_path) MUST_CHECK;

/* The checkout: `option`, or without one (NULL) the git top level of the
 * current folder, or that. The command starts in *ret_cwd, which lies in the
 * checkout. */
int resolve_checkout(const char *option, char **ret_checkout,
		     char **ret_cwd) MUST_CHECK;

/* $HOME, or what the system knows of this user. A home that doesn't exist (a
 * service's user) is shown where it would be. */
int resolve_home(char **ret_home) MUST_CHECK;

/* realpath for what may not exist yet: the part that exists is resolved. NULL
 * where the rest leads who knows where. */
char *resolve_future(const char *path) MUST_CHECK;

#endif
