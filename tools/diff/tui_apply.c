/*
 * Taking the marked over, from the browser (tui.h).
 */
#include <stdio.h>
#include <string.h>

#include "apply.h"
#include "err.h"
#include "text.h"
#include "tui.h"

/* What is marked, as apply_view wants it. */
struct wanted {
	char **paths; /* owned array */
	size_t n_paths;
	struct hunk *hunks; /* owned */
	size_t n_hunks;
};

static void release_wanted(struct wanted *wanted)
{
	free(wanted->paths);
	free(wanted->hunks);
}

static size_t count_hunks(const struct marks *marks)
{
	size_t count = 0;

	for (size_t i = 0; i < marks->list->n; i++) {
		count += marks->items[i].n_hunks;
	}
	return count;
}

static int collect(struct wanted *wanted, const struct marks *marks)
{
	const struct change_list *list = marks->list;

	/* Of a rename, both ends. */
	wanted->paths = calloc(2 * list->n + 1, sizeof(*wanted->paths));
	wanted->hunks = calloc(count_hunks(marks) + 1, sizeof(*wanted->hunks));
	if (!wanted->paths || !wanted->hunks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];
		enum marks_state state = marks_state(marks, i);

		if (state == MARKS_NONE) {
			continue;
		}
		wanted->paths[wanted->n_paths++] = change->path;
		if (change->old_path) {
			wanted->paths[wanted->n_paths++] = change->old_path;
		}
		for (size_t hunk = 0;
		     state == MARKS_SOME && hunk < marks->items[i].n_hunks;
		     hunk++) {
			if (marks->items[i].hunks[hunk]) {
				wanted->hunks[wanted->n_hunks++] =
					(struct hunk){change->path, hunk + 1};
			}
		}
	}
	return 0;
}

static void add_result(struct buf *told, const struct apply_result *result,
		       int error)
{
	if (error) {
		buf_addf(told, "Nothing is taken over: %s\n", err_text(error));
	} else if (result->n_conflicts > 0 && !result->was_written) {
		buf_addf(told, "%zu in conflict, nothing was written\n",
			 result->n_conflicts);
	} else {
		buf_adds(told, "taken over: ");
		text_add_counts(told, &result->taken);
		buf_adds(told, result->taken.total ? "\n" : "nothing\n");
	}
}

int tui_apply_marked(const struct tui *tui, struct buf *told, bool *ret_done)
{
	AUTO(release_wanted) struct wanted wanted = {0};
	AUTO_FREE char *lines = NULL;
	size_t len;
	struct apply_result result = {0};
	int error = collect(&wanted, &tui->marks);
	FILE *out = open_memstream(&lines, &len);
	struct trouble trouble = {.out = out};
	const struct apply_request request = {
		.execution = tui->report->execution,
		.view = tui->view->view,
		.filter = {.paths = wanted.paths, .n_paths = wanted.n_paths},
		.hunks = wanted.hunks,
		.n_hunks = wanted.n_hunks,
		.conflicts_out = out,
	};

	if (!out) {
		return -ENOMEM;
	}
	if (!error) {
		error = apply_view(&request, &result, &trouble);
	}
	if (fclose(out)) {
		return -ENOMEM;
	}
	add_result(told, &result, error);
	buf_add(told, lines, len);
	*ret_done = !error && (result.n_conflicts == 0 || result.was_written);
	return error == -ENOMEM ? error : buf_error(told);
}
