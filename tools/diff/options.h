/*
 * options.h - the command line of the verbless form.
 *
 * Threads: main thread only.
 */
#ifndef TOOLS_DIFF_OPTIONS_H
#define TOOLS_DIFF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli.h"
#include "compiler.h"

/* The forms that are one document of all views, and go with no other. */
enum options_document {
	DOCUMENT_NONE,
	DOCUMENT_SUMMARY,
	DOCUMENT_JSON,
	DOCUMENT_HTML,
};

/* Strings are the command line's own. */
struct options {
	struct cli cli;
	const char *view; /* NULL: the checkout's */
	char *const *paths;
	size_t n_paths;
	enum cli_when binary;
	enum options_document document;
	const char *html_file; /* "-": standard output */
	bool name_status;
	bool stat;
	bool patch;
	bool word_diff;
	bool nul_terminated;
	bool all_views;
	bool all;
	bool exit_code;
	bool no_renames;
};

/* An enum cli_next, or -EINVAL, and then the reason was printed to standard
 * error. */
int options_parse(struct options *ret_options, int argc,
		  char **argv) MUST_CHECK;

#endif
