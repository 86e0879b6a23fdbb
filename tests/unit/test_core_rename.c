#include "rename.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "core_fixture.h"
#include "create.h"
#include "file.h"
#include "unit.h"
#include "unlink.h"

/*
 * The matrix: what is renamed, onto what, with which flags. The same is done
 * in a plain folder by the kernel, which says what is right.
 */

struct thing {
	const char *name;
	/* Makes it at `path` ("s/x") below base/ and upper/ */
	void (*make)(const char *path);
	/* and what it shows below plain/. */
	void (*make_plain)(const char *path);
	bool is_absent;
	bool needs_base; /* a directory there to be in */
};

static char path_buffer[3][PATH_MAX];

static const char *below(int i, const char *top, const char *path,
			 const char *name)
{
	snprintf(path_buffer[i], PATH_MAX, "%s/%s%s%s", top, path,
		 *name ? "/" : "", name);
	return path_buffer[i];
}

static void absent(const char *path)
{
	(void)path;
}

static void whiteout_over_file(const char *path)
{
	make_file(below(0, "base", path, ""), "hidden");
	make_whiteout(below(0, "upper", path, ""));
}

static void whiteout_over_dir(const char *path)
{
	make_dir(below(0, "base", path, ""));
	make_file(below(0, "base", path, "hidden"), "hidden");
	make_whiteout(below(0, "upper", path, ""));
}

static void base_file(const char *path)
{
	make_file(below(0, "base", path, ""), path);
}

static void upper_file(const char *path)
{
	make_file(below(0, "upper", path, ""), path);
}

static void copied_file(const char *path)
{
	make_file(below(0, "base", path, ""), "old");
	make_file(below(0, "upper", path, ""), path);
}

static void plain_file(const char *path)
{
	make_file(below(0, "plain", path, ""), path);
}

static void base_link(const char *path)
{
	make_link(below(0, "base", path, ""), path);
}

static void plain_link(const char *path)
{
	make_link(below(0, "plain", path, ""), path);
}

static void base_empty(const char *path)
{
	make_dir(below(0, "base", path, ""));
}

static void upper_empty(const char *path)
{
	make_dir(below(0, "upper", path, ""));
	make_opaque(path_buffer[0]);
}

/* Shows nothing, but has whiteouts in the upper. */
static void merged_empty(const char *path)
{
	make_dir(below(0, "base", path, ""));
	make_file(below(0, "base", path, "gone"), "gone");
	make_dir(below(0, "upper", path, ""));
	make_whiteout(below(0, "upper", path, "gone"));
}

static void plain_empty(const char *path)
{
	make_dir(below(0, "plain", path, ""));
}

static void base_full(const char *path)
{
	make_dir(below(0, "base", path, ""));
	make_file(below(0, "base", path, "f"), path);
	make_dir(below(0, "base", path, "sub"));
	make_file(below(0, "base", path, "sub/g"), path);
}

static void upper_full(const char *path)
{
	make_dir(below(0, "upper", path, ""));
	make_opaque(path_buffer[0]);
	make_file(below(0, "upper", path, "f"), path);
	make_dir(below(0, "upper", path, "sub"));
	make_file(below(0, "upper", path, "sub/g"), path);
}

static void merged_full(const char *path)
{
	base_full(path);
	make_file(below(0, "base", path, "gone"), "gone");
	make_dir(below(0, "upper", path, ""));
	make_whiteout(below(0, "upper", path, "gone"));
	make_file(below(0, "upper", path, "sub-file"), path);
	make_dir(below(0, "upper", path, "sub"));
	make_file(below(0, "upper", path, "sub/h"), path);
}

static void plain_full(const char *path)
{
	make_dir(below(0, "plain", path, ""));
	make_file(below(0, "plain", path, "f"), path);
	make_dir(below(0, "plain", path, "sub"));
	make_file(below(0, "plain", path, "sub/g"), path);
}

