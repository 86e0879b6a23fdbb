#include "lookup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "attr.h"
#include "copyup.h"
#include "core_fixture.h"
#include "file.h"
#include "unit.h"

static void topmost_layer_decides(void **state)
{
	(void)state;
	make_file("base/only1", "1");
	make_file("base2/only2", "2");
	make_file("base3/only3", "3");
	make_file("base/all", "1");
	make_file("base2/all", "2");
	make_file("base3/all", "3");
	make_file("base2/two", "2");
	make_file("base3/two", "3");
	make_file("upper/all", "u");
	make_file("base/in-upper", "1");
	make_file("upper/in-upper", "u");
	core_start(3);
	assert_text("only1", "1");
	assert_text("only2", "2");
	assert_text("only3", "3");
	assert_text("all", "u");
	assert_text("two", "2");
	assert_text("in-upper", "u");
	assert_gone("none");
}

static void directories_merge(void **state)
{
	struct stat st;
	struct stat disk;

	(void)state;
	make_dir("upper/d");
	make_dir("base/d");
	make_dir("base2/d");
	make_dir("base3/d");
	make_file("upper/d/u", "u");
	make_file("base/d/1", "1");
	make_file("base2/d/2", "2");
	make_file("base3/d/3", "3");
	make_dir("base3/d/deep");
	make_file("base3/d/deep/f", "deep");
	core_start(3);
	assert_text("d/u", "u");
	assert_text("d/1", "1");
	assert_text("d/2", "2");
	assert_text("d/3", "3");
	assert_text("d/deep/f", "deep");
	/* Its number is the first base's; "deep" is the only one in it. */
	st = stat_at("d");
	assert_int_equal(lstat("base/d", &disk), 0);
	assert_int_equal(st.st_ino, disk.st_ino);
	assert_int_equal(st.st_nlink, 3);
}

/* As a disk counts: 2, and one for each directory that is shown, whichever
 * layer it is from. A disk that doesn't count is not one to test it on. */
static void links_of_a_merged_directory_are_counted(void **state)
{
	struct stat disk;

	(void)state;
	make_dir("base/d");
	make_dir("base/d/one");
	make_dir("base/d/two");
	make_file("base/d/f", "f");
	make_dir("base2/d");
	make_dir("base2/d/one");
	make_dir("base2/d/f");
	make_dir("base2/d/three");
	make_dir("base2/d/four");
	make_whiteout("base/d/four");
	make_dir("upper/d");
	make_whiteout("upper/d/two");
	make_dir("upper/d/five");
	assert_int_equal(lstat("base/d", &disk), 0);
	if (disk.st_nlink != 4) {
		skip();
	}
	core_start(2);
	/* one, three, five */
	assert_int_equal(stat_at("d").st_nlink, 5);
	assert_int_equal(view_mkdir("d/two"), 0);
	assert_int_equal(stat_at("d").st_nlink, 6);
	assert_int_equal(view_rename("d/one", "d/three", RENAME_EXCHANGE), 0);
	assert_int_equal(view_rename("d/one", "d/three", 0), 0);
	assert_int_equal(stat_at("d").st_nlink, 5);
	assert_int_equal(view_rename("d/three", "three", 0), 0);
	assert_int_equal(stat_at("d").st_nlink, 4);
	assert_int_equal(view_rmdir("d/two"), 0);
	assert_int_equal(view_unlink("d/f"), 0);
	assert_int_equal(stat_at("d").st_nlink, 3);
	core_restart();
	assert_int_equal(stat_at("d").st_nlink, 3);
	/* Somebody changes the base. */
	make_dir("base2/d/six");
	assert_int_equal(stat_at("d").st_nlink, 4);
}

/* What is no directory ends the merge, seen from the top. */
static void file_between_ends_the_merge(void **state)
{
	(void)state;
	make_dir("base/a");
	make_file("base2/a", "file");
	make_dir("base3/a");
	make_file("base/a/1", "1");
	make_file("base3/a/3", "3");
	make_file("base/b", "file");
	make_dir("base2/b");
	make_file("base2/b/2", "2");
	make_file("upper/c", "file");
	make_dir("base/c");
	core_start(3);
	assert_text("a/1", "1");
	assert_gone("a/3");
	assert_text("b", "file");
	assert_text("c", "file");
}

static void whiteouts_hide(void **state)
{
	(void)state;
	make_file("base/by-upper", "1");
	make_whiteout("upper/by-upper");
	make_file("base2/by-base", "2");
	make_whiteout("base/by-base");
	/* The topmost decides: this one is below it. */
	make_file("base/shown", "1");
	make_whiteout("base2/shown");
	make_dir("base/d");
	make_whiteout("base2/d");
	make_dir("base3/d");
	make_file("base3/d/f", "3");
	make_whiteout("upper/alone");
	core_start(3);
	assert_gone("by-upper");
	assert_gone("by-base");
	assert_text("shown", "1");
	assert_there("d");
	assert_gone("d/f");
	assert_gone("alone");
}

