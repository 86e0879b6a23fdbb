#include "tree_rows.h"

#include <string.h>

#include "buf.h"

static int add_row(struct tree_rows *tree, const struct tree_row *row)
{
	if (tree->n == tree->capacity) {
		size_t capacity = 2 * tree->capacity + 64;
		struct tree_row *rows =
			reallocarray(tree->rows, capacity, sizeof(*rows));

		if (!rows) {
			return -ENOMEM;
		}
		tree->rows = rows;
		tree->capacity = capacity;
	}
	tree->rows[tree->n++] = *row;
	return 0;
}

static bool is_shown(const struct tree_rows *tree, const struct change *change)
{
	return tree->with_noise || !change->noise;
}

/* How many changes from `first` on are in the directory; the list is sorted,
 * so they follow each other. */
static size_t count_in(const struct change_list *list, size_t first, size_t len)
{
	const char *path = list->items[first].path;
	size_t n = 1;

	while (first + n < list->n &&
	       strncmp(list->items[first + n].path, path, len + 1) == 0) {
		n++;
	}
	return n;
}

static bool is_closed(const struct tree_rows *tree, const char *path,
		      size_t len)
{
	AUTO_BUF name = BUF_INIT;

	buf_add(&name, path, len);
	return names_contain(&tree->closed, name.data);
}

/* Adds rows for the directories of `path` that the one before is not in; the
 * number of the first change behind a closed one in *ret_next, or 0. */
static int add_dirs(struct tree_rows *tree, const struct change_list *list,
		    size_t index, const char *before, size_t *ret_depth,
		    size_t *ret_next)
{
	const char *path = list->items[index].path;
	const char *slash = strchr(path, '/');

	*ret_depth = 0;
	*ret_next = 0;
	for (; slash; slash = strchr(slash + 1, '/')) {
		struct tree_row row = {
			.path = path,
			.len = (size_t)(slash - path),
			.depth = (*ret_depth)++,
			.is_dir = true,
			.first = index,
		};
		int error;

		if (before && strncmp(before, path, row.len + 1) == 0) {
			continue;
		}
		row.n = count_in(list, index, row.len);
		row.is_closed = is_closed(tree, path, row.len);
		error = add_row(tree, &row);
		if (error || row.is_closed) {
			*ret_next = index + row.n;
			return error;
		}
	}
	return 0;
}

int tree_rows_make(struct tree_rows *tree, const struct change_list *list)
{
	const char *before = NULL;
	size_t next;

	tree->n = 0;
	for (size_t i = 0; i < list->n; i = next) {
		const struct change *change = &list->items[i];
		struct tree_row row = {
			.path = change->path,
			.len = strlen(change->path),
			.first = i,
			.n = 1,
		};
		int error = 0;

		next = i + 1;
		if (is_shown(tree, change)) {
			size_t behind;

			error = add_dirs(tree, list, i, before, &row.depth,
					 &behind);
			before = change->path;
			if (!error && behind) {
				next = behind;
			} else if (!error) {
				error = add_row(tree, &row);
			}
		}
		if (error) {
			return error;
		}
	}
	return 0;
}

int tree_rows_toggle(struct tree_rows *tree, size_t row)
{
	const struct tree_row *dir = &tree->rows[row];
	AUTO_BUF name = BUF_INIT;
	struct names *closed = &tree->closed;
	int error;

	buf_add(&name, dir->path, dir->len);
	for (size_t i = 0; i < closed->n; i++) {
		if (strcmp(closed->items[i], name.data) == 0) {
			free(closed->items[i]);
			memmove(&closed->items[i], &closed->items[i + 1],
				(closed->n - i - 1) * sizeof(char *));
			closed->n--;
			return 0;
		}
	}
	error = names_add(closed, name.data);
	if (!error) {
		names_sort(closed);
	}
	return error;
}

void tree_rows_release(struct tree_rows *tree)
{
	free(tree->rows);
	names_release(&tree->closed);
	*tree = (struct tree_rows){0};
}