static void plain_merged_full(const char *path)
{
	plain_full(path);
	make_file(below(0, "plain", path, "sub-file"), path);
	make_file(below(0, "plain", path, "sub/h"), path);
}

static const struct thing things[] = {
	{"absent", absent, absent, true, false},
	{"whiteout over file", whiteout_over_file, absent, true, true},
	{"whiteout over directory", whiteout_over_dir, absent, true, true},
	{"base file", base_file, plain_file, false, true},
	{"upper file", upper_file, plain_file, false, false},
	{"copied-up file", copied_file, plain_file, false, true},
	{"base symlink", base_link, plain_link, false, true},
	{"empty base directory", base_empty, plain_empty, false, true},
	{"empty upper directory", upper_empty, plain_empty, false, false},
	{"empty merged directory", merged_empty, plain_empty, false, true},
	{"full base directory", base_full, plain_full, false, true},
	{"full upper directory", upper_full, plain_full, false, false},
	{"full merged directory", merged_full, plain_merged_full, false, true},
};

/* The two directories: both in the base; the target's new; or one for both. */
static const char *const places[][2] = {
	{"s/x", "t/y"}, {"s/x", "n/y"}, {"s/x", "s/y"}};

struct combination {
	const struct thing *from;
	const struct thing *to;
	const char *from_path;
	const char *to_path;
	unsigned int flags;
};

static void make_world(const struct combination *one)
{
	static const char *const tops[] = {"base", "upper", "plain"};
	static const char *const dirs[] = {"s", "t", "n"};

	make_dir("plain");
	for (size_t i = 0; i < ARRAY_SIZE(tops); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(dirs); j++) {
			/* "n" is the view's own. */
			if (i > 0 || j < 2) {
				make_dir(below(1, tops[i], dirs[j], ""));
			}
		}
	}
	make_opaque("upper/n");
	one->from->make(one->from_path);
	one->from->make_plain(one->from_path);
	one->to->make(one->to_path);
	one->to->make_plain(one->to_path);
}

static void dump_plain(struct buf *text)
{
	struct fs plain;

	assert_int_equal(core_open_plain(&plain, "plain"), 0);
	assert_int_equal(dump_tree(&plain, text), 0);
	fs_release(&plain);
}

/* The node and its number stay what they were, at the new name. */
static bool node_moved(struct node *node, uint64_t ino, const char *to_path)
{
	struct node *moved = at(to_path);
	struct stat st;
	bool right = moved == node && !op_getattr(&fs, moved, &st) &&
		     st.st_ino == ino;

	if (!right) {
		print_error("'%s' is another node, or has another number\n",
			    to_path);
	}
	node_put(&fs.nodes, moved);
	return right;
}

static bool same_trees(const struct combination *one, const char *when)
{
	AUTO_BUF plain = BUF_INIT;
	AUTO_BUF view = BUF_INIT;
	int error;

	dump_plain(&plain);
	error = dump_tree(&fs, &view);
	if (error || strcmp(plain.data, view.data) != 0) {
		print_error("%s -> %s (%s to %s), flags %u, %s: error %d\n"
			    "wanted:\n%sseen:\n%s",
			    one->from->name, one->to->name, one->from_path,
			    one->to_path, one->flags, when, error, plain.data,
			    view.data);
		return false;
	}
	return true;
}

/* Whether it is as in the plain folder. */
static bool rename_is_right(const struct combination *one)
{
	char from_plain[PATH_MAX];
	char to_plain[PATH_MAX];
	struct node *node = NULL;
	uint64_t ino = 0;
	int wanted;
	int error;
	bool right;

	make_world(one);
	snprintf(from_plain, PATH_MAX, "plain/%s", one->from_path);
	snprintf(to_plain, PATH_MAX, "plain/%s", one->to_path);
	wanted = renameat2(AT_FDCWD, from_plain, AT_FDCWD, to_plain, one->flags)
			 ? -errno
			 : 0;
	core_start(1);
	if (!one->from->is_absent) {
		node = at(one->from_path);
		ino = stat_at(one->from_path).st_ino;
	}
	error = view_rename(one->from_path, one->to_path, one->flags);
	right = error == wanted;
	if (!right) {
		print_error("%s -> %s (%s to %s), flags %u: %d, wanted %d\n",
			    one->from->name, one->to->name, one->from_path,
			    one->to_path, one->flags, error, wanted);
	}
	if (!error && node) {
		right = node_moved(node, ino, one->to_path) && right;
	}
	node_put(&fs.nodes, node);
	right = right && same_trees(one, "at once");
	core_restart();
	right = right && same_trees(one, "started again");
	right = right && count_entries("work") == 0;
	core_stop();
	return right;
}

