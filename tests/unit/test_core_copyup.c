#include "copyup.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>

#include "attr.h"
#include "core_fixture.h"
#include "create.h"
#include "dirlist.h"
#include "file.h"
#include "origin_format.h"
#include "rename.h"
#include "unit.h"
#include "unlink.h"

#define MIB 1048576L

static void ensure(const char *path)
{
	struct node *node = at(path);

	assert_int_equal(copyup_ensure(&fs, node), 0);
	assert_true(node_in_upper(node));
	node_put(&fs.nodes, node);
}

static struct stat disk_stat(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st;
}

static void assert_same_time(struct timespec a, struct timespec b)
{
	assert_int_equal(a.tv_sec, b.tv_sec);
	assert_int_equal(a.tv_nsec, b.tv_nsec);
}

/* All of stat that a copy keeps. */
static void assert_same_file(const char *a_path, const char *b_path)
{
	struct stat a = disk_stat(a_path);
	struct stat b = disk_stat(b_path);

	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_uid, b.st_uid);
	assert_int_equal(a.st_gid, b.st_gid);
	assert_int_equal(a.st_size, b.st_size);
	assert_int_equal(a.st_rdev, b.st_rdev);
	assert_same_time(a.st_mtim, b.st_mtim);
	/* readlink(2) itself changes it, and can't be told not to. */
	if (!S_ISLNK(a.st_mode)) {
		assert_same_time(a.st_atim, b.st_atim);
	}
}

static void nothing_is_left_in_work(void)
{
	assert_int_equal(count_entries("work"), 0);
}

static void file_is_the_same(void **state)
{
	struct timespec times[2] = {{OLD_TIME, 1}, {OLD_TIME, 2}};
	char value[16];

	(void)state;
	make_file("base/f", "content");
	set_attr("base/f", "user.a", "1");
	set_attr("base/f", "user.empty", "");
	set_attr("base/f", "user.legato.origin", "the base's own");
	assert_int_equal(chmod("base/f", 0640), 0);
	assert_int_equal(utimensat(AT_FDCWD, "base/f", times, 0), 0);
	core_start(1);
	ensure("f");
	assert_same_file("base/f", "upper/f");
	assert_text("f", "content");
	assert_int_equal(getxattr("upper/f", "user.a", value, sizeof(value)),
			 1);
	assert_int_equal(
		getxattr("upper/f", "user.empty", value, sizeof(value)), 0);
	/* Our own, not the base's. */
	assert_int_equal(getxattr("upper/f", ORIGIN_ATTR, NULL, 0),
			 sizeof(struct origin_record));
	nothing_is_left_in_work();
}

/* Owner, and the bits that changing the owner clears. */
static void owner_and_set_id_bits(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	make_file("base/f", "f");
	make_dir("base/d");
	make_link("base/l", "x");
	make_fifo("base/p");
	assert_int_equal(chown("base/f", 1234, 2345), 0);
	assert_int_equal(chmod("base/f", 06755), 0);
	assert_int_equal(chown("base/d", 1234, 2345), 0);
	assert_int_equal(chmod("base/d", 03775), 0);
	assert_int_equal(lchown("base/l", 1234, 2345), 0);
	assert_int_equal(chown("base/p", 1234, 2345), 0);
	core_start(1);
	ensure("f");
	ensure("d");
	ensure("l");
	ensure("p");
	assert_same_file("base/f", "upper/f");
	assert_same_file("base/d", "upper/d");
	assert_same_file("base/l", "upper/l");
	assert_same_file("base/p", "upper/p");
}

static void capabilities_are_kept(void **state)
{
	static const unsigned char cap[20] = {1, 0, 0, 2, 0, 4};
	unsigned char copied[32];

	(void)state;
	make_file("base/f", "f");
	if (geteuid() != 0 ||
	    setxattr("base/f", "security.capability", cap, sizeof(cap), 0)) {
		skip();
	}
	core_start(1);
	ensure("f");
	assert_int_equal(getxattr("upper/f", "security.capability", copied,
				  sizeof(copied)),
			 sizeof(cap));
	assert_memory_equal(copied, cap, sizeof(cap));
}