static void opaque_ends_the_merge(void **state)
{
	(void)state;
	make_dir("upper/u");
	make_opaque("upper/u");
	make_dir("base/u");
	make_file("base/u/1", "1");
	make_dir("base/b");
	make_opaque("base/b");
	make_file("base/b/1", "1");
	make_dir("base2/b");
	make_file("base2/b/2", "2");
	make_dir("base2/last");
	make_opaque("base2/last");
	make_file("base2/last/2", "2");
	make_dir("base3/last");
	make_file("base3/last/3", "3");
	/* Only "y" means it. */
	make_dir("upper/x");
	set_attr("upper/x", "user.overlay.opaque", "x");
	make_dir("base/x");
	make_file("base/x/1", "1");
	core_start(3);
	assert_gone("u/1");
	assert_text("b/1", "1");
	assert_gone("b/2");
	assert_text("last/2", "2");
	assert_gone("last/3");
	assert_text("x/1", "1");
}

static void redirect_is_followed(void **state)
{
	(void)state;
	make_dir("base/a");
	make_dir("base/a/b");
	make_file("base/a/b/f", "f");
	make_dir("base/new");
	make_file("base/new/hidden", "h");
	make_dir("upper/new");
	set_attr("upper/new", "user.overlay.redirect", "/a/b");
	make_file("upper/new/u", "u");
	/* Beneath it names count, as ever. */
	make_dir("base/a/b/c");
	make_file("base/a/b/c/g", "g");
	make_dir("upper/new/c");
	core_start(1);
	assert_text("new/f", "f");
	assert_text("new/u", "u");
	assert_text("new/c/g", "g");
	assert_gone("new/hidden");
	assert_text("a/b/f", "f");
}

/* What it points to is what the lowers together show. */
static void redirect_into_merged_lowers(void **state)
{
	(void)state;
	make_dir("base/a");
	make_dir("base2/a");
	make_dir("base3/a");
	make_file("base/a/1", "1");
	make_file("base2/a/2", "2");
	make_opaque("base2/a");
	make_file("base3/a/3", "3");
	make_dir("upper/new");
	set_attr("upper/new", "user.overlay.redirect", "/a");
	core_start(3);
	assert_text("new/1", "1");
	assert_text("new/2", "2");
	assert_gone("new/3");
}

static void redirect_to_nothing_is_empty(void **state)
{
	static const char *const paths[] = {"/none", "/f", "/link", "/f/x",
					    "/link/x"};
	char name[8] = "upper/0";

	(void)state;
	make_file("base/f", "f");
	make_dir("base/real");
	make_file("base/real/x", "x");
	make_link("base/link", "real");
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		name[6] = (char)('0' + i);
		make_dir(name);
		set_attr(name, "user.overlay.redirect", paths[i]);
	}
	core_start(1);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		char below[8] = "0/x";

		below[0] = (char)('0' + i);
		if (error_at(below) != -ENOENT) {
			print_error("redirect '%s': %d\n", paths[i],
				    error_at(below));
		}
		assert_gone(below);
	}
}

/* Corrupt attributes: that entry is EIO, the rest works. */

static void corrupt_redirect(void **state)
{
	static const char *const bad[] = {
		"relative",     "/",     "//a",      "/a//b",
		"/../secret",   "/a/..", "/a/./b",   "/a/",
		"/a/../../etc", "/.",    "../base2",
	};
	char name[16];

	(void)state;
	make_dir("base/a");
	make_dir("base/a/b");
	make_dir("secret");
	make_dir("upper/good");
	make_file("upper/good/f", "f");
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(name, sizeof(name), "upper/%zu", i);
		make_dir(name);
		set_attr(name, "user.overlay.redirect", bad[i]);
	}
	make_dir("upper/nul");
	assert_int_equal(
		lsetxattr("upper/nul", "user.overlay.redirect", "/a\0b", 4, 0),
		0);
	core_start(1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(name, sizeof(name), "%zu", i);
		if (error_at(name) != -EIO) {
			print_error("redirect '%s': %d\n", bad[i],
				    error_at(name));
		}
		assert_int_equal(error_at(name), -EIO);
	}
	assert_int_equal(error_at("nul"), -EIO);
	assert_text("good/f", "f");
	assert_there("a/b");
}

