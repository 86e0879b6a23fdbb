#include "file.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "core_fixture.h"
#include "create.h"
#include "unit.h"
#include "unlink.h"

/* Opens the file at the path as a program does; close_file puts it. */
static struct node *open_file(const char *path, int flags)
{
	struct node *node = at(path);
	bool keep;

	assert_int_equal(op_open(&fs, node, flags, &caller, &keep), 0);
	return node;
}

static void close_file(struct node *node)
{
	op_release(node);
	node_put(&fs.nodes, node);
}

static void put(struct node *node, const char *text, off_t off)
{
	size_t size = strlen(text);

	assert_int_equal(op_write(&fs, node, text, size, off, &caller), size);
}

static void truncate_to(struct node *node, off_t size)
{
	struct attr_change change = {.flags = ATTR_SIZE, .size = size};
	struct stat st;

	assert_int_equal(op_setattr(&fs, node, &change, &caller, &st), 0);
	assert_int_equal(st.st_size, size);
}

/* Opened before the copy-up, it sees what is written after it. */
static void reader_never_goes_stale(void **state)
{
	struct node *reader;
	struct node *writer;

	(void)state;
	make_file("base/f", "base");
	core_start(1);
	reader = open_file("f", O_RDONLY);
	assert_string_equal(text_of(reader), "base");
	writer = open_file("f", O_WRONLY);
	assert_ptr_equal(reader, writer);
	put(writer, "next", 0);
	assert_string_equal(text_of(reader), "next");
	truncate_to(writer, 2);
	assert_string_equal(text_of(reader), "ne");
	close_file(writer);
	assert_string_equal(text_of(reader), "ne");
	close_file(reader);
	make_file("base/f", "the base moved");
	assert_text("f", "ne");
}

static void opening_for_writing_copies_nothing(void **state)
{
	struct node *node;

	(void)state;
	make_file("base/f", "base");
	core_start(1);
	node = open_file("f", O_RDWR);
	assert_string_equal(text_of(node), "base");
	assert_int_equal(count_entries("upper"), 0);
	assert_int_equal(op_fsync(node, false), 0);
	assert_int_equal(count_entries("upper"), 0);
	put(node, "x", 1);
	assert_true(on_disk("upper/f"));
	assert_string_equal(text_of(node), "bxse");
	close_file(node);
}