static void other_types(void **state)
{
	char target[16];

	(void)state;
	make_link("base/l", "../else");
	make_fifo("base/p");
	make_dir("base/d");
	make_file("base/d/f", "f");
	core_start(1);
	ensure("l");
	ensure("p");
	ensure("d");
	assert_same_file("base/l", "upper/l");
	assert_same_file("base/p", "upper/p");
	assert_int_equal(readlink("upper/l", target, sizeof(target)), 7);
	assert_int_equal(disk_stat("upper/d").st_mode,
			 disk_stat("base/d").st_mode);
	/* A directory comes alone, and still merges. */
	assert_int_equal(count_entries("upper/d"), 0);
	assert_false(is_opaque("upper/d"));
	assert_text("d/f", "f");
	nothing_is_left_in_work();
}

static void modes_are_exact(void **state)
{
	char base[16];
	char upper[16];

	(void)state;
	for (unsigned int mode = 0; mode <= 0777; mode += 0111) {
		snprintf(base, sizeof(base), "base/%03o", mode);
		make_file(base, "x");
		assert_int_equal(chmod(base, mode), 0);
	}
	core_start(1);
	for (unsigned int mode = 0; mode <= 0777; mode += 0111) {
		snprintf(base, sizeof(base), "base/%03o", mode);
		snprintf(upper, sizeof(upper), "upper/%03o", mode);
		/* An ordinary user may not read it from the base. */
		if (geteuid() == 0 || mode & S_IRUSR) {
			ensure(base + 5);
			assert_same_file(base, upper);
		}
	}
}

static void holes_stay_holes(void **state)
{
	int fd = open("base/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "begin", 5, 0), 5);
	assert_int_equal(pwrite(fd, "middle", 6, 512 * MIB), 6);
	assert_int_equal(ftruncate(fd, 2048 * MIB), 0);
	close(fd);
	core_start(1);
	ensure("f");
	st = disk_stat("upper/f");
	assert_int_equal(st.st_size, 2048 * MIB);
	assert_true(st.st_blocks * 512 < MIB);
	fd = open("upper/f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(lseek(fd, MIB, SEEK_DATA), 512 * MIB);
	close(fd);
}

static void only_what_is_needed_of_the_data(void **state)
{
	struct attr_change change = {.flags = ATTR_SIZE, .size = 3};
	struct node *node;
	struct stat st;

	(void)state;
	make_file("base/f", "0123456789");
	core_start(1);
	node = at("f");
	assert_int_equal(op_setattr(&fs, node, &change, &caller, &st), 0);
	assert_int_equal(st.st_size, 3);
	assert_string_equal(text_of(node), "012");
	change.size = 6;
	assert_int_equal(op_setattr(&fs, node, &change, &caller, &st), 0);
	assert_int_equal(op_read(node, (char[8]){0}, 8, 0), 6);
	node_put(&fs.nodes, node);
	make_file("base/g", "0123456789");
	node = at("g");
	assert_int_equal(copyup_truncated(&fs, node, 4), 1);
	assert_string_equal(text_of(node), "0123");
	assert_int_equal(copyup_truncated(&fs, node, 2), 0);
	assert_string_equal(text_of(node), "0123");
	node_put(&fs.nodes, node);
	/* It was changed: the time is new. */
	assert_true(stat_at("g").st_mtim.tv_sec > OLD_TIME);
}

static void parents_come_first_and_keep_their_times(void **state)
{
	struct timespec times[2] = {{OLD_TIME, 5}, {OLD_TIME, 6}};
	static const char *const dirs[] = {"base/a", "base/a/b", "base/a/b/c"};
	char upper[32];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		make_dir(dirs[i]);
	}
	make_file("base/a/b/c/f", "f");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		assert_int_equal(utimensat(AT_FDCWD, dirs[i], times, 0), 0);
	}
	assert_int_equal(utimensat(AT_FDCWD, "base", times, 0), 0);
	core_start(1);
	ensure("a/b/c/f");
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		snprintf(upper, sizeof(upper), "upper/%s", dirs[i] + 5);
		assert_same_time(disk_stat(upper).st_mtim, times[1]);
		assert_same_time(stat_at(dirs[i] + 5).st_mtim, times[1]);
	}
	assert_same_time(stat_at("").st_mtim, times[1]);
	nothing_is_left_in_work();
}