static void corrupt_origin(void **state)
{
	char wrong_version[48] = {2};

	(void)state;
	make_file("upper/short", "s");
	set_attr("upper/short", "user.legato.origin", "x");
	make_file("upper/version", "v");
	assert_int_equal(lsetxattr("upper/version", "user.legato.origin",
				   wrong_version, sizeof(wrong_version), 0),
			 0);
	make_file("upper/empty", "e");
	set_attr("upper/empty", "user.legato.origin", "");
	make_file("upper/long", "l");
	set_attr("upper/long", "user.legato.origin",
		 "0123456789012345678901234567890123456789012345678901234567");
	make_file("upper/good", "g");
	make_file("base/base", "b");
	core_start(1);
	assert_int_equal(error_at("short"), -EIO);
	assert_int_equal(error_at("version"), -EIO);
	assert_int_equal(error_at("empty"), -EIO);
	assert_int_equal(error_at("long"), -EIO);
	assert_text("good", "g");
	assert_text("base", "b");
}

/* Nothing leads out of a layer, and nothing special is opened. */

static void links_in_layers_are_not_followed(void **state)
{
	char target[16];
	struct node *node;

	(void)state;
	make_dir("secret");
	make_file("secret/f", "secret");
	make_link("base/rel", "../secret");
	make_link("base/abs", "/etc");
	make_link("upper/up", "../secret");
	make_link("base/file", "../secret/f");
	/* A directory below, a link above, and the other way round. */
	make_dir("base2/rel");
	make_file("base2/rel/g", "g");
	core_start(2);
	assert_true(S_ISLNK(stat_at("rel").st_mode));
	assert_true(S_ISLNK(stat_at("abs").st_mode));
	assert_true(S_ISLNK(stat_at("up").st_mode));
	node = at("file");
	assert_true(S_ISLNK(node->type));
	assert_int_equal(op_readlink(node, target, sizeof(target)), 11);
	assert_memory_equal(target, "../secret/f", 11);
	node_put(&fs.nodes, node);
}

/* A base directory is replaced by a link while it is known. */
static void directory_that_became_a_link(void **state)
{
	struct node *dir;
	struct entry entry;

	(void)state;
	make_dir("secret");
	make_file("secret/f", "secret");
	make_dir("base/d");
	make_dir("base/d/e");
	make_file("base/d/e/f", "f");
	core_start(1);
	dir = at("d/e");
	assert_text("d/e/f", "f");
	for (uint64_t id = 1; id <= dir->id; id++) {
		fdcache_drop(&fs.dir_fds, id, VIEW_SLOT_LOWER(0));
	}
	assert_int_equal(rename("base/d", "away"), 0);
	make_dir("base/d");
	make_link("base/d/e", "../../secret");
	assert_int_equal(op_lookup(&fs, dir, "f", &entry, NULL), -ENOENT);
	assert_int_equal(unlink("base/d/e"), 0);
	assert_int_equal(rmdir("base/d"), 0);
	make_link("base/d", "../away");
	assert_int_equal(op_lookup(&fs, dir, "f", &entry, NULL), -ENOENT);
	node_put(&fs.nodes, dir);
}

/* A file that was looked up becomes something that must not be opened. */
static void file_that_became_special(void **state)
{
	struct node *node;
	bool keep;
	char byte;

	(void)state;
	make_file("secret", "secret");
	make_file("base/f", "f");
	core_start(1);
	node = at("f");
	assert_int_equal(unlink("base/f"), 0);
	make_fifo("base/f"); /* opening it would wait for a writer */
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), -ESTALE);
	assert_true(op_read(node, &byte, 1, 0) < 0);
	assert_int_equal(copyup_ensure(&fs, node), -ESTALE);
	assert_int_equal(unlink("base/f"), 0);
	make_link("base/f", "../secret");
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), -ESTALE);
	assert_int_equal(op_read(node, &byte, 1, 0), -ESTALE);
	assert_int_equal(copyup_ensure(&fs, node), -ESTALE);
	node_put(&fs.nodes, node);
	assert_int_equal(count_entries("upper"), 0);
	assert_int_equal(count_entries("work"), 0);
}

static void special_files_are_only_shown(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX,
				      .sun_path = "base/socket"};
	int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct node *node;
	bool keep;

	(void)state;
	make_fifo("base/fifo");
	assert_int_equal(
		bind(socket_fd, (struct sockaddr *)&address, sizeof(address)),
		0);
	close(socket_fd);
	core_start(1);
	assert_true(S_ISFIFO(stat_at("fifo").st_mode));
	assert_true(S_ISSOCK(stat_at("socket").st_mode));
	node = at("fifo");
	assert_true(op_open(&fs, node, O_RDONLY, &caller, &keep) < 0);
	node_put(&fs.nodes, node);
	node = at("socket");
	assert_true(op_open(&fs, node, O_RDONLY, &caller, &keep) < 0);
	node_put(&fs.nodes, node);
}

