/*
 * names.h - the names in one directory, sorted, read at once.
 *
 * Read whole before anything is opened, so that a walk holds few descriptors
 * at any depth.
 *
 * Calling sequence: `AUTO_NAMES names = {0};`, names_read, items[0..n).
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_NAMES_H
#define TOOLS_DIFF_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

struct names {
	char **items; /* owned, each too */
	size_t n;
	/* private */
	size_t capacity;
};

#define AUTO_NAMES AUTO(names_release) struct names

/* Fills an empty list with all but "." and ".." of the directory `dirfd`
 * (O_PATH too). 0 or -errno. */
int names_read(struct names *names, int dirfd) MUST_CHECK;

/* Appends a copy; the list is no longer sorted. 0 or -ENOMEM. */
int names_add(struct names *names, const char *name) MUST_CHECK;

/* After names_add, for names_contain. */
void names_sort(struct names *names);

bool names_contain(const struct names *names, const char *name);

void names_release(struct names *names);

#endif
