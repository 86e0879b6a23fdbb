#include "masks.h"

#include <stdlib.h>
#include <string.h>

#include "core_fixture.h"
#include "create.h"
#include "dirlist.h"
#include "file.h"
#include "unit.h"

static char *const masks[] = {".env", "d/secret", "d/keys", "none", NULL};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a directory, sorted, with a space behind each. */
static void assert_names(const char *path, const char *wanted)
{
	AUTO_BUF names = BUF_INIT;
	struct node *dir = at(path);
	const char *found[8];
	struct dirlist *list;
	size_t count = 0;

	assert_int_equal(dirlist_current(&fs, dir, &list), 0);
	for (size_t i = 0; i < list->count && count < ARRAY_SIZE(found); i++) {
		if (*dirlist_name(list, i) != '.') {
			found[count++] = dirlist_name(list, i);
		}
	}
	qsort(found, count, sizeof(*found), compare_names);
	for (size_t i = 0; i < count; i++) {
		buf_addf(&names, "%s ", found[i]);
	}
	dirlist_put(list);
	node_put(&fs.nodes, dir);
	assert_string_equal(names.data, wanted);
}

static void start(void)
{
	core_masks = masks;
	make_file("base/.env", "TOKEN");
	make_dir("base/d");
	make_file("base/d/secret", "s");
	make_file("base/d/shown", "shown");
	make_dir("base/d/keys");
	make_file("base/d/keys/key", "k");
	core_start(1);
}

static void what_is_masked_is_not_there(void **state)
{
	(void)state;
	start();
	assert_gone(".env");
	assert_gone("d/secret");
	assert_gone("d/keys");
	assert_gone("none");
	assert_gone("d/keys/key");
	assert_text("d/shown", "shown");
	assert_names("", "d ");
	assert_names("d", "shown ");
	assert_int_equal(view_unlink(".env"), -ENOENT);
	assert_int_equal(view_rmdir("d/keys"), -ENOENT);
	assert_int_equal(view_rename(".env", "x", 0), -ENOENT);
	assert_int_equal(view_rename("d/keys", "x", 0), -ENOENT);
	assert_int_equal(view_rename("d/shown", "d/secret", 2), -ENOENT);
	assert_int_equal(view_rename("d/secret", "d/shown", 2), -ENOENT);
	assert_gone("x");
	assert_text("d/shown", "shown");
}

static int make_special(const char *path)
{
	struct parent parent = parent_of(path);
	struct entry entry;
	int error = op_mknod(&fs, parent.node, parent.name, S_IFIFO | 0600, 0,
			     &caller, &entry);

	if (!error) {
		node_put(&fs.nodes, entry.node);
	}
	node_put(&fs.nodes, parent.node);
	return error;
}

