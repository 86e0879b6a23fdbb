/*
 * options.h - the command line of legato-diff.
 *
 * Threads: main thread only.
 */
#ifndef TOOLS_DIFF_OPTIONS_H
#define TOOLS_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

enum options_when {
	WHEN_AUTO,
	WHEN_ALWAYS,
	WHEN_NEVER,
};

/* Strings are the command line's own. */
struct options {
	const char *scratch_dir; /* NULL: the default */
	const char *id;          /* NULL: the newest */
	const char *view;        /* NULL: the checkout's */
	char *const *paths;
	size_t n_paths;
	enum options_when color;
	enum options_when binary;
	bool name_status;
	bool stat;
	bool patch;
	bool nul_terminated;
	bool all_views;
	bool all;
	bool exit_code;
	bool no_renames;
	bool no_pager;
};

enum options_next {
	OPTIONS_RUN,
	OPTIONS_DONE, /* help or version were printed */
};

/* An enum options_next, or -EINVAL, and then the reason was printed to
 * standard error. */
int options_parse(struct options *ret_options, int argc,
		  char **argv) MUST_CHECK;

#endif
