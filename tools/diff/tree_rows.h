/*
 * tree_rows.h - a finished list as the rows of a tree that opens and closes.
 *
 * Threads: one at a time. Errors: -ENOMEM.
 */
#ifndef TOOLS_DIFF_TREE_ROWS_H
#define TOOLS_DIFF_TREE_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "change.h"
#include "compiler.h"
#include "names.h"

struct tree_row {
	const char *path; /* of the first change in it; borrowed */
	size_t len;       /* of the row's own path in it */
	size_t depth;
	bool is_dir;
	bool is_closed;
	size_t first; /* changes first..first+n) are it, or in it */
	size_t n;
};

struct tree_rows {
	struct tree_row *rows;
	size_t n;
	bool with_noise; /* what is folded, too */
	/* private */
	size_t capacity;
	struct names closed; /* sorted */
};

/* Makes the rows again, after with_noise or tree_rows_toggle. */
int tree_rows_make(struct tree_rows *tree,
		   const struct change_list *list) MUST_CHECK;

/* Opens or closes a directory; tree_rows_make comes after. */
int tree_rows_toggle(struct tree_rows *tree, size_t row) MUST_CHECK;

void tree_rows_release(struct tree_rows *tree);

#endif