static void matrix_of(unsigned int place, unsigned int flags)
{
	struct combination one = {.from_path = places[place][0],
				  .to_path = places[place][1],
				  .flags = flags};
	unsigned int wrong = 0;

	for (size_t i = 0; i < ARRAY_SIZE(things); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(things); j++) {
			char folder[32];

			if (things[j].needs_base && *one.to_path == 'n') {
				continue;
			}
			snprintf(folder, sizeof(folder), "%zu-%zu", i, j);
			make_dir(folder);
			assert_int_equal(chdir(folder), 0);
			assert_int_equal(core_make_folders(), 0);
			one.from = &things[i];
			one.to = &things[j];
			wrong += !rename_is_right(&one);
			assert_int_equal(chdir(".."), 0);
		}
	}
	assert_int_equal(wrong, 0);
}

static void matrix_to_other_directory(void **state)
{
	(void)state;
	matrix_of(0, 0);
}

static void matrix_to_new_directory(void **state)
{
	(void)state;
	matrix_of(1, 0);
}

static void matrix_in_one_directory(void **state)
{
	(void)state;
	matrix_of(2, 0);
}

static void matrix_noreplace(void **state)
{
	(void)state;
	matrix_of(0, RENAME_NOREPLACE);
}

static void matrix_exchange(void **state)
{
	(void)state;
	matrix_of(0, RENAME_EXCHANGE);
}

static void matrix_exchange_in_one_directory(void **state)
{
	(void)state;
	matrix_of(2, RENAME_EXCHANGE);
}

static void other_flags(void **state)
{
	(void)state;
	make_file("base/a", "a");
	make_file("base/b", "b");
	core_start(1);
	assert_int_equal(view_rename("a", "c", RENAME_WHITEOUT), -EINVAL);
	assert_int_equal(
		view_rename("a", "b", RENAME_EXCHANGE | RENAME_NOREPLACE),
		-EINVAL);
	assert_int_equal(view_rename("a", "c", 1U << 20), -EINVAL);
	assert_int_equal(count_entries("upper"), 0);
}

static void directory_into_itself(void **state)
{
	(void)state;
	make_dir("base/a");
	make_dir("base/a/b");
	make_dir("base/a/b/c");
	make_file("base/x", "x");
	core_start(1);
	assert_int_equal(view_rename("a", "a/b/d", 0), -EINVAL);
	assert_int_equal(view_rename("a", "a/d", 0), -EINVAL);
	assert_int_equal(view_rename("a", "a/b/c", RENAME_EXCHANGE), -EINVAL);
	assert_int_equal(view_rename("a/b/c", "a", RENAME_EXCHANGE), -EINVAL);
	assert_int_equal(view_rename("a/b/c", "a", 0), -ENOTEMPTY);
	assert_there("a/b/c");
	assert_int_equal(view_rename("x", "a/b/c/x", 0), 0);
	assert_text("a/b/c/x", "x");
}