static void root_looks_as_the_base_s(void **state)
{
	(void)state;
	assert_int_equal(chmod("base", 0751), 0);
	set_attr("base", "user.a", "1");
	core_start(1);
	assert_int_equal(stat_at("").st_mode & 07777, 0751);
	assert_int_equal(view_chmod("", 0700), 0);
	/* Once in its life: what the program set stays. */
	core_restart();
	assert_int_equal(stat_at("").st_mode & 07777, 0700);
	assert_int_equal(disk_stat("base").st_mode & 07777, 0751);
}

static void base_is_never_written(void **state)
{
	AUTO_BUF before = BUF_INIT;
	AUTO_BUF after = BUF_INIT;
	struct fs other;

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "f");
	make_file("base/g", "g");
	make_link("base/l", "x");
	assert_int_equal(rename("upper", "hidden"), 0);
	make_dir("upper");
	assert_int_equal(core_open(&other, 1), 0);
	assert_int_equal(dump_tree(&other, &before), 0);
	fs_release(&other);
	assert_int_equal(rmdir("upper"), 0);
	assert_int_equal(rename("hidden", "upper"), 0);
	core_start(1);
	assert_int_equal(view_write("d/f", "changed", 0), 0);
	assert_int_equal(view_chmod("g", 0600), 0);
	assert_int_equal(view_unlink("l"), 0);
	assert_int_equal(view_unlink("d/f"), 0);
	assert_int_equal(view_rename("d", "e", 0), 0);
	core_stop();
	assert_int_equal(rename("upper", "hidden"), 0);
	make_dir("upper");
	assert_int_equal(core_open(&other, 1), 0);
	assert_int_equal(dump_tree(&other, &after), 0);
	fs_release(&other);
	assert_string_equal(before.data, after.data);
}

/* Reading does not change the base's access time. */
static void access_time_of_the_base_stays(void **state)
{
	struct timespec times[2] = {{OLD_TIME - 86400 * 3, 1}, {OLD_TIME, 2}};

	(void)state;
	make_file("base/f", "f");
	assert_int_equal(utimensat(AT_FDCWD, "base/f", times, 0), 0);
	core_start(1);
	assert_text("f", "f");
	ensure("f");
	assert_same_time(disk_stat("base/f").st_atim, times[0]);
}

static void twice_is_once(void **state)
{
	(void)state;
	make_file("base/f", "f");
	core_start(1);
	assert_int_equal(view_write("f", "g", 0), 0);
	ensure("f");
	ensure("f");
	assert_text("f", "g");
}

static void refused_is_nothing_done(void **state)
{
	struct node *node;

	(void)state;
	if (geteuid() == 0) {
		skip(); /* root may read all */
	}
	make_dir("base/d");
	make_file("base/d/f", "f");
	assert_int_equal(chmod("base/d/f", 0), 0);
	core_start(1);
	node = at("d/f");
	assert_int_equal(copyup_ensure(&fs, node), -EACCES);
	assert_false(node_in_upper(node));
	assert_false(on_disk("upper/d/f"));
	node_put(&fs.nodes, node);
	nothing_is_left_in_work();
}

