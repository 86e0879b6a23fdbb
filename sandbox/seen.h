/*
 * seen.h - which of the person's folders a sandbox shows: the entries of
 * data/seen.yaml and the mounts of the configuration, resolved and checked.
 *
 * Nothing that hidden.h hides is ever shown: an entry of the table that turns
 * out to be hidden, or to hold something hidden, is left out; a configured
 * mount is refused, with the rule's name, but that one that is read-only and
 * only holds something hidden becomes a view that masks it. Of the system's
 * own folders, which are bound as they are, hidden paths are covered by mounts.
 *
 * A folder that a variable moved stands where it is. Only where the table
 * shows parts of it ("${CARGO_HOME}/registry") and it is outside the home do
 * the parts stand where they would be without the variable, and the variable
 * is set to that place: around the parts a tool wants to write, and the home is
 * where it can.
 *
 * Calling sequence: seen_init, use, seen_release. Threads: one.
 */
#ifndef SANDBOX_SEEN_H
#define SANDBOX_SEEN_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "strv.h"

struct expand;
struct hidden;
struct spec;
struct tables;

struct shown {
	char *real;       /* canonical */
	char *target;     /* where the sandbox has it */
	const char *rule; /* the entry's name; the table's, or constant */
	bool write;
	bool file;
	bool system;
	/* Absolute places in `target` that must not be seen. */
	struct strv masks;
};

struct seen {
	struct shown *list;
	size_t count;
	struct strv variables; /* NAME=VALUE that must be set */
};

/* 0, or prints and returns EXIT_NOT_SET_UP. Release in any case. */
int seen_init(struct seen *ret_seen, const struct spec *spec,
	      const struct tables *tables, const struct expand *expand,
	      const struct hidden *hidden) MUST_CHECK;
void seen_release(struct seen *seen);

/* Adds one, read-only until it is told otherwise; `rule` must outlive it. The
 * result is the list's, until the next one is added. */
struct shown *seen_add(struct seen *seen, const char *real, const char *target,
		       const char *rule);

#endif
