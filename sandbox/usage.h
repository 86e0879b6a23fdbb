/*
 * usage.h - the help text, and the verbs that main knows.
 *
 * A verb gets argv from its own name on (argv[0]), as for getopt, and returns
 * the exit code.
 */
#ifndef SANDBOX_USAGE_H
#define SANDBOX_USAGE_H

#include <stdbool.h>
#include <stdint.h>

#define USAGE_EXEC "legato-sandbox exec ID -- COMMAND [ARGUMENT...]"
#define USAGE_RUN  "legato-sandbox run [options] -- COMMAND [ARGUMENT...]"

/* What getopt_long (with opterr 0 and ':') did not like; prints the line and
 * returns EXIT_USAGE. `option` is what it returned. */
int usage_bad_option(int option, char **argv);

int verb_run(int argc, char **argv);
int verb_ls(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_exec(int argc, char **argv);
int verb_kill(int argc, char **argv);
int verb_discard(int argc, char **argv);
int verb_sweep(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_config(int argc, char **argv);
int verb_why(int argc, char **argv);
int verb_quota(int argc, char **argv);

/* The options of the verbs other than run. */
enum {
	VERB_TAKES_JSON = 1 << 0,
	VERB_TAKES_ALL = 1 << 1,
	VERB_TAKES_SIGNAL = 1 << 2,
	VERB_TAKES_GRACE = 1 << 3,
	VERB_TAKES_DRY_RUN = 1 << 4,
	VERB_TAKES_KEEP = 1 << 5,
	VERB_TAKES_STATS = 1 << 6,
	VERB_STOPS_AT_ID = 1 << 7, /* what follows is a command */
};

#define KEEP_SIZE_UNLIMITED INT64_MAX

struct verb_options {
	char *scratch_dir; /* resolved; the caller frees */
	bool json;
	bool all;
	bool dry_run;
	bool stats;
	const char *signal; /* as typed; NULL without */
	int64_t grace_ns;   /* between SIGTERM and SIGKILL */
	int64_t keep_for_ns;
	int64_t keep_size; /* bytes, or KEEP_SIZE_UNLIMITED */
};

/* Parses them and leaves the operands at optind: as many as min to max. 0 or
 * an exit code. */
int verb_options_parse(struct verb_options *ret_options, int argc, char **argv,
		       unsigned int takes, int min, int max);

#endif
