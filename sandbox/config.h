/*
 * config.h - what the person configured, with where each value came from.
 *
 * Sources, each over the one before: the defaults (config_keys.c), the
 * person's file ($XDG_CONFIG_HOME/legato/config.yaml, or --config), flags; and
 * last the checkout's own file, .legato.yaml in its top folder, which can only
 * tighten, because an agent or a stranger may have written it.
 *
 * Invariants: each value was checked when it was set; paths in it have the
 * form of expand.h. An unknown key, a wrong type, a value out of its form is
 * refused with "file:line: reason", and nothing runs.
 *
 * Calling sequence: config_init; config_set_flag and config_load_file in any
 * order; config_load_checkout; use; config_release. Functions that fail print
 * and return EXIT_NOT_SET_UP, or EXIT_USAGE for flags. Threads: one.
 */
#ifndef SANDBOX_CONFIG_H
#define SANDBOX_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "config_keys.h"
#include "strv.h"

#define CONFIG_CHECKOUT_FILE ".legato.yaml"

enum config_origin {
	CONFIG_FROM_DEFAULT,
	CONFIG_FROM_FILE,
	CONFIG_FROM_FLAG,
	CONFIG_FROM_CHECKOUT,
};

struct config_item {
	char *text; /* path, pattern or NAME=VALUE */
	bool write; /* of a mount */
	enum config_origin origin;
	const char *file; /* the config's; NULL unless from a file */
	int line;
};

struct config_value {
	enum config_origin origin;
	const char *file;
	int line;
	bool flag;  /* CONFIG_BOOL */
	char *text; /* CONFIG_PATH, CONFIG_NUMBER; NULL: not set */
	struct config_item *items;
	size_t n_items;
};

struct config {
	struct config_value values[CONFIG_COUNT];
	/* private */
	struct strv files;
};

void config_init(struct config *config);
void config_release(struct config *config);

/* `option`: what --config says, which must exist; NULL: the usual place, which
 * need not. `home` is canonical. */
int config_load_file(struct config *config, const char *option,
		     const char *home) MUST_CHECK;
/* .legato.yaml of the checkout, if it has one. */
int config_load_checkout(struct config *config,
			 const char *checkout) MUST_CHECK;

/* The same from memory; `path` is for messages and origins. */
int config_parse(struct config *config, const char *path, const char *text,
		 size_t len, enum config_origin origin) MUST_CHECK;

/* A flag's: `flag` is its name, for the refusal. Lists grow, others change. */
int config_set_flag(struct config *config, enum config_key key,
		    const char *flag, const char *text, bool write) MUST_CHECK;

/* The usual place of the person's file. Caller frees. */
char *config_default_path(const char *home) MUST_CHECK;

#endif
