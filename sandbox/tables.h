/*
 * tables.h - what sandboxes see and never see, as data: data/seen.yaml and
 * data/hidden.yaml, where the format is described. They are installed beside
 * each other; `tables` in the configuration names another folder with both.
 *
 * Calling sequence: tables_load, use, tables_release. Threads: one.
 */
#ifndef SANDBOX_TABLES_H
#define SANDBOX_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "strv.h"

enum seen_kind {
	SEEN_SYSTEM,
	SEEN_AGENT,
	SEEN_TOOLCHAIN,
	SEEN_CACHE,
};

struct seen_entry {
	char *name;
	enum seen_kind kind;
	struct strv read; /* paths as in expand.h */
	struct strv write;
};

struct hidden_rule {
	char *name;
	char *why;
	struct strv paths;
	struct strv except;
	bool asked; /* --socket may show it */
};

struct tables {
	struct seen_entry *seen;
	size_t n_seen;
	struct hidden_rule *hidden;
	size_t n_hidden;
};

/* `folder`: NULL for the installed ones. 0, or prints and returns
 * EXIT_NOT_SET_UP. Release in any case. */
int tables_load(struct tables *ret_tables, const char *folder) MUST_CHECK;
void tables_release(struct tables *tables);

/* Adds a rule, and gives it to fill in. */
struct hidden_rule *tables_add_hidden(struct tables *tables, const char *name,
				      const char *why);

#endif
