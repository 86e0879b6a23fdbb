/*
 * odd.h - what a reviewer must see before anything else.
 *
 * A diff is read for what it means to do. This finds what it does besides:
 * files that run on their own (odd_table.h), executable and set-user-ID bits,
 * links that lead out of the view, special files, huge files, changes outside
 * the checkout, a base that moved on.
 *
 * Ignored files are looked at, too: the fold must hide nothing that is odd. In
 * them a new executable is what a build leaves, and no oddity.
 *
 * Calling sequence: `AUTO_ODD_LIST odd = {0};`, odd_find on a finished list
 * that is not filtered yet, odd_add_lines or items[0..n).
 *
 * Threads: one at a time. Errors: -ENOMEM; a file that can't be read is told in
 * `trouble`.
 */
#ifndef TOOLS_DIFF_ODD_H
#define TOOLS_DIFF_ODD_H

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "diff.h"
#include "trouble.h"

/* In the order in which they are told. */
enum odd_kind {
	ODD_BASE_MOVED,
	ODD_SETUID,
	ODD_RUNS,
	ODD_LINK_OUTSIDE,
	ODD_SPECIAL,
	ODD_EXECUTABLE,
	ODD_HUGE,
	ODD_N_KINDS,
};

/* From this size on a file is huge. */
#define ODD_HUGE_BYTES (64UL * 1024 * 1024)

struct odd {
	enum odd_kind kind;
	char *path; /* owned; relative to the view */
	char *why;  /* owned; a clause, visible characters only */
};

struct odd_list {
	struct odd *items; /* by kind, then by path */
	size_t n;
	/* private */
	size_t capacity;
};

#define AUTO_ODD_LIST AUTO(odd_list_release) struct odd_list

/* "runs-on-its-own", ...: for programs. */
const char *odd_kind_name(enum odd_kind kind);

/* Fills an empty list. 0 or -ENOMEM. */
int odd_find(struct odd_list *list, const struct diff *diff,
	     struct trouble *trouble) MUST_CHECK;

/* "! path: why" lines behind `indent`, paths behind `prefix`; at most
 * `max_each` of one kind, the others counted. */
void odd_add_lines(struct buf *buf, const struct odd_list *list,
		   const char *indent, const char *prefix, size_t max_each);

void odd_list_release(struct odd_list *list);

#endif
