/* The browser without a screen: marks, rows, and patches of some hunks. */
#include "marks.h"

#include <stdio.h>
#include <string.h>

#include "patch_text.h"
#include "tree_rows.h"
#include "unit.h"

static void fill(struct change_list *list, const char *const *paths)
{
	for (; *paths; paths++) {
		struct change *change = change_list_add(list, strdup(*paths));

		assert_non_null(change);
		change->letter = CHANGE_MODIFIED;
		change->noise = **paths == 'N' ? NOISE_IGNORED : NOISE_NONE;
	}
	change_list_finish(list);
}

static void marks_of_hunks(void **state)
{
	static const char *const paths[] = {"a", "b", NULL};
	AUTO_CHANGE_LIST list = CHANGE_LIST_INIT;
	struct marks marks;

	(void)state;
	fill(&list, paths);
	assert_int_equal(marks_init(&marks, &list), 0);
	assert_int_equal(marks_toggle_hunk(&marks, 1, 0, 2), 0);
	assert_int_equal(marks_state(&marks, 1), MARKS_SOME);
	assert_true(marks_has_hunk(&marks, 1, 0));
	assert_false(marks_has_hunk(&marks, 1, 1));
	assert_int_equal(marks_toggle_hunk(&marks, 1, 1, 2), 0);
	assert_int_equal(marks_state(&marks, 1), MARKS_ALL);
	assert_int_equal(marks_count(&marks), 1);
	/* A whole file's mark is on each hunk, and comes off one by one. */
	marks_set(&marks, 0, true);
	assert_true(marks_has_hunk(&marks, 0, 7));
	assert_int_equal(marks_toggle_hunk(&marks, 0, 1, 3), 0);
	assert_true(marks_has_hunk(&marks, 0, 0));
	assert_false(marks_has_hunk(&marks, 0, 1));
	assert_int_equal(marks_state(&marks, 0), MARKS_SOME);
	marks_set(&marks, 0, false);
	assert_int_equal(marks_state(&marks, 0), MARKS_NONE);
	marks_release(&marks);
}

/* "0d a" for each row: depth, kind, the row's own path. */
static void expect_rows(const struct tree_rows *tree, const char *want)
{
	AUTO_BUF got = BUF_INIT;

	for (size_t i = 0; i < tree->n; i++) {
		const struct tree_row *row = &tree->rows[i];

		buf_addf(&got, "%zu%c%zu %.*s\n", row->depth,
			 row->is_closed ? 'c'
			 : row->is_dir  ? 'd'
					: 'f',
			 row->n, (int)row->len, row->path);
	}
	assert_string_equal(got.data, want);
}

static void rows_open_and_close(void **state)
{
	static const char *const paths[] = {"Noise", "a",   "d-x", "d/e/1",
					    "d/e/2", "d/z", "z",   NULL};
	AUTO_CHANGE_LIST list = CHANGE_LIST_INIT;
	struct tree_rows tree = {0};

	(void)state;
	fill(&list, paths);
	assert_int_equal(tree_rows_make(&tree, &list), 0);
	expect_rows(&tree, "0f1 a\n0f1 d-x\n0d3 d\n1d2 d/e\n2f1 d/e/1\n"
			   "2f1 d/e/2\n1f1 d/z\n0f1 z\n");
	assert_int_equal(tree_rows_toggle(&tree, 3), 0);
	assert_int_equal(tree_rows_make(&tree, &list), 0);
	expect_rows(&tree, "0f1 a\n0f1 d-x\n0d3 d\n1c2 d/e\n1f1 d/z\n"
			   "0f1 z\n");
	assert_int_equal(tree_rows_toggle(&tree, 2), 0);
	tree.with_noise = true;
	assert_int_equal(tree_rows_make(&tree, &list), 0);
	expect_rows(&tree, "0f1 Noise\n0f1 a\n0f1 d-x\n0c3 d\n0f1 z\n");
	assert_int_equal(tree_rows_toggle(&tree, 3), 0);
	assert_int_equal(tree_rows_make(&tree, &list), 0);
	expect_rows(&tree, "0f1 Noise\n0f1 a\n0f1 d-x\n0d3 d\n1c2 d/e\n"
			   "1f1 d/z\n0f1 z\n");
	tree_rows_release(&tree);
}

/* Lines as patch_text_make leaves them. */
static void cut(struct patch_text *patch, const char *text)
{
	size_t n = strlen(text);

	patch->whole = strdup(text);
	patch->len = n;
	patch->lines = calloc(n, sizeof(*patch->lines));
	patch->hunks = calloc(n, sizeof(*patch->hunks));
	for (char *at = patch->whole; *at; at++) {
		struct patch_line *line = &patch->lines[patch->n];

		line->text = at;
		line->len = strcspn(at, "\n");
		if (strncmp(at, "@@", 2) == 0) {
			patch->hunks[patch->n_hunks++] = patch->n;
		}
		patch->n++;
		at += line->len;
	}
}

static void some_hunks_alone(void **state)
{
	static const char *const paths[] = {"f", NULL};
	AUTO_CHANGE_LIST list = CHANGE_LIST_INIT;
	AUTO_PATCH_TEXT patch = {0};
	AUTO_BUF out = BUF_INIT;
	struct marks marks;

	(void)state;
	fill(&list, paths);
	cut(&patch, "--- a/f\n+++ b/f\n@@ -1 +1,3 @@ f\n x\n+y\n+z\n"
		    "@@ -9,2 +11 @@\n x\n-y\n@@ -20 +21,2 @@\n+a\n x\n");
	assert_int_equal(marks_init(&marks, &list), 0);
	assert_int_equal(marks_toggle_hunk(&marks, 0, 1, 3), 0);
	assert_int_equal(marks_toggle_hunk(&marks, 0, 2, 3), 0);
	patch_text_add_marked(&out, &patch, &marks, 0);
	/* Without the two lines that the first would have added. */
	assert_string_equal(out.data, "--- a/f\n+++ b/f\n"
				      "@@ -9,2 +9,1 @@\n x\n-y\n"
				      "@@ -20,1 +19,2 @@\n+a\n x\n");
	assert_int_equal(patch_text_hunk_at(&patch, 1), 3);
	assert_int_equal(patch_text_hunk_at(&patch, 2), 0);
	assert_int_equal(patch_text_hunk_at(&patch, 7), 1);
	marks_release(&marks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_of_hunks),
		cmocka_unit_test(rows_open_and_close),
		cmocka_unit_test(some_hunks_alone),
	};

	return cmocka_run_group_tests_name("diff_marks", tests, NULL, NULL);
}
