/*
 * cli.h - what all verbs of legato-diff have in common on the command line.
 *
 * A verb has its own table of long options with CLI_OPTIONS in it, and gives
 * what it doesn't know itself to cli_set_option.
 *
 * Threads: main thread only.
 */
#ifndef TOOLS_DIFF_CLI_H
#define TOOLS_DIFF_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "execution.h"
#include "manifest.h"

enum cli_exit {
	CLI_EXIT_OK = 0,
	CLI_EXIT_CHANGES = 1, /* or what else a verb's man page calls 1 */
	CLI_EXIT_TROUBLE = 2,
};

enum cli_when {
	CLI_AUTO,
	CLI_ALWAYS,
	CLI_NEVER,
};

/* Strings are the command line's own. */
struct cli {
	const char *scratch_dir; /* NULL: the default */
	const char *id;          /* NULL: the newest */
	enum cli_when color;
	bool no_pager;
};

/* Values of `val` that a verb's own options must not have. */
enum cli_option {
	CLI_OPT_ID = 0x1000,
	CLI_OPT_SCRATCH_DIR,
	CLI_OPT_COLOR,
	CLI_OPT_NO_COLOR,
	CLI_OPT_NO_PAGER,
	CLI_OPT_VERSION,
};

/* Rows of a table for getopt_long; 'h' is help, and ends the table. */
#define CLI_OPTIONS                                                            \
	{"id", required_argument, NULL, CLI_OPT_ID},                           \
		{"scratch-dir", required_argument, NULL, CLI_OPT_SCRATCH_DIR}, \
		{"color", optional_argument, NULL, CLI_OPT_COLOR},             \
		{"no-color", no_argument, NULL, CLI_OPT_NO_COLOR},             \
		{"no-pager", no_argument, NULL, CLI_OPT_NO_PAGER},             \
		{"help", no_argument, NULL, 'h'},                              \
		{"version", no_argument, NULL, CLI_OPT_VERSION},               \
	{                                                                      \
		NULL, 0, NULL, 0                                               \
	}

enum cli_next {
	CLI_RUN,
	CLI_DONE, /* help or version were printed */
};

/* Takes what getopt_long returned: one of CLI_OPTIONS, ':' or '?'. An enum
 * cli_next, or -EINVAL, and then the reason was printed. */
int cli_set_option(struct cli *cli, int opt, char **argv,
		   const char *usage) MUST_CHECK;

/* Takes the first argument behind the options as the id, if there is one
 * before `end` and no --id was given; moves optind. */
void cli_take_id(struct cli *cli, char **argv, int end);

/* How many of the arguments come before a "--"; `argc` without one. */
int cli_count_before_dashes(int argc, char **argv);

/* "legato-diff: WHAT 'SUBJECT' (try ...)". Returns -EINVAL. */
int cli_complain(const char *what, const char *subject);

/* "legato-diff: WHAT 'SUBJECT': SENTENCE"; `subject` may be NULL. Returns
 * `error`. */
int cli_fail(const char *what, const char *subject, int error);

/*
 * Opens the execution that `cli` means, and reads its manifest; both are the
 * caller's to release, on failure too (EXECUTION_INIT and manifest_init come
 * first). The reason of a failure was printed.
 */
int cli_open_execution(const struct cli *cli, struct execution *execution,
		       struct manifest *manifest) MUST_CHECK;

/* Whether standard output is to be coloured; before a pager takes its place. */
bool cli_want_color(const struct cli *cli);

/* In columns; 80 where it is no terminal. */
unsigned int cli_terminal_width(void);

#endif
