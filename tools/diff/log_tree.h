/*
 * log_tree.h - which command made which files: changes by process.
 *
 * A process has one line for each path that it changed: A made (also under
 * another name first), M changed, D removed, R renamed; what it made and
 * removed itself is only counted. Processes stand below the one that started
 * them; who changed nothing is there only for the sake of those below.
 *
 * Calling sequence: `struct log_tree tree = {0};`, log_tree_add for each
 * change, log_tree_write, log_tree_release. Threads: one at a time.
 */
#ifndef TOOLS_DIFF_LOG_TREE_H
#define TOOLS_DIFF_LOG_TREE_H

#include "compiler.h"
#include "log_line.h"

struct log_tree_entry;

struct log_tree {
	/* private */
	struct log_tree_entry *entries; /* in the order of first changes */
	size_t n;
	size_t capacity;
	size_t *slots; /* hash to index + 1 */
	size_t n_slots;
};

/* Ignores what did not succeed, or has no name. 0 or -ENOMEM. */
int log_tree_add(struct log_tree *tree, const struct log_lines *lines,
		 const struct journal_record *record) MUST_CHECK;

/* `width`: cut command lines there; 0: never. 0 or -ENOMEM. */
int log_tree_write(struct log_tree *tree, const struct log_lines *lines,
		   unsigned int width) MUST_CHECK;

void log_tree_release(struct log_tree *tree);

#endif