static void nothing_is_made_there(void **state)
{
	static const char *const paths[] = {".env", "d/secret", "d/keys",
					    "none"};

	(void)state;
	start();
	assert_int_equal(view_mkdir("dir"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(view_create(paths[i], "x"), -EACCES);
		assert_int_equal(view_mkdir(paths[i]), -EACCES);
		assert_int_equal(view_symlink(paths[i], "x"), -EACCES);
		assert_int_equal(make_special(paths[i]), -EACCES);
		assert_int_equal(view_link("d/shown", paths[i]), -EACCES);
		assert_int_equal(view_rename("d/shown", paths[i], 0), -EACCES);
		assert_int_equal(view_rename("dir", paths[i], 0), -EACCES);
		assert_gone(paths[i]);
	}
	assert_text("d/shown", "shown");
	assert_there("dir");
	assert_false(on_disk("upper/.env"));
	assert_false(on_disk("upper/none"));
	assert_int_equal(count_entries("work"), 0);
}

static void it_goes_with_its_folder(void **state)
{
	(void)state;
	start();
	assert_int_equal(view_rename("d", "moved", 0), 0);
	assert_gone("moved/secret");
	assert_gone("moved/keys");
	assert_names("moved", "shown ");
	assert_int_equal(view_create("moved/secret", "x"), -EACCES);
	/* What the agent makes in its place is the agent's. */
	assert_int_equal(view_mkdir("d"), 0);
	assert_int_equal(view_create("d/secret", "mine"), 0);
	assert_text("d/secret", "mine");
	core_restart();
	assert_gone("moved/secret");
	assert_names("moved", "shown ");
	assert_text("d/secret", "mine");
	assert_int_equal(view_mkdir("deep"), 0);
	assert_int_equal(view_rename("moved", "deep/down", 0), 0);
	assert_gone("deep/down/keys");
	assert_names("deep/down", "shown ");
}

static void a_folder_with_nothing_else_can_be_removed(void **state)
{
	(void)state;
	start();
	assert_int_equal(view_rmdir("d"), -ENOTEMPTY);
	assert_int_equal(view_unlink("d/shown"), 0);
	assert_names("d", "");
	assert_int_equal(view_rmdir("d"), 0);
	assert_gone("d");
	assert_true(on_disk("base/d/secret"));
	assert_int_equal(view_mkdir("d"), 0);
	assert_gone("d/secret");
	assert_names("d", "");
}

static void a_folder_with_nothing_else_can_be_replaced(void **state)
{
	(void)state;
	start();
	assert_int_equal(view_unlink("d/shown"), 0);
	assert_int_equal(view_mkdir("new"), 0);
	assert_int_equal(view_create("new/f", "f"), 0);
	assert_int_equal(view_rename("new", "d", 0), 0);
	assert_names("d", "f ");
	assert_gone("d/secret");
	core_restart();
	assert_names("d", "f ");
	assert_gone("d/secret");
}

static void other_names_of_a_masked_file_are_hidden(void **state)
{
	(void)state;
	make_dir("base/e");
	make_file("base/.env", "TOKEN");
	make_file("base/e/plain", "plain");
	assert_int_equal(link("base/e/plain", "base/e/plain2"), 0);
	assert_int_equal(link("base/.env", "base/e/alias"), 0);
	core_masks = masks;
	core_start(1);
	assert_gone("e/alias");
	assert_names("e", "plain plain2 ");
	assert_text("e/plain2", "plain");
	assert_int_equal(view_unlink("e/alias"), -ENOENT);
	assert_int_equal(view_create("e/alias", "x"), -EACCES);
	assert_int_equal(view_rename("e/plain", "e/alias", 0), -EACCES);
	assert_int_equal(view_rename("e", "moved", 0), 0);
	assert_gone("moved/alias");
	assert_int_equal(view_unlink("moved/plain"), 0);
	assert_int_equal(view_unlink("moved/plain2"), 0);
	assert_int_equal(view_rmdir("moved"), 0);
}

static void each_layer_is_asked(void **state)
{
	(void)state;
	make_dir("base/d");
	make_dir("base2/d");
	make_file("base/d/f", "1");
	make_file("base2/d/secret", "s");
	core_masks = masks;
	core_start(2);
	assert_gone("d/secret");
	assert_names("d", "f ");
}

static void a_question_for_it_is_never_kept(void **state)
{
	struct entry entry;
	enum missing why;
	struct node *dir;

	(void)state;
	start();
	dir = at("d");
	assert_int_equal(op_lookup(&fs, dir, "secret", &entry, &why), -ENOENT);
	assert_int_equal(why, MISSING_MASKED);
	assert_int_equal(op_lookup(&fs, dir, "other", &entry, &why), -ENOENT);
	assert_int_not_equal(why, MISSING_MASKED);
	node_put(&fs.nodes, dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(what_is_masked_is_not_there),
		CORE_TEST(nothing_is_made_there),
		CORE_TEST(it_goes_with_its_folder),
		CORE_TEST(a_folder_with_nothing_else_can_be_removed),
		CORE_TEST(a_folder_with_nothing_else_can_be_replaced),
		CORE_TEST(other_names_of_a_masked_file_are_hidden),
		CORE_TEST(each_layer_is_asked),
		CORE_TEST(a_question_for_it_is_never_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