static void base_file_changed_its_type(void **state)
{
	struct node *node;
	int error;

	(void)state;
	make_file("base/f", "f");
	core_start(1);
	node = at("f");
	assert_int_equal(unlink("base/f"), 0);
	make_dir("base/f");
	assert_int_equal(copyup_ensure(&fs, node), -ESTALE);
	assert_int_equal(rmdir("base/f"), 0);
	assert_true(copyup_ensure(&fs, node) < 0);
	make_file("base/f", "g");
	/* Another file, unless the disk used the number again. */
	error = copyup_ensure(&fs, node);
	node_put(&fs.nodes, node);
	assert_true(error == 0 || error == -ESTALE);
	assert_text("f", "g");
	nothing_is_left_in_work();
}

static void base_directory_vanished(void **state)
{
	AUTO_BUF tree = BUF_INIT;
	struct node *node;

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "f");
	core_start(1);
	node = at("d/f");
	assert_int_equal(unlink("base/d/f"), 0);
	assert_int_equal(rmdir("base/d"), 0);
	assert_true(copyup_ensure(&fs, node) < 0);
	node_put(&fs.nodes, node);
	nothing_is_left_in_work();
	assert_int_equal(dump_tree(&fs, &tree), 0);
}

/* Somebody renames, or removes, what a program has open: what it writes shows
 * at the new name or is refused, or goes on without a name. */
static void base_file_renamed_while_open(void **state)
{
	struct node *node;
	struct node *removed;

	(void)state;
	make_file("base/f", "f");
	make_file("base/r", "r");
	core_start(1);
	node = at("f");
	removed = at("r");
	assert_string_equal(text_of(node), "f");
	assert_string_equal(text_of(removed), "r");
	assert_int_equal(rename("base/f", "base/g"), 0);
	assert_int_equal(copyup_ensure(&fs, node), -ESTALE);
	assert_false(node_in_upper(node));
	assert_text("g", "f");
	assert_int_equal(copyup_ensure(&fs, node), 0);
	assert_true(on_disk("upper/g"));
	assert_int_equal(unlink("base/r"), 0);
	assert_int_equal(copyup_ensure(&fs, removed), 0);
	assert_gone("r");
	assert_string_equal(text_of(removed), "r");
	node_put(&fs.nodes, node);
	node_put(&fs.nodes, removed);
	nothing_is_left_in_work();
}

/* A removed file that is written to is copied, and gets no name. */
static void removed_file_is_copied_without_a_name(void **state)
{
	struct node *node;

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = at("f");
	assert_int_equal(view_unlink("f"), 0);
	assert_int_equal(op_write(&fs, node, "x", 1, 0, &caller), 1);
	assert_string_equal(text_of(node), "x123");
	assert_true(is_whiteout("upper/f"));
	node_put(&fs.nodes, node);
	nothing_is_left_in_work();
}

/* Races: results are collected, since cmocka's asserts are for one thread. */

#define BIG_BYTES (64 * MIB)

static void make_big(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	char *data = malloc(MIB);

	assert_true(fd >= 0 && data);
	memset(data, 'x', MIB);
	for (off_t off = 0; off < BIG_BYTES; off += MIB) {
		assert_int_equal(pwrite(fd, data, MIB, off), MIB);
	}
	free(data);
	close(fd);
}

static void *ensure_in_thread(void *data)
{
	return (void *)(intptr_t)copyup_ensure(&fs, data);
}

static void wait_for_copy(void)
{
	for (int i = 0; i < 2000 && !count_entries("work"); i++) {
		usleep(500);
	}
}

static void unlink_during_copy_up(void **state)
{
	struct node *node;
	pthread_t thread;
	void *error;
	struct stat st;

	(void)state;
	make_big("base/f");
	core_start(1);
	node = at("f");
	pthread_create(&thread, NULL, ensure_in_thread, node);
	wait_for_copy();
	assert_int_equal(view_unlink("f"), 0);
	pthread_join(thread, &error);
	assert_null(error);
	assert_gone("f");
	assert_true(is_whiteout("upper/f"));
	assert_int_equal(op_getattr(&fs, node, &st), 0);
	assert_int_equal(st.st_size, BIG_BYTES);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(op_write(&fs, node, "y", 1, 5, &caller), 1);
	node_put(&fs.nodes, node);
	nothing_is_left_in_work();
}

