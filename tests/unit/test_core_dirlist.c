#include "dirlist.h"

#include <stdio.h>
#include <string.h>

#include "core_fixture.h"
#include "unit.h"
#include "unlink.h"

#define MANY 10000

static struct dirlist *list;

static int list_setup(void **state)
{
	list = NULL;
	return core_setup(state);
}

static int list_teardown(void **state)
{
	dirlist_put(list);
	return core_teardown(state);
}

#define LIST_TEST(f)                                                           \
	cmocka_unit_test_setup_teardown(f, list_setup, list_teardown)

static void read_node(struct node *dir)
{
	dirlist_put(list);
	assert_int_equal(dirlist_current(&fs, dir, &list), 0);
}

static void read_list(const char *path)
{
	struct node *dir = at(path);

	read_node(dir);
	node_put(&fs.nodes, dir);
}

static size_t count(void)
{
	return list->count;
}

/* How often the name is in the list. */
static unsigned int times_listed(const char *name)
{
	unsigned int times = 0;

	for (size_t i = 0; i < list->count; i++) {
		times += strcmp(dirlist_name(list, i), name) == 0;
	}
	return times;
}

static void merged_without_doubles(void **state)
{
	(void)state;
	make_dir("upper/d");
	make_dir("base/d");
	make_dir("base2/d");
	make_file("upper/d/all", "u");
	make_file("base/d/all", "1");
	make_file("base2/d/all", "2");
	make_file("upper/d/u", "u");
	make_file("base/d/1", "1");
	make_file("base2/d/2", "2");
	make_dir("base/d/dir");
	make_dir("base2/d/dir");
	core_start(2);
	read_list("d");
	assert_string_equal(dirlist_name(list, 0), ".");
	assert_string_equal(dirlist_name(list, 1), "..");
	assert_int_equal(count(), 7);
	assert_int_equal(times_listed("all"), 1);
	assert_int_equal(times_listed("u"), 1);
	assert_int_equal(times_listed("1"), 1);
	assert_int_equal(times_listed("2"), 1);
	assert_int_equal(times_listed("dir"), 1);
}

static void whiteouts_hide_and_are_hidden(void **state)
{
	(void)state;
	make_whiteout("upper/by-upper");
	make_file("base/by-upper", "1");
	make_file("base2/by-upper", "2");
	make_whiteout("base/by-base");
	make_file("base2/by-base", "2");
	make_file("upper/above", "u");
	make_whiteout("base/above");
	make_file("base2/above", "2");
	make_whiteout("upper/alone");
	make_whiteout("base2/alone2");
	core_start(2);
	read_list("");
	assert_int_equal(count(), 3);
	assert_int_equal(times_listed("above"), 1);
}

static void opaque_hides_what_is_below(void **state)
{
	(void)state;
	make_dir("upper/d");
	make_opaque("upper/d");
	make_file("upper/d/u", "u");
	make_dir("base/d");
	make_file("base/d/1", "1");
	core_start(1);
	read_list("d");
	assert_int_equal(count(), 3);
	assert_int_equal(times_listed("u"), 1);
}

static void make_many(const char *dir, unsigned int from, unsigned int to)
{
	char path[64];

	for (unsigned int i = from; i < to; i++) {
		snprintf(path, sizeof(path), "%s/file-%u", dir, i);
		make_file(path, "");
	}
}

/* A third in the upper only, a third in both, a third in the base only. */
static void ten_thousand_names(void **state)
{
	static bool seen[MANY];

	(void)state;
	make_many("upper", 0, 2 * MANY / 3);
	make_many("base", MANY / 3, MANY);
	core_start(1);
	read_list("");
	assert_int_equal(count(), MANY + 2);
	memset(seen, 0, sizeof(seen));
	for (size_t i = 2; i < MANY + 2; i++) {
		unsigned int number;

		assert_int_equal(
			sscanf(dirlist_name(list, i), "file-%u", &number), 1);
		assert_true(number < MANY);
		assert_false(seen[number]);
		seen[number] = true;
	}
}