static void devices_are_never_opened(void **state)
{
	struct node *node;
	bool keep;

	(void)state;
	/* 1:99 has no driver: opening it would be ENXIO, not -EXIO of ours. */
	if (mknod("base/device", S_IFCHR | 0666, makedev(1, 3))) {
		skip();
	}
	core_start(1);
	node = at("device");
	assert_true(S_ISCHR(node->type));
	assert_int_equal(stat_at("device").st_rdev, makedev(1, 3));
	assert_true(op_open(&fs, node, O_RDWR, &caller, &keep) < 0);
	node_put(&fs.nodes, node);
	assert_int_equal(view_chmod("device", 0600), 0);
	assert_int_equal(stat_at("device").st_rdev, makedev(1, 3));
	assert_int_equal(stat_at("device").st_mode & 07777, 0600);
}

/* Numbers and names */

static void numbers_are_the_base_s(void **state)
{
	struct stat disk;
	struct stat before;

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "f");
	core_start(1);
	assert_int_equal(lstat("base/d/f", &disk), 0);
	before = stat_at("d/f");
	assert_int_equal(before.st_ino, disk.st_ino);
	assert_int_equal(view_write("d/f", "changed", 0), 0);
	assert_true(on_disk("upper/d/f"));
	assert_int_equal(stat_at("d/f").st_ino, disk.st_ino);
	core_restart();
	assert_int_equal(stat_at("d/f").st_ino, disk.st_ino);
	assert_int_equal(lstat("base/d", &disk), 0);
	assert_int_equal(stat_at("d").st_ino, disk.st_ino);
	assert_int_equal(lstat("base", &disk), 0);
	assert_int_equal(stat_at("").st_ino, disk.st_ino);
}

static void node_is_the_same_across_copy_up(void **state)
{
	struct node *before;
	struct node *after;

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "f");
	core_start(1);
	before = at("d/f");
	assert_int_equal(view_write("d/f", "g", 0), 0);
	after = at("d/f");
	assert_ptr_equal(before, after);
	node_put(&fs.nodes, after);
	node_put(&fs.nodes, before);
	before = at("d");
	assert_int_equal(view_chmod("d", 0700), 0);
	after = at("d");
	assert_ptr_equal(before, after);
	node_put(&fs.nodes, after);
	node_put(&fs.nodes, before);
}

static void odd_names(void **state)
{
	char name[262] = "base/";

	(void)state;
	memset(name + 5, 0xff, 255);
	make_file(name, "long");
	make_file("base/a\nb", "newline");
	make_file("base/.wh.x", "not a whiteout");
	make_file("base/ ", "space");
	core_start(1);
	assert_text(name + 5, "long");
	assert_text("a\nb", "newline");
	assert_text(".wh.x", "not a whiteout");
	assert_text(" ", "space");
	assert_int_equal(view_unlink(name + 5), 0);
	assert_gone(name + 5);
	memcpy(name, "uppe/", 5);
	assert_int_equal(rename("upper", "uppe"), 0);
	assert_true(is_whiteout(name));
	assert_int_equal(rename("uppe", "upper"), 0);
}

static void without_lowers(void **state)
{
	(void)state;
	make_file("upper/f", "f");
	make_dir("upper/d");
	core_start(0);
	assert_text("f", "f");
	assert_there("d");
	assert_gone("x");
	assert_int_equal(view_mkdir("d/e"), 0);
	assert_false(is_opaque("upper/d/e"));
	assert_int_equal(view_unlink("f"), 0);
	assert_false(on_disk("upper/f"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(topmost_layer_decides),
		CORE_TEST(directories_merge),
		CORE_TEST(file_between_ends_the_merge),
		CORE_TEST(whiteouts_hide),
		CORE_TEST(opaque_ends_the_merge),
		CORE_TEST(redirect_is_followed),
		CORE_TEST(redirect_into_merged_lowers),
		CORE_TEST(redirect_to_nothing_is_empty),
		CORE_TEST(corrupt_redirect),
		CORE_TEST(corrupt_origin),
		CORE_TEST(links_of_a_merged_directory_are_counted),
		CORE_TEST(links_in_layers_are_not_followed),
		CORE_TEST(directory_that_became_a_link),
		CORE_TEST(file_that_became_special),
		CORE_TEST(special_files_are_only_shown),
		CORE_TEST(devices_are_never_opened),
		CORE_TEST(numbers_are_the_base_s),
		CORE_TEST(node_is_the_same_across_copy_up),
		CORE_TEST(odd_names),
		CORE_TEST(without_lowers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