/* A redirect says where the content is in the base, whatever happened since. */
static void redirects_repeated(void **state)
{
	(void)state;
	make_dir("base/a");
	make_file("base/a/f", "f");
	make_dir("base/a/sub");
	make_file("base/a/sub/g", "g");
	make_dir("base/other");
	core_start(1);
	assert_int_equal(view_rename("a", "b", 0), 0);
	assert_string_equal(redirect_of("upper/b"), "/a");
	assert_true(is_whiteout("upper/a"));
	assert_int_equal(count_entries("upper/b"), 0);
	assert_int_equal(view_rename("b", "other/c", 0), 0);
	assert_string_equal(redirect_of("upper/other/c"), "/a");
	assert_false(on_disk("upper/b"));
	assert_text("other/c/f", "f");
	/* A part of it, out of it. */
	assert_int_equal(view_rename("other/c/sub", "sub", 0), 0);
	assert_string_equal(redirect_of("upper/sub"), "/a/sub");
	assert_text("sub/g", "g");
	assert_gone("other/c/sub");
	/* Another one at the old name does not get its content. */
	assert_int_equal(view_mkdir("a"), 0);
	assert_gone("a/f");
	assert_int_equal(view_rmdir("a"), 0);
	assert_int_equal(view_rename("other/c", "a", 0), 0);
	assert_text("a/f", "f");
	assert_gone("a/sub");
	core_restart();
	assert_text("a/f", "f");
	assert_gone("a/sub");
	assert_text("sub/g", "g");
	assert_gone("b");
	assert_gone("other/c");
	assert_int_equal(view_rename("sub", "a/sub", 0), 0);
	assert_int_equal(view_write("a/sub/g", "G", 0), 0);
	assert_int_equal(view_rename("a", "z", 0), 0);
	core_restart();
	assert_text("z/sub/g", "G");
	assert_text("z/f", "f");
	assert_int_equal(count_entries("work"), 0);
}

/* Directories trade places, and again, with what is in them. */
static void exchanged_directories(void **state)
{
	(void)state;
	make_dir("base/a");
	make_file("base/a/f", "a");
	make_dir("base/b");
	make_file("base/b/f", "b");
	core_start(1);
	assert_int_equal(view_rename("a", "b", RENAME_EXCHANGE), 0);
	assert_text("a/f", "b");
	assert_text("b/f", "a");
	core_restart();
	assert_text("a/f", "b");
	assert_int_equal(view_rename("a", "b", RENAME_EXCHANGE), 0);
	assert_text("a/f", "a");
	assert_text("b/f", "b");
	assert_int_equal(view_rename("a", "b/a", 0), 0);
	assert_text("b/a/f", "a");
	core_restart();
	assert_text("b/a/f", "a");
	assert_text("b/f", "b");
}

static void constant_time(void **state)
{
	char name[32];

	(void)state;
	make_dir("base/big");
	for (int i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "base/big/%d", i);
		make_file(name, "");
	}
	core_start(1);
	assert_int_equal(view_rename("big", "moved", 0), 0);
	assert_int_equal(count_entries("upper/moved"), 0);
	assert_there("moved/2999");
}

/* Known children of a moved directory go with it. */
static void children_follow(void **state)
{
	struct node *child;
	struct node *deep;
	struct stat st;

	(void)state;
	make_dir("base/a");
	make_dir("base/a/d");
	make_file("base/a/f", "f");
	make_file("base/a/d/g", "g");
	core_start(1);
	child = at("a/f");
	deep = at("a/d/g");
	assert_int_equal(view_rename("a", "b", 0), 0);
	assert_string_equal(text_of(child), "f");
	assert_int_equal(op_write(&fs, deep, "G", 1, 0, &caller), 1);
	assert_true(on_disk("upper/b/d/g"));
	assert_text("b/d/g", "G");
	assert_int_equal(op_getattr(&fs, child, &st), 0);
	node_put(&fs.nodes, child);
	node_put(&fs.nodes, deep);
}

static void links_of_one_file(void **state)
{
	(void)state;
	core_start(1);
	assert_int_equal(view_create("a", "x"), 0);
	assert_int_equal(view_link("a", "b"), 0);
	assert_int_equal(view_rename("a", "b", 0), 0);
	assert_text("a", "x"); /* POSIX: nothing is done */
	assert_text("b", "x");
	assert_int_equal(view_rename("a", "c", 0), 0);
	assert_gone("a");
	assert_int_equal(stat_at("c").st_nlink, 2);
}

