/*
 * usage.h - the help text, and the verbs that main knows.
 *
 * A verb gets argv from its own name on (argv[0]), as for getopt, and returns
 * the exit code.
 */
#ifndef SANDBOX_USAGE_H
#define SANDBOX_USAGE_H

#include <stdbool.h>

#define USAGE_RUN "legato-sandbox run [options] -- COMMAND [ARGUMENT...]"

/* What getopt_long (with opterr 0 and ':') did not like; prints the line and
 * returns EXIT_USAGE. `option` is what it returned. */
int usage_bad_option(int option, char **argv);

int verb_run(int argc, char **argv);
int verb_ls(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_discard(int argc, char **argv);
int verb_sweep(int argc, char **argv);
int verb_config(int argc, char **argv);

/* The options of the verbs other than run. */
enum {
	VERB_TAKES_JSON = 1 << 0,
	VERB_TAKES_ALL = 1 << 1,
};

struct verb_options {
	char *scratch_dir; /* resolved; the caller frees */
	bool json;
	bool all;
};

/* Parses them and leaves the operands at optind: as many as min to max. 0 or
 * an exit code. */
int verb_options_parse(struct verb_options *ret_options, int argc, char **argv,
		       unsigned int takes, int min, int max);

#endif