/* O_TRUNC needs no byte of the base: it works where they can't be read. */
static void truncating_copies_no_data(void **state)
{
	struct node *node;
	struct stat st;
	int fd = open("base/f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	long long before;
	long long after;
	FILE *io;

	(void)state;
	assert_int_equal(ftruncate(fd, 256L << 20), 0);
	for (off_t off = 0; off < 8 << 20; off += 4096) {
		assert_int_equal(pwrite(fd, "data", 4, off), 4);
	}
	close(fd);
	core_start(1);
	io = fopen("/proc/self/io", "re");
	assert_non_null(io);
	assert_int_equal(fscanf(io, "rchar: %lld", &before), 1);
	fclose(io);
	node = open_file("f", O_WRONLY | O_TRUNC);
	io = fopen("/proc/self/io", "re");
	assert_int_equal(fscanf(io, "rchar: %lld", &after), 1);
	fclose(io);
	assert_true(after - before < 1 << 20);
	assert_int_equal(lstat("upper/f", &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(op_getattr(&fs, node, &st), 0);
	assert_int_equal(st.st_size, 0);
	close_file(node);
	core_restart();
	assert_int_equal(stat_at("f").st_size, 0);
}

static void truncating_keeps_the_rest(void **state)
{
	(void)state;
	make_file("base/f", "base");
	set_attr("base/f", "user.a", "1");
	assert_int_equal(chmod("base/f", 0640), 0);
	core_start(1);
	close_file(open_file("f", O_WRONLY | O_TRUNC));
	assert_text("f", "");
	assert_int_equal(stat_at("f").st_mode & 07777, 0640);
	{
		struct node *node = at("f");
		char value;

		assert_int_equal(op_getxattr(node, "user.a", &value, 1), 1);
		node_put(&fs.nodes, node);
	}
}

/* Removed but open, in the base, in the upper, or copied up after it. */
static void use_removed(const char *path)
{
	struct node *node = open_file(path, O_RDWR);
	struct stat st;

	assert_int_equal(view_unlink(path), 0);
	assert_gone(path);
	assert_string_equal(text_of(node), "0123456789");
	assert_int_equal(op_getattr(&fs, node, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	put(node, "x", 1);
	assert_string_equal(text_of(node), "0x23456789");
	truncate_to(node, 4);
	put(node, "abc", 4);
	assert_string_equal(text_of(node), "0x23abc");
	assert_int_equal(op_getattr(&fs, node, &st), 0);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_size, 7);
	/* A new file of that name is another one. */
	assert_int_equal(view_create(path, "new"), 0);
	put(node, "y", 0);
	assert_text(path, "new");
	assert_string_equal(text_of(node), "yx23abc");
	/* Opened again by number, as by /proc/self/fd. */
	close_file(node);
	assert_text(path, "new");
}

static void removed_but_open(void **state)
{
	(void)state;
	make_file("base/base", "0123456789");
	make_file("base/copied", "0123456789");
	make_dir("base/d");
	make_file("base/d/base", "0123456789");
	core_start(1);
	assert_int_equal(view_create("new", "0123456789"), 0);
	assert_int_equal(view_chmod("copied", 0600), 0);
	use_removed("base");
	use_removed("copied");
	use_removed("new");
	use_removed("d/base");
	assert_int_equal(count_entries("work"), 0);
}

static void removed_but_known(void **state)
{
	struct node *node;
	struct stat st;
	struct attr_change change = {.flags = ATTR_MODE, .mode = 0600};
	char target[8];

	(void)state;
	make_file("base/f", "0123456789");
	make_link("base/l", "target");
	core_start(1);
	node = at("f"); /* not open: the kernel knows it by number */
	assert_int_equal(view_unlink("f"), 0);
	assert_string_equal(text_of(node), "0123456789");
	assert_int_equal(op_setattr(&fs, node, &change, &caller, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(op_setxattr(&fs, node, "user.a", "1", 1, 0, &caller),
			 0);
	node_put(&fs.nodes, node);
	node = at("l");
	assert_int_equal(view_unlink("l"), 0);
	assert_int_equal(op_readlink(node, target, sizeof(target)), 6);
	node_put(&fs.nodes, node);
	assert_true(is_whiteout("upper/f"));
	assert_int_equal(count_entries("work"), 0);
}

static void renamed_but_open(void **state)
{
	struct node *node;

	(void)state;
	make_dir("base/d");
	make_file("base/d/f", "0123");
	core_start(1);
	node = open_file("d/f", O_RDWR);
	assert_int_equal(view_rename("d", "e", 0), 0);
	put(node, "x", 0);
	assert_text("e/f", "x123");
	assert_int_equal(view_rename("e/f", "g", 0), 0);
	put(node, "y", 1);
	assert_text("g", "xy23");
	/* Replaced by another: it lives on without a name. */
	assert_int_equal(view_create("h", "h"), 0);
	assert_int_equal(view_rename("h", "g", 0), 0);
	put(node, "z", 2);
	assert_string_equal(text_of(node), "xyz3");
	assert_text("g", "h");
	close_file(node);
}

static void reading_at_the_end(void **state)
{
	struct node *node;
	char data[16];

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = open_file("f", O_RDONLY);
	assert_int_equal(op_read(node, data, sizeof(data), 0), 4);
	assert_int_equal(op_read(node, data, sizeof(data), 3), 1);
	assert_int_equal(op_read(node, data, sizeof(data), 4), 0);
	assert_int_equal(op_read(node, data, sizeof(data), 1L << 40), 0);
	assert_int_equal(op_read(node, data, 0, 0), 0);
	close_file(node);
}

static void holes_and_ranges(void **state)
{
	struct node *node;

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = open_file("f", O_RDWR);
	assert_int_equal(op_lseek(node, 0, SEEK_DATA), 0);
	assert_int_equal(op_lseek(node, 0, SEEK_HOLE), 4);
	assert_int_equal(op_lseek(node, 4, SEEK_DATA), -ENXIO);
	assert_int_equal(op_lseek(node, 0, SEEK_END), -EINVAL);
	assert_int_equal(count_entries("upper"), 0);
	assert_int_equal(op_fallocate(&fs, node, 0, 0, 10000, &caller), 0);
	assert_int_equal(stat_at("f").st_size, 10000);
	put(node, "end", 9000);
	assert_int_equal(
		op_fallocate(&fs, node,
			     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
			     4096, &caller),
		0);
	assert_int_equal(op_lseek(node, 0, SEEK_DATA) > 0, 1);
	assert_string_equal(text_of(node), "");
	close_file(node);
}

static void copying_a_range(void **state)
{
	struct node *from;
	struct node *to;

	(void)state;
	make_file("base/from", "0123456789");
	make_file("base/to", "abcdefghij");
	core_start(1);
	from = open_file("from", O_RDONLY);
	to = open_file("to", O_RDWR);
	assert_int_equal(op_copy_file_range(&fs, from, 2, to, 4, 3, &caller),
			 3);
	assert_string_equal(text_of(to), "abcd234hij");
	assert_false(on_disk("upper/from"));
	/* Within one file, and that file is copied up by it. */
	assert_int_equal(op_copy_file_range(&fs, from, 0, from, 10, 4, &caller),
			 4);
	assert_string_equal(text_of(from), "01234567890123");
	assert_int_equal(op_copy_file_range(&fs, from, 100, to, 0, 4, &caller),
			 0);
	close_file(from);
	close_file(to);
}

/* Whether the kernel may keep its pages. */
static void cache_is_kept_while_nothing_changed(void **state)
{
	struct node *node;
	bool keep;

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = at("f");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep),
				 0);
		op_release(node);
	}
	assert_true(keep);
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), 0);
	assert_true(keep);
	op_release(node);
	temp_write("base/f", "4567", 4);
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), 0);
	assert_false(keep); /* somebody wrote to the base */
	assert_string_equal(text_of(node), "4567");
	op_release(node);
	put(node, "x", 0);
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), 0);
	assert_true(keep); /* the kernel wrote it through us */
	op_release(node);
	node_put(&fs.nodes, node);
}

