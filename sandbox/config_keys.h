/*
 * config_keys.h - the keys of the configuration, as one table.
 *
 * The table drives everything: what a file may say, what of it a checkout's
 * own file may say, what `config show` prints and what the JSON schema says.
 * To add a key: a constant, and a row in config_keys.c.
 *
 * Pure. Threads: any.
 */
#ifndef SANDBOX_CONFIG_KEYS_H
#define SANDBOX_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compiler.h"

enum config_key {
	CONFIG_ENABLED,
	CONFIG_MOUNTS,
	CONFIG_DEFAULT_MOUNTS,
	CONFIG_SCRATCH_DIR,
	CONFIG_TABLES,
	CONFIG_HIDE,
	CONFIG_ENV_ALLOW,
	CONFIG_ENV_DENY,
	CONFIG_ENV_SET,
	CONFIG_QUOTA_SIZE,
	CONFIG_QUOTA_FILES,
	CONFIG_QUOTA_MIN_FREE,
	CONFIG_KEEP_FOR,
	CONFIG_KEEP_SIZE,
	CONFIG_JOURNAL_READS,
	CONFIG_LIMITS_MEMORY,
	CONFIG_LIMITS_PIDS,
	CONFIG_LIMITS_CPU,
	CONFIG_DOCKER,
	CONFIG_COUNT,
};

enum config_type {
	CONFIG_BOOL,
	CONFIG_PATH,      /* as in expand.h */
	CONFIG_PATHS,     /* a list of them */
	CONFIG_MOUNT,     /* a list of {path, access} */
	CONFIG_PATTERNS,  /* a list of names of variables, with * ? [] */
	CONFIG_VARIABLES, /* a map of NAME: VALUE */
	CONFIG_NUMBER,    /* a text with a unit */
	CONFIG_NOT_YET,   /* known, and refused */
};

/* What the checkout's own file may do: nobody trusts it, so only tighten. */
enum config_tightens {
	CONFIG_NEVER, /* it may not say anything */
	CONFIG_FALSE, /* only false */
	CONFIG_ADD,   /* more in the list */
	CONFIG_LOWER, /* less than the person's value */
	CONFIG_HIGHER,
};

struct config_rule {
	const char *path; /* "agents.sandbox.quota.size" */
	enum config_type type;
	enum config_tightens tightens;
	const char *initial; /* of a bool or a number; NULL: none */
	const char *what;    /* for a person */
	/* CONFIG_NUMBER: false if `text` is none; else what to compare. */
	bool (*number)(const char *text, uint64_t *ret_number);
	const char *form;    /* CONFIG_NUMBER: for a person: "a size, as 20G" */
	const char *pattern; /* CONFIG_NUMBER: a regular expression */
};

/* By enum config_key. */
extern const struct config_rule config_rules[CONFIG_COUNT];

/* The last part of a rule's path. */
const char *config_rule_name(const struct config_rule *rule);

/* The number of seconds in a duration (duration.h) that has a unit, or is 0. */
bool config_duration(const char *text, uint64_t *ret_seconds);

#endif
