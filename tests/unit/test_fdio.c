#include "fdio.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

#define MIB (1024 * 1024)

static int make(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	return fd;
}

static size_t entries_here(void)
{
	DIR *dir = opendir(".");
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count - 2;
}

static void write_all_through_a_small_pipe(void **state)
{
	AUTO_FREE char *data = malloc(MIB);
	AUTO_FREE char *seen = malloc(MIB);
	size_t got = 0;
	int ends[2];
	pid_t child;

	(void)state;
	memset(data, 'p', MIB);
	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		_exit(fdio_write_all(ends[1], data, MIB) ? 1 : 0);
	}
	close(ends[1]);
	for (ssize_t n = 1; n > 0; got += (size_t)n) {
		n = read(ends[0], seen + got, MIB - got);
		assert_true(n >= 0);
	}
	close(ends[0]);
	assert_int_equal(got, MIB);
	assert_memory_equal(seen, data, MIB);
}

static void write_all_reports_the_error(void **state)
{
	AUTO_FD full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	AUTO_FD null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(fdio_write_all(full, "x", 1), -ENOSPC);
	assert_int_equal(fdio_write_all(null, "x", 1), -EBADF);
	assert_int_equal(fdio_write_all(null, "", 0), 0);
}

static void read_all_adds_and_knows_its_limit(void **state)
{
	AUTO_BUF buf = BUF_INIT;
	AUTO_FD fd = -1;

	(void)state;
	temp_write("f", "content", 7);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	buf_adds(&buf, "the ");
	assert_int_equal(fdio_read_all(fd, &buf, 11), 0);
	assert_string_equal(buf.data, "the content");
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	buf_clear(&buf);
	assert_int_equal(fdio_read_all(fd, &buf, 6), -EFBIG);
}

static void copy_keeps_holes(void **state)
{
	AUTO_FD from = make("from");
	AUTO_FD to = make("to");
	struct stat a;
	struct stat b;
	char byte;

	(void)state;
	assert_int_equal(pwrite(from, "begin", 5, 0), 5);
	assert_int_equal(pwrite(from, "middle", 6, 512 * MIB), 6);
	assert_int_equal(ftruncate(from, 1024L * MIB), 0);
	assert_int_equal(fdio_copy(to, from, 1024L * MIB), 0);
	assert_int_equal(fstat(from, &a), 0);
	assert_int_equal(fstat(to, &b), 0);
	assert_int_equal(b.st_size, a.st_size);
	assert_true(b.st_blocks <= a.st_blocks + 64);
	assert_int_equal(pread(to, &byte, 1, 4), 1);
	assert_int_equal(byte, 'n');
	assert_int_equal(pread(to, &byte, 1, 512 * MIB + 5), 1);
	assert_int_equal(byte, 'e');
	assert_int_equal(pread(to, &byte, 1, 512 * MIB + 6), 1);
	assert_int_equal(byte, 0);
}

static void copy_of_an_all_hole_file(void **state)
{
	AUTO_FD from = make("from");
	AUTO_FD to = make("to");
	struct stat st;

	(void)state;
	assert_int_equal(ftruncate(from, 3 * MIB), 0);
	assert_int_equal(fdio_copy(to, from, 3 * MIB), 0);
	assert_int_equal(fstat(to, &st), 0);
	assert_int_equal(st.st_size, 3 * MIB);
}

/* The file may be cut by somebody else between stat and copy. */
static void copy_of_a_file_that_ends_early(void **state)
{
	AUTO_FD from = make("from");
	AUTO_FD to = make("to");
	AUTO_FREE char *copy = NULL;
	size_t size;

	(void)state;
	assert_int_equal(write(from, "short", 5), 5);
	assert_int_equal(fdio_copy(to, from, MIB), 0);
	copy = temp_read("to", &size);
	assert_true(size == 5 || size == MIB);
	assert_memory_equal(copy, "short", 5);
	for (size_t i = 5; i < size; i++) {
		assert_int_equal(copy[i], 0);
	}
}

static void copy_of_less_than_the_file(void **state)
{
	AUTO_FD from = make("from");
	AUTO_FD to = make("to");
	AUTO_FD empty = make("empty");
	struct stat st;

	(void)state;
	assert_int_equal(write(from, "0123456789", 10), 10);
	assert_int_equal(fdio_copy(to, from, 4), 0);
	assert_int_equal(fstat(to, &st), 0);
	/* A disk that shares blocks shares the whole file: a caller asks for
	 * the size that it saw. */
	assert_true(st.st_size == 4 || st.st_size == 10);
	assert_int_equal(fdio_copy(empty, from, 0), 0);
	assert_int_equal(fstat(empty, &st), 0);
	assert_int_equal(st.st_size, 0);
}

static void copy_leaves_the_position_of_the_source_alone(void **state)
{
	AUTO_FREE char *copy = NULL;
	AUTO_FD from = make("from");
	AUTO_FD to = make("to");
	size_t size;

	(void)state;
	assert_int_equal(write(from, "0123456789", 10), 10);
	assert_int_equal(fdio_copy(to, from, 10), 0);
	copy = temp_read("to", &size);
	assert_int_equal(size, 10);
	assert_memory_equal(copy, "0123456789", 10);
}

static void replace_is_whole_or_not_at_all(void **state)
{
	AUTO_FREE char *text = NULL;
	size_t size;

	(void)state;
	assert_int_equal(fdio_replace_file(AT_FDCWD, "f", "one", 3), 0);
	assert_int_equal(fdio_replace_file(AT_FDCWD, "f", "two", 3), 0);
	text = temp_read("f", &size);
	assert_string_equal(text, "two");
	assert_int_equal(entries_here(), 1);

	assert_int_equal(mkdir("d", 0700), 0);
	assert_int_equal(fdio_replace_file(AT_FDCWD, "d", "x", 1), -EISDIR);
	assert_int_equal(entries_here(), 2);
	assert_int_equal(fdio_replace_file(AT_FDCWD, "gone/f", "x", 1),
			 -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_IN_FOLDER(write_all_through_a_small_pipe),
		UNIT_TEST_IN_FOLDER(write_all_reports_the_error),
		UNIT_TEST_IN_FOLDER(read_all_adds_and_knows_its_limit),
		UNIT_TEST_IN_FOLDER(copy_keeps_holes),
		UNIT_TEST_IN_FOLDER(copy_of_an_all_hole_file),
		UNIT_TEST_IN_FOLDER(copy_of_a_file_that_ends_early),
		UNIT_TEST_IN_FOLDER(copy_of_less_than_the_file),
		UNIT_TEST_IN_FOLDER(
			copy_leaves_the_position_of_the_source_alone),
		UNIT_TEST_IN_FOLDER(replace_is_whole_or_not_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
