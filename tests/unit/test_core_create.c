#include "create.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "attr.h"
#include "core_fixture.h"
#include "dirlist.h"
#include "file.h"
#include "unit.h"
#include "unlink.h"

/* As rm does; what was there may be in the base. */
static void remove_and(int (*make)(const char *path), const char *path,
		       int (*remove)(const char *path))
{
	assert_int_equal(remove(path), 0);
	assert_true(is_whiteout("upper/x"));
	assert_int_equal(make(path), 0);
	assert_there(path);
}

static int create_empty(const char *path)
{
	return view_create(path, "new");
}

static int symlink_to_nothing(const char *path)
{
	return view_symlink(path, "nothing");
}

static int make_node_fifo(const char *path)
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

static void plain_new_files(void **state)
{
	struct stat st;

	(void)state;
	make_dir("base/d");
	core_start(1);
	assert_int_equal(view_create("d/f", "text"), 0);
	assert_int_equal(view_mkdir("d/dir"), 0);
	assert_int_equal(view_symlink("d/l", "target"), 0);
	assert_int_equal(make_node_fifo("d/p"), 0);
	assert_text("d/f", "text");
	assert_true(S_ISDIR(stat_at("d/dir").st_mode));
	assert_true(S_ISLNK(stat_at("d/l").st_mode));
	assert_true(S_ISFIFO(stat_at("d/p").st_mode));
	assert_int_equal(view_create("d/f", ""), -EEXIST);
	assert_int_equal(view_mkdir("d/f"), -EEXIST);
	assert_int_equal(view_symlink("d/dir", "x"), -EEXIST);
	assert_int_equal(make_node_fifo("d/l"), -EEXIST);
	assert_int_equal(lstat("upper/d/f", &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0644);
	assert_int_equal(count_entries("work"), 0);
	core_restart();
	assert_text("d/f", "text");
}

static void over_a_whiteout(void **state)
{
	(void)state;
	make_file("base/x", "base");
	core_start(1);
	remove_and(create_empty, "x", view_unlink);
	assert_text("x", "new");
	remove_and(symlink_to_nothing, "x", view_unlink);
	remove_and(make_node_fifo, "x", view_unlink);
	remove_and(view_mkdir, "x", view_unlink);
	assert_int_equal(view_rmdir("x"), 0);
	assert_true(is_whiteout("upper/x"));
	assert_int_equal(view_create("other", "linked"), 0);
	assert_int_equal(view_link("other", "x"), 0);
	assert_text("x", "linked");
	assert_int_equal(stat_at("x").st_nlink, 2);
	assert_int_equal(count_entries("work"), 0);
	core_restart();
	assert_text("x", "linked");
	assert_int_equal(view_unlink("x"), 0);
	assert_true(is_whiteout("upper/x"));
	assert_int_equal(stat_at("other").st_nlink, 1);
}

static void over_a_whiteout_modes_and_owner(void **state)
{
	struct caller other = {1234, 2345, 1, 0, 0};
	struct entry entry;
	struct stat st;

	(void)state;
	make_file("base/f", "base");
	make_file("base/d", "base");
	make_file("base/g", "base");
	assert_int_equal(chmod("base", 0777), 0);
	core_start(1);
	assert_int_equal(view_unlink("f"), 0);
	assert_int_equal(view_unlink("d"), 0);
	other = geteuid() ? caller : other;
	assert_int_equal(op_create(&fs, fs.root, "f", 06751, &other, &entry),
			 0);
	op_release(entry.node);
	node_put(&fs.nodes, entry.node);
	assert_int_equal(op_mkdir(&fs, fs.root, "d", 01771, &other, &entry), 0);
	node_put(&fs.nodes, entry.node);
	st = stat_at("f");
	assert_int_equal(st.st_uid, other.uid);
	assert_int_equal(st.st_gid, other.gid);
	assert_int_equal(st.st_mode & 01777, 0751);
	st = stat_at("d");
	assert_int_equal(st.st_uid, other.uid);
	assert_int_equal(st.st_gid, other.gid);
	assert_int_equal(st.st_mode & 07777, 01771);
	/* The same as where no whiteout is. */
	assert_int_equal(op_mkdir(&fs, fs.root, "e", 01771, &other, &entry), 0);
	node_put(&fs.nodes, entry.node);
	assert_int_equal(stat_at("e").st_mode, st.st_mode);
	assert_int_equal(stat_at("e").st_uid, st.st_uid);
}

/* The group comes from a set-gid directory, and so does its bit. */
static void set_gid_directories(void **state)
{
	struct entry entry;

	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	make_dir("base/s");
	assert_int_equal(chown("base/s", 0, 4321), 0);
	assert_int_equal(chmod("base/s", 02777), 0);
	make_file("base/s/gone", "");
	make_file("base/s/gone2", "");
	core_start(1);
	assert_int_equal(view_unlink("s/gone"), 0);
	assert_int_equal(view_unlink("s/gone2"), 0);
	for (int over = 0; over < 2; over++) {
		struct node *dir = at("s");
		const char *name = over ? "gone" : "d";
		struct stat st;

		assert_int_equal(
			op_mkdir(&fs, dir, name, 0755, &caller, &entry), 0);
		assert_int_equal(op_getattr(&fs, entry.node, &st), 0);
		assert_int_equal(st.st_gid, 4321);
		assert_int_equal(st.st_mode & 07777, 02755);
		node_put(&fs.nodes, entry.node);
		name = over ? "gone2" : "f";
		assert_int_equal(
			op_create(&fs, dir, name, 0644, &caller, &entry), 0);
		assert_int_equal(op_getattr(&fs, entry.node, &st), 0);
		assert_int_equal(st.st_gid, 4321);
		assert_int_equal(st.st_mode & 07777, 0644);
		op_release(entry.node);
		node_put(&fs.nodes, entry.node);
		node_put(&fs.nodes, dir);
	}
}

static void directory_over_a_whiteout_is_opaque(void **state)
{
	(void)state;
	make_dir("base/x");
	make_file("base/x/f", "base");
	core_start(1);
	assert_int_equal(view_unlink("x/f"), 0);
	assert_int_equal(view_rmdir("x"), 0);
	assert_int_equal(view_mkdir("x"), 0);
	assert_true(is_opaque("upper/x"));
	assert_gone("x/f");
	core_restart();
	assert_gone("x/f");
	assert_int_equal(view_create("x/f", "new"), 0);
	assert_text("x/f", "new");
	assert_int_equal(view_unlink("x/f"), 0);
	assert_false(on_disk("upper/x/f")); /* no whiteout is needed */
}

/* What the base gets later under the name stays hidden. */
static void base_entry_that_appears_later(void **state)
{
	(void)state;
	make_dir("base/d");
	core_start(1);
	assert_int_equal(view_mkdir("dir"), 0);
	assert_int_equal(view_mkdir("d/dir"), 0);
	assert_int_equal(view_create("file", "new"), 0);
	make_dir("base/dir");
	make_file("base/dir/f", "base");
	make_dir("base/d/dir");
	make_file("base/d/dir/f", "base");
	make_file("base/file", "base");
	assert_gone("dir/f");
	assert_gone("d/dir/f");
	assert_text("file", "new");
	core_restart();
	assert_gone("dir/f");
	assert_gone("d/dir/f");
	assert_text("file", "new");
	assert_true(is_opaque("upper/dir"));
	/* And what goes then leaves a whiteout. */
	assert_int_equal(view_unlink("file"), 0);
	assert_true(is_whiteout("upper/file"));
	assert_int_equal(view_rmdir("dir"), 0);
	assert_true(is_whiteout("upper/dir"));
}

/* The same where the directory above is new itself: nothing can appear. */
static void below_a_new_directory_nothing_is_marked(void **state)
{
	(void)state;
	core_start(1);
	assert_int_equal(view_mkdir("a"), 0);
	assert_int_equal(view_mkdir("a/b"), 0);
	assert_true(is_opaque("upper/a"));
	assert_false(is_opaque("upper/a/b"));
}

static void base_file_that_appears_while_creating(void **state)
{
	(void)state;
	make_dir("base/d");
	core_start(1);
	assert_gone("d/f");
	make_file("base/d/f", "base");
	/* Created over it: as with O_EXCL, it is there. */
	assert_int_equal(view_create("d/f", "new"), -EEXIST);
	assert_text("d/f", "base");
	assert_int_equal(view_mkdir("d/f"), -EEXIST);
	assert_int_equal(view_symlink("d/f", "x"), -EEXIST);
	assert_int_equal(view_create("new", ""), 0);
	assert_int_equal(view_link("new", "d/f"), -EEXIST);
	assert_text("d/f", "base");
}

static void nameless(void **state)
{
	struct entry entry;
	struct stat st;
	struct node *parent;

	(void)state;
	make_dir("base/d");
	make_file("base/d/was", "base");
	core_start(1);
	assert_int_equal(view_unlink("d/was"), 0);
	parent = at("d");
	assert_int_equal(op_tmpfile(&fs, parent, 0640, &caller, &entry), 0);
	assert_int_equal(op_write(&fs, entry.node, "text", 4, 0, &caller), 4);
	assert_int_equal(op_getattr(&fs, entry.node, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	assert_int_equal(count_entries("upper/d"), 1); /* the whiteout */
	{
		struct entry linked;

		assert_int_equal(
			op_link(&fs, entry.node, parent, "f", &caller, &linked),
			0);
		assert_ptr_equal(linked.node, entry.node);
		node_put(&fs.nodes, linked.node);
		assert_int_equal(
			op_link(&fs, entry.node, parent, "f", &caller, &linked),
			-EEXIST);
		assert_int_equal(op_link(&fs, entry.node, parent, "was",
					 &caller, &linked),
				 0);
		node_put(&fs.nodes, linked.node);
	}
	assert_text("d/f", "text");
	assert_text("d/was", "text");
	assert_int_equal(stat_at("d/f").st_nlink, 2);
	assert_int_equal(op_write(&fs, entry.node, "T", 1, 0, &caller), 1);
	assert_text("d/was", "Text");
	op_release(entry.node);
	node_put(&fs.nodes, entry.node);
	/* One that never gets a name leaves nothing. */
	assert_int_equal(op_tmpfile(&fs, parent, 0600, &caller, &entry), 0);
	op_release(entry.node);
	node_put(&fs.nodes, entry.node);
	node_put(&fs.nodes, parent);
	assert_int_equal(count_entries("work"), 0);
}

static void in_a_removed_directory(void **state)
{
	struct entry entry;
	struct node *dir;

	(void)state;
	make_dir("base/d");
	core_start(1);
	dir = at("d");
	assert_int_equal(view_rmdir("d"), 0);
	assert_int_equal(op_create(&fs, dir, "f", 0644, &caller, &entry),
			 -ENOENT);
	assert_int_equal(op_mkdir(&fs, dir, "f", 0755, &caller, &entry),
			 -ENOENT);
	assert_int_equal(op_tmpfile(&fs, dir, 0644, &caller, &entry), -ENOENT);
	node_put(&fs.nodes, dir);
	assert_true(is_whiteout("upper/d"));
	assert_int_equal(view_mkdir("d"), 0);
	dir = at("d");
	assert_int_equal(view_create("x", ""), 0);
	assert_int_equal(view_rmdir("d"), 0);
	{
		struct node *file = at("x");

		assert_int_equal(op_link(&fs, file, dir, "y", &caller, &entry),
				 -ENOENT);
		node_put(&fs.nodes, file);
	}
	node_put(&fs.nodes, dir);
}

static void links(void **state)
{
	struct stat st;

	(void)state;
	make_file("base/f", "base");
	make_dir("base/d");
	core_start(1);
	assert_int_equal(view_link("f", "d/g"), 0);
	st = stat_at("f");
	assert_int_equal(st.st_nlink, 2);
	assert_int_equal(stat_at("d/g").st_ino, st.st_ino);
	assert_int_equal(view_write("d/g", "B", 0), 0);
	assert_text("f", "Base");
	assert_int_equal(view_link("d", "e"), -EPERM);
	assert_int_equal(view_unlink("f"), 0);
	assert_text("d/g", "Base");
	assert_int_equal(stat_at("d/g").st_nlink, 1);
	core_restart();
	assert_text("d/g", "Base");
	assert_int_equal(stat_at("d/g").st_ino, st.st_ino);
}

#define LINK_ROUNDS 3000

static void *look_up_often(void *data)
{
	struct node *dir = data;

	for (int i = 0; i < LINK_ROUNDS * 4; i++) {
		struct entry entry;

		if (!op_lookup(&fs, dir, "stays", &entry, NULL)) {
			node_put(&fs.nodes, entry.node);
		}
	}
	return NULL;
}

/* A file that has a name left must never be taken for one without. */
static void one_name_goes_while_another_is_looked_up(void **state)
{
	struct node *dir;
	struct node *node;
	pthread_t thread;
	unsigned int lost = 0;

	(void)state;
	core_start(1);
	assert_int_equal(view_mkdir("d"), 0);
	assert_int_equal(view_create("d/stays", "text"), 0);
	dir = at("d");
	node = at("d/stays");
	assert_int_equal(pthread_create(&thread, NULL, look_up_often, dir), 0);
	for (int i = 0; i < LINK_ROUNDS; i++) {
		struct stat st;

		assert_int_equal(view_link("d/stays", "goes"), 0);
		assert_int_equal(view_unlink("goes"), 0);
		lost += op_getattr(&fs, node, &st) != 0;
	}
	pthread_join(thread, NULL);
	node_put(&fs.nodes, dir);
	node_put(&fs.nodes, node);
	assert_int_equal(lost, 0);
}

static void whiteout_of_a_program(void **state)
{
	struct entry entry;
	struct dirlist *list;

	(void)state;
	make_file("base/f", "base");
	core_start(1);
	assert_int_equal(view_unlink("f"), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(op_mknod(&fs, fs.root, i ? "new" : "f",
					  S_IFCHR | 0600, 0, &caller, &entry),
				 0);
		node_put(&fs.nodes, entry.node);
	}
	assert_true(S_ISCHR(stat_at("f").st_mode));
	assert_true(S_ISCHR(stat_at("new").st_mode));
	assert_int_equal(stat_at("f").st_rdev, makedev(0, 0));
	core_restart();
	assert_true(S_ISCHR(stat_at("new").st_mode));
	assert_int_equal(dirlist_current(&fs, fs.root, &list), 0);
	assert_int_equal(list->count, 4);
	dirlist_put(list);
	assert_int_equal(view_unlink("f"), 0);
	assert_gone("f");
	assert_int_equal(view_unlink("new"), 0);
	assert_false(on_disk("upper/new"));
}

static void removing(void **state)
{
	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "f");
	make_file("base/f", "f");
	core_start(1);
	assert_int_equal(view_rmdir("d"), -ENOTEMPTY);
	assert_int_equal(view_rmdir("f"), -ENOTDIR);
	assert_int_equal(view_unlink("d"), -EISDIR);
	assert_int_equal(view_unlink("none"), -ENOENT);
	assert_int_equal(view_rmdir("none"), -ENOENT);
	assert_int_equal(view_unlink("d/f"), 0);
	assert_int_equal(view_unlink("d/f"), -ENOENT);
	assert_int_equal(view_rmdir("d"), 0);
	assert_int_equal(view_rmdir("d"), -ENOENT);
	assert_true(is_whiteout("upper/d"));
	assert_int_equal(view_create("new", ""), 0);
	assert_int_equal(view_unlink("new"), 0);
	assert_false(on_disk("upper/new"));
	assert_int_equal(count_entries("work"), 0);
	core_restart();
	assert_gone("d");
	assert_there("f");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(plain_new_files),
		CORE_TEST(over_a_whiteout),
		CORE_TEST(over_a_whiteout_modes_and_owner),
		CORE_TEST(set_gid_directories),
		CORE_TEST(directory_over_a_whiteout_is_opaque),
		CORE_TEST(base_entry_that_appears_later),
		CORE_TEST(below_a_new_directory_nothing_is_marked),
		CORE_TEST(base_file_that_appears_while_creating),
		CORE_TEST(nameless),
		CORE_TEST(in_a_removed_directory),
		CORE_TEST(links),
		CORE_TEST(one_name_goes_while_another_is_looked_up),
		CORE_TEST(whiteout_of_a_program),
		CORE_TEST(removing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