static void rename_of_the_parent_during_copy_up(void **state)
{
	struct node *node;
	pthread_t thread;
	void *error;

	(void)state;
	make_dir("base/a");
	make_big("base/a/f");
	core_start(1);
	node = at("a/f");
	pthread_create(&thread, NULL, ensure_in_thread, node);
	wait_for_copy();
	assert_int_equal(view_rename("a", "b", 0), 0);
	pthread_join(thread, &error);
	assert_null(error);
	assert_true(on_disk("upper/b/f"));
	assert_int_equal(stat_at("b/f").st_size, BIG_BYTES);
	assert_gone("a");
	node_put(&fs.nodes, node);
	nothing_is_left_in_work();
}

/* Lookups and lists never wait for a copy: they see the whole file. */
static void readers_see_the_whole_file(void **state)
{
	struct node *node;
	pthread_t thread;
	void *error;
	unsigned int looks = 0;

	(void)state;
	make_big("base/f");
	core_start(1);
	node = at("f");
	pthread_create(&thread, NULL, ensure_in_thread, node);
	wait_for_copy();
	while (!node_in_upper(node)) {
		struct dirlist *list;
		char byte = 0;

		assert_int_equal(stat_at("f").st_size, BIG_BYTES);
		assert_int_equal(op_read(node, &byte, 1, BIG_BYTES - 1), 1);
		assert_int_equal(byte, 'x');
		assert_int_equal(dirlist_current(&fs, fs.root, &list), 0);
		assert_int_equal(list->count, 3);
		dirlist_put(list);
		looks++;
	}
	pthread_join(thread, &error);
	assert_null(error);
	assert_true(looks > 0);
	node_put(&fs.nodes, node);
}

#define WRITERS 8

struct writer {
	struct node *node;
	off_t off;
};

static void *write_one_byte(void *data)
{
	const struct writer *writer = data;
	ssize_t n = op_write(&fs, writer->node, "w", 1, writer->off, &caller);

	return (void *)(intptr_t)(n != 1);
}

static void first_writers_race(void **state)
{
	pthread_t threads[WRITERS];
	struct writer writers[WRITERS];

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "01234567");
	core_start(1);
	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){at("d/f"), i};
		pthread_create(&threads[i], NULL, write_one_byte, &writers[i]);
	}
	for (int i = 0; i < WRITERS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		assert_null(failed);
		node_put(&fs.nodes, writers[i].node);
	}
	assert_text("d/f", "wwwwwwww");
	nothing_is_left_in_work();
}

/* Hard links of the base: one file before, one file after. */
static void linked_names_stay_one_file(void **state)
{
	(void)state;
	make_file("base/a", "old");
	make_dir("base/d");
	assert_int_equal(link("base/a", "base/d/b"), 0);
	assert_int_equal(link("base/a", "base/c"), 0);
	core_start(1);
	assert_int_equal(view_write("a", "new", 0), 0);
	assert_text("a", "new");
	assert_text("d/b", "new");
	assert_text("c", "new");
	assert_int_equal(stat_at("d/b").st_ino, stat_at("a").st_ino);
	assert_int_equal(stat_at("d/b").st_nlink, 3);
	assert_int_equal(view_unlink("c"), 0);
	assert_int_equal(stat_at("a").st_nlink, 2);
	core_restart();
	assert_text("d/b", "new");
	assert_int_equal(stat_at("d/b").st_nlink, 2);
	assert_int_equal(view_write("d/b", "3rd", 0), 0);
	assert_text("a", "3rd");
	assert_int_equal(view_unlink("a"), 0);
	assert_text("d/b", "3rd");
	assert_int_equal(stat_at("d/b").st_nlink, 1);
	assert_int_equal(view_unlink("d/b"), 0);
	assert_gone("d/b");
	nothing_is_left_in_work();
}

#define LINKED_FILES 150

static pthread_barrier_t barrier;