/* The copy is newer than what the kernel has seen: its pages go. */
static void cache_goes_when_the_copy_is_of_another_state(void **state)
{
	struct node *node;
	bool keep;

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = at("f");
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), 0);
	op_release(node);
	temp_write("base/f", "4567", 4);
	put(node, "x", 0);
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), 0);
	assert_false(keep);
	assert_string_equal(text_of(node), "x567");
	op_release(node);
	node_put(&fs.nodes, node);
}

/* What is kept open is bounded, whatever is open or was read. */
static void descriptors_are_bounded(void **state)
{
	struct node *nodes[200];
	char path[32];
	unsigned int fds;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		snprintf(path, sizeof(path), "base/%zu", i);
		make_file(path, "0123");
	}
	core_start(1);
	fds = count_fds();
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		snprintf(path, sizeof(path), "%zu", i);
		nodes[i] = at(path);
		assert_string_equal(text_of(nodes[i]), "0123");
		if (i % 2) {
			put(nodes[i], "x", 0);
		}
	}
	assert_true(count_fds() <= fds + 2 * CORE_FDS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		assert_string_equal(text_of(nodes[i]), i % 2 ? "x123" : "0123");
		node_put(&fs.nodes, nodes[i]);
	}
	/* Gone with the nodes: those of directories are left. */
	assert_true(count_fds() <= fds + CORE_FDS_MAX);
}

static void releasing_too_often(void **state)
{
	struct node *node;

	(void)state;
	make_file("base/f", "0123");
	core_start(1);
	node = open_file("f", O_RDWR);
	op_release(node);
	op_release(node); /* a broken kernel */
	put(node, "x", 0);
	assert_string_equal(text_of(node), "x123");
	node_put(&fs.nodes, node);
}

static void not_for_other_types(void **state)
{
	struct node *node;
	bool keep;

	(void)state;
	make_dir("base/d");
	make_link("base/l", "x");
	core_start(1);
	node = at("d");
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), -EISDIR);
	node_put(&fs.nodes, node);
	node = at("l");
	assert_int_equal(op_open(&fs, node, O_RDONLY, &caller, &keep), -ENXIO);
	node_put(&fs.nodes, node);
	assert_int_equal(count_entries("upper"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CORE_TEST(reader_never_goes_stale),
		CORE_TEST(opening_for_writing_copies_nothing),
		CORE_TEST(truncating_copies_no_data),
		CORE_TEST(truncating_keeps_the_rest),
		CORE_TEST(removed_but_open),
		CORE_TEST(removed_but_known),
		CORE_TEST(renamed_but_open),
		CORE_TEST(reading_at_the_end),
		CORE_TEST(holes_and_ranges),
		CORE_TEST(copying_a_range),
		CORE_TEST(cache_is_kept_while_nothing_changed),
		CORE_TEST(cache_goes_when_the_copy_is_of_another_state),
		CORE_TEST(descriptors_are_bounded),
		CORE_TEST(releasing_too_often),
		CORE_TEST(not_for_other_types),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
