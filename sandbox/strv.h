/*
 * strv.h - a growing list of strings, NULL-terminated as execv wants it.
 *
 * Invariants: the strings are the list's own; `list` is NULL or has `count`
 * strings and a NULL. Out of memory ends the program (failure.h).
 *
 * Calling sequence: `struct strv v = {0};`, add, use v.list, strv_release.
 * Threads: one at a time.
 */
#ifndef SANDBOX_STRV_H
#define SANDBOX_STRV_H

#include <stddef.h>

#include "compiler.h"

struct strv {
	char **list;
	size_t count;
	/* private */
	size_t capacity;
};

void strv_release(struct strv *strv);
#define AUTO_STRV AUTO(strv_release) struct strv

/* Adds a copy. */
void strv_add(struct strv *strv, const char *text);
/* Adds copies of all arguments up to a NULL. */
void strv_add_all(struct strv *strv, ...) __attribute__((sentinel));
/* A file in memory with the strings, NUL after each, at its start; the
 * caller's. -errno. */
int strv_to_memory(char *const *strings) MUST_CHECK;

void strv_addf(struct strv *strv, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