/* A number in the list means the same name whatever happens meanwhile: so
 * `rm -r` finds all, though it removes while it lists. */
static void snapshot_stands_still(void **state)
{
	char name[64];

	(void)state;
	make_many("base", 0, 1000);
	core_start(1);
	read_list("");
	snprintf(name, sizeof(name), "%s", dirlist_name(list, 500));
	for (size_t i = 2; i < list->count; i++) {
		struct entry entry;
		int error;

		assert_int_equal(view_unlink(dirlist_name(list, i)), 0);
		error = dirlist_stat(&fs, fs.root, dirlist_name(list, i), false,
				     &entry);
		assert_int_equal(error, -ENOENT);
		if (i % 100 == 0) {
			char fresh[64];

			snprintf(fresh, sizeof(fresh), "new-%zu", i);
			assert_int_equal(view_create(fresh, ""), 0);
		}
	}
	assert_string_equal(dirlist_name(list, 500), name);
	assert_int_equal(count(), 1002);
	read_list(""); /* as after a rewind */
	assert_int_equal(count(), 12);
	assert_int_equal(times_listed("new-500"), 1);
}

static uint64_t cookie_of(const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(dirlist_name(list, i), name) == 0) {
			return list->entries[i].cookie;
		}
	}
	fail_msg("'%s' is not listed", name);
	return 0;
}

/* The kernel and telldir keep them, over changes and new snapshots. */
static void cookies_are_the_names_s(void **state)
{
	uint64_t first;
	uint64_t fifth;
	uint64_t highest = 0;

	(void)state;
	make_many("base", 0, 100);
	core_start(1);
	read_list("");
	assert_int_equal(dirlist_after(list, 0), 0);
	for (size_t i = 0; i < list->count; i++) {
		uint64_t cookie = list->entries[i].cookie;

		assert_true(cookie > highest);
		highest = cookie;
		assert_int_equal(dirlist_after(list, cookie), i + 1);
	}
	first = cookie_of("file-1");
	fifth = cookie_of("file-5");
	assert_int_equal(view_unlink("file-1"), 0);
	assert_int_equal(view_create("new", ""), 0);
	assert_int_equal(view_write("file-7", "x", 0), 0);
	read_list("");
	assert_int_equal(cookie_of("file-5"), fifth);
	assert_true(cookie_of("new") > highest);
	/* Where it was, the next one comes. */
	assert_true(list->entries[dirlist_after(list, first)].cookie > first);
	assert_int_equal(list->entries[dirlist_after(list, fifth - 1)].cookie,
			 fifth);
	/* The name again is a new entry. */
	highest = cookie_of("new");
	assert_int_equal(view_create("file-1", ""), 0);
	read_list("");
	assert_true(cookie_of("file-1") > highest);
	for (size_t i = 1; i < list->count; i++) {
		assert_true(list->entries[i].cookie >
			    list->entries[i - 1].cookie);
	}
	assert_int_equal(dirlist_after(list, UINT64_MAX), list->count);
}

static void copy_up_changes_no_list(void **state)
{
	AUTO_BUF before = BUF_INIT;

	(void)state;
	make_dir("base/d");
	make_many("base/d", 0, 10);
	core_start(1);
	read_list("d");
	for (size_t i = 0; i < list->count; i++) {
		buf_addf(&before, "%s ", dirlist_name(list, i));
	}
	assert_int_equal(view_write("d/file-5", "x", 0), 0);
	read_list("d");
	assert_int_equal(count(), 12);
	assert_int_equal(times_listed("file-5"), 1);
	assert_int_equal(buf_error(&before), 0);
}

static void removed_directory_has_no_entries(void **state)
{
	struct node *dir;

	(void)state;
	make_dir("base/d");
	core_start(1);
	dir = at("d");
	read_node(dir);
	assert_int_equal(count(), 2);
	assert_int_equal(view_rmdir("d"), 0);
	read_node(dir);
	assert_int_equal(count(), 0);
	/* A new one of that name is another. */
	assert_int_equal(view_mkdir("d"), 0);
	assert_int_equal(view_create("d/f", ""), 0);
	read_node(dir);
	assert_int_equal(count(), 0);
	node_put(&fs.nodes, dir);
}