/* Removes "DIR/0", "DIR/1", ...; the other thread does so in another one. */
static void *unlink_all(void *data)
{
	struct node *dir = data;
	uintptr_t failures = 0;

	for (int i = 0; i < LINKED_FILES; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		pthread_barrier_wait(&barrier);
		failures += op_unlink(&fs, dir, name, &caller) != 0;
	}
	return (void *)failures;
}

/* Two names of one base file go at the same time: both are counted. */
static void two_linked_names_go_at_once(void **state)
{
	pthread_t threads[2];
	struct node *dirs[2];

	(void)state;
	make_dir("base/a");
	make_dir("base/b");
	for (int i = 0; i < LINKED_FILES; i++) {
		char one[16];
		char two[16];
		char kept[24];

		snprintf(one, sizeof(one), "base/a/%d", i);
		snprintf(two, sizeof(two), "base/b/%d", i);
		snprintf(kept, sizeof(kept), "base/kept-%d", i);
		make_file(one, "x");
		assert_int_equal(link(one, two), 0);
		assert_int_equal(link(one, kept), 0);
	}
	core_start(1);
	pthread_barrier_init(&barrier, NULL, 2);
	for (int i = 0; i < 2; i++) {
		dirs[i] = at(i ? "a" : "b");
		assert_int_equal(
			pthread_create(&threads[i], NULL, unlink_all, dirs[i]),
			0);
	}
	for (int i = 0; i < 2; i++) {
		void *failures;

		pthread_join(threads[i], &failures);
		assert_null(failures);
		node_put(&fs.nodes, dirs[i]);
	}
	pthread_barrier_destroy(&barrier);
	for (int i = 0; i < LINKED_FILES; i++) {
		char kept[24];

		snprintf(kept, sizeof(kept), "kept-%d", i);
		assert_int_equal(stat_at(kept).st_nlink, 1);
	}
}

/* The kernel forgets the file between the calls. */
static void a_forgotten_partial_file_keeps_its_base(void **state)
{
	char text[9001];
	char seen[2];
	struct node *node;

	(void)state;
	memset(text, 'b', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	make_file("base/f", text);
	core_blocks_from = 1;
	core_start(1);
	core_blocks_from = 0;
	assert_int_equal(view_write("f", "W", 5000), 0);
	assert_int_equal(count_entries("links"), 1);
	assert_int_equal(rename("base/f", "base/g"), 0);
	node = at("f");
	assert_int_equal(op_read(node, seen, 2, 8998), 2);
	assert_memory_equal(seen, "bb", 2);
	node_put(&fs.nodes, node);
	assert_int_equal(view_unlink("f"), 0);
	assert_int_equal(count_entries("links"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(file_is_the_same),
		CORE_TEST(owner_and_set_id_bits),
		CORE_TEST(capabilities_are_kept),
		CORE_TEST(other_types),
		CORE_TEST(modes_are_exact),
		CORE_TEST(holes_stay_holes),
		CORE_TEST(only_what_is_needed_of_the_data),
		CORE_TEST(parents_come_first_and_keep_their_times),
		CORE_TEST(root_looks_as_the_base_s),
		CORE_TEST(base_is_never_written),
		CORE_TEST(access_time_of_the_base_stays),
		CORE_TEST(twice_is_once),
		CORE_TEST(refused_is_nothing_done),
		CORE_TEST(base_file_changed_its_type),
		CORE_TEST(base_directory_vanished),
		CORE_TEST(base_file_renamed_while_open),
		CORE_TEST(removed_file_is_copied_without_a_name),
		CORE_TEST(unlink_during_copy_up),
		CORE_TEST(rename_of_the_parent_during_copy_up),
		CORE_TEST(readers_see_the_whole_file),
		CORE_TEST(first_writers_race),
		CORE_TEST(linked_names_stay_one_file),
		CORE_TEST(two_linked_names_go_at_once),
		CORE_TEST(a_forgotten_partial_file_keeps_its_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