/* The number of what can't carry its origin, too. */
static void numbers_stay(void **state)
{
	static const char *const names[] = {"link", "fifo", "file", "dir"};
	char to[16];

	(void)state;
	make_link("base/link", "x");
	make_fifo("base/fifo");
	make_file("base/file", "f");
	make_dir("base/dir");
	core_start(1);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		uint64_t ino = stat_at(names[i]).st_ino;

		snprintf(to, sizeof(to), "new-%s", names[i]);
		assert_int_equal(view_rename(names[i], to, 0), 0);
		assert_int_equal(stat_at(to).st_ino, ino);
	}
}

/* Somebody gives a base file another name after the view has copied it: two
 * files with one number of the disk. */
static void a_number_that_the_base_has_again(void **state)
{
	struct stat kept;
	struct stat other;

	(void)state;
	make_file("base/f", "f");
	core_start(1);
	assert_int_equal(view_write("f", "F", 0), 0);
	kept = stat_at("f");
	assert_int_equal(rename("base/f", "base/g"), 0);
	other = stat_at("g");
	assert_int_not_equal(other.st_ino, kept.st_ino);
	assert_int_equal(view_write("g", "G", 0), 0);
	assert_int_equal(stat_at("g").st_ino, other.st_ino);
	/* One that is made with it is told apart, too. */
	assert_int_equal(rename("base/g", "upper/made"), 0);
	assert_int_equal(stat_at("made").st_ino, other.st_ino);
	core_restart();
	assert_int_equal(stat_at("f").st_ino, kept.st_ino);
	assert_int_equal(stat_at("g").st_ino, other.st_ino);
	assert_text("f", "F");
	assert_text("g", "G");
	assert_int_not_equal(numbers_variant(other.st_ino), 0);
}

static void in_removed_directories(void **state)
{
	struct node *dir;

	(void)state;
	make_dir("base/d");
	make_file("base/f", "f");
	core_start(1);
	dir = at("d");
	assert_int_equal(view_rmdir("d"), 0);
	assert_int_equal(op_rename(&fs, fs.root, "f", dir, "f", 0, &caller),
			 -ENOENT);
	assert_int_equal(op_rename(&fs, dir, "f", fs.root, "g", 0, &caller),
			 -ENOENT);
	assert_text("f", "f");
	node_put(&fs.nodes, dir);
}

static void with_several_lowers(void **state)
{
	(void)state;
	make_dir("base/a");
	make_dir("base2/a");
	make_file("base/a/1", "1");
	make_file("base2/a/2", "2");
	make_dir("base2/only2");
	make_file("base2/only2/f", "f");
	core_start(2);
	assert_int_equal(view_rename("a", "b", 0), 0);
	assert_int_equal(view_rename("only2", "b/c", 0), 0);
	assert_text("b/1", "1");
	assert_text("b/2", "2");
	assert_text("b/c/f", "f");
	core_restart();
	assert_text("b/1", "1");
	assert_text("b/2", "2");
	assert_text("b/c/f", "f");
	assert_gone("a");
	assert_gone("only2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(matrix_to_other_directory),
		CORE_TEST(matrix_to_new_directory),
		CORE_TEST(matrix_in_one_directory),
		CORE_TEST(matrix_noreplace),
		CORE_TEST(matrix_exchange),
		CORE_TEST(matrix_exchange_in_one_directory),
		CORE_TEST(other_flags),
		CORE_TEST(directory_into_itself),
		CORE_TEST(redirects_repeated),
		CORE_TEST(exchanged_directories),
		CORE_TEST(constant_time),
		CORE_TEST(children_follow),
		CORE_TEST(links_of_one_file),
		CORE_TEST(numbers_stay),
		CORE_TEST(a_number_that_the_base_has_again),
		CORE_TEST(in_removed_directories),
		CORE_TEST(with_several_lowers),
	};

	core_prefer_memory();
	core_watches = false;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
