#include "hunks.h"

#include <string.h>

#include "blob.h"

/* The old text while it is walked, line by line. */
struct cursor {
	const char *at;
	const char *end;
	int line; /* lines before `at` */
};

static void free_patch(git_patch **patch)
{
	git_patch_free(*patch);
}

static bool is_wanted(const struct change *change, const struct hunk *hunks,
		      size_t n, size_t number)
{
	for (size_t i = 0; i < n; i++) {
		if (hunks[i].number == number &&
		    strcmp(hunks[i].path, change->path) == 0) {
			return true;
		}
	}
	return false;
}

/* Moves on until `line` lines are behind; adds them to `content` unless that
 * is NULL. */
static void walk_to(struct cursor *cursor, int line, struct buf *content)
{
	while (cursor->line < line && cursor->at < cursor->end) {
		const char *newline = memchr(
			cursor->at, '\n', (size_t)(cursor->end - cursor->at));
		const char *next = newline ? newline + 1 : cursor->end;

		if (content) {
			buf_add(content, cursor->at,
				(size_t)(next - cursor->at));
		}
		cursor->at = next;
		cursor->line++;
	}
}

static int add_hunk(struct buf *content, git_patch *patch, size_t index)
{
	int n = git_patch_num_lines_in_hunk(patch, index);

	for (int i = 0; i < n; i++) {
		const git_diff_line *line;

		if (git_patch_get_line_in_hunk(&line, patch, index,
					       (size_t)i)) {
			return -ENOMEM;
		}
		if (line->origin == GIT_DIFF_LINE_CONTEXT ||
		    line->origin == GIT_DIFF_LINE_ADDITION) {
			buf_add(content, line->content, line->content_len);
		}
	}
	return 0;
}

static int add_all(struct buf *content, const struct blob *old_blob,
		   git_patch *patch, const struct change *change,
		   const struct hunk *hunks, size_t n)
{
	struct cursor cursor = {
		old_blob->data.data,
		old_blob->data.data + old_blob->data.len,
		0,
	};
	size_t n_hunks = git_patch_num_hunks(patch);

	for (size_t i = 0; i < n_hunks; i++) {
		const git_diff_hunk *hunk;
		int first;
		int error;

		if (!is_wanted(change, hunks, n, i + 1)) {
			continue;
		}
		if (git_patch_get_hunk(&hunk, NULL, patch, i)) {
			return -ENOMEM;
		}
		/* One that only adds says behind which line. */
		first = hunk->old_lines ? hunk->old_start - 1 : hunk->old_start;
		walk_to(&cursor, first, content);
		error = add_hunk(content, patch, i);
		if (error) {
			return error;
		}
		walk_to(&cursor, first + hunk->old_lines, NULL);
	}
	buf_add(content, cursor.at, (size_t)(cursor.end - cursor.at));
	return buf_error(content);
}

static int check_numbers(const git_patch *patch, const struct change *change,
			 const struct hunk *hunks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(hunks[i].path, change->path) == 0 &&
		    (hunks[i].number == 0 ||
		     hunks[i].number > git_patch_num_hunks(patch))) {
			return -ERANGE;
		}
	}
	return 0;
}

int hunks_apply(struct buf *content, const struct sides *sides,
		const struct change *change, const struct hunk *hunks, size_t n)
{
	AUTO(free_patch) git_patch *patch = NULL;
	AUTO_BLOB old_blob = BLOB_INIT;
	AUTO_BLOB new_blob = BLOB_INIT;
	int error;

	if (change->letter != CHANGE_MODIFIED ||
	    change->new_side.kind != KIND_FILE ||
	    !blob_is_possible(&change->old_side) ||
	    !blob_is_possible(&change->new_side)) {
		return -EMEDIUMTYPE;
	}
	error = blob_load_old(&old_blob, sides, change);
	error = error ? error : blob_load_new(&new_blob, sides, change);
	error = error ? error : blob_diff(&patch, &old_blob, &new_blob, false);
	if (error) {
		return error;
	}
	if (blob_diff_is_binary(patch)) {
		return -EMEDIUMTYPE;
	}
	error = check_numbers(patch, change, hunks, n);
	return error ? error
		     : add_all(content, &old_blob, patch, change, hunks, n);
}