static void entries_agree_with_lookup(void **state)
{
	(void)state;
	make_file("base/file", "f");
	make_file("base/written", "f");
	make_dir("base/dir");
	make_dir("base/merged");
	make_dir("base/moved");
	make_link("base/link", "x");
	make_fifo("base/fifo");
	core_start(1);
	assert_int_equal(view_create("new", ""), 0);
	assert_int_equal(view_mkdir("new-dir"), 0);
	assert_int_equal(view_write("written", "x", 0), 0);
	assert_int_equal(view_chmod("merged", 0700), 0);
	assert_int_equal(view_rename("moved", "moved2", 0), 0);
	core_restart();
	read_list("");
	assert_int_equal(count(), 11);
	for (size_t i = 2; i < list->count; i++) {
		const char *name = dirlist_name(list, i);
		struct stat st = stat_at(name);
		struct entry entry;

		assert_int_equal(
			dirlist_stat(&fs, fs.root, name, false, &entry), 0);
		assert_null(entry.node);
		assert_int_equal(entry.st.st_ino, st.st_ino);
		assert_int_equal(entry.st.st_mode, st.st_mode);
		assert_int_equal(dirlist_stat(&fs, fs.root, name, true, &entry),
				 0);
		assert_non_null(entry.node);
		assert_int_equal(entry.st.st_ino, st.st_ino);
		node_put(&fs.nodes, entry.node);
	}
}

static void dots_have_numbers_and_no_node(void **state)
{
	struct entry entry;
	struct node *dir;

	(void)state;
	make_dir("base/d");
	make_dir("base/d/e");
	core_start(1);
	dir = at("d/e");
	assert_int_equal(dirlist_stat(&fs, dir, ".", true, &entry), 0);
	assert_null(entry.node);
	assert_int_equal(entry.st.st_ino, stat_at("d/e").st_ino);
	assert_int_equal(dirlist_stat(&fs, dir, "..", true, &entry), 0);
	assert_null(entry.node);
	assert_int_equal(entry.st.st_ino, stat_at("d").st_ino);
	assert_int_equal(dirlist_stat(&fs, fs.root, "..", true, &entry), 0);
	assert_int_equal(entry.st.st_ino, stat_at("").st_ino);
	node_put(&fs.nodes, dir);
}

static bool is_empty(const char *path)
{
	struct node *dir = at(path);
	int empty;

	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	empty = dirlist_is_empty(dir);
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	node_put(&fs.nodes, dir);
	assert_true(empty >= 0);
	return empty;
}

static void emptiness_is_the_merge_s(void **state)
{
	(void)state;
	make_dir("base/empty");
	make_dir("base/full");
	make_file("base/full/f", "f");
	make_dir("base/hidden");
	make_file("base/hidden/f", "f");
	make_dir("upper/hidden");
	make_whiteout("upper/hidden/f");
	make_dir("upper/above");
	make_file("upper/above/f", "f");
	make_dir("base/above");
	make_dir("upper/opaque");
	make_opaque("upper/opaque");
	make_dir("base/opaque");
	make_file("base/opaque/f", "f");
	core_start(1);
	assert_true(is_empty("empty"));
	assert_false(is_empty("full"));
	assert_true(is_empty("hidden"));
	assert_false(is_empty("above"));
	assert_true(is_empty("opaque"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIST_TEST(merged_without_doubles),
		LIST_TEST(whiteouts_hide_and_are_hidden),
		LIST_TEST(opaque_hides_what_is_below),
		LIST_TEST(ten_thousand_names),
		LIST_TEST(snapshot_stands_still),
		LIST_TEST(cookies_are_the_names_s),
		LIST_TEST(copy_up_changes_no_list),
		LIST_TEST(removed_directory_has_no_entries),
		LIST_TEST(entries_agree_with_lookup),
		LIST_TEST(dots_have_numbers_and_no_node),
		LIST_TEST(emptiness_is_the_merge_s),
	};

	core_prefer_memory();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
