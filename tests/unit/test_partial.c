#include "partial.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "partial_format.h"
#include "unit.h"

#define BLOCK      ((off_t)PARTIAL_BLOCK_BYTES)
#define BASE_BYTES ((size_t)(10 * BLOCK + 100))
#define INO        77
#define TAG        5

/* The test's folder has the base's file, the upper's, and the map. */
static int here = -1;
static int base = -1;
static int upper = -1;
static int map = -1;
static struct partial partial;

static char base_byte(off_t off)
{
	return (char)('a' + off / BLOCK);
}

static int setup(void **state)
{
	char data[BASE_BYTES];
	struct origin origin;
	struct stat st;

	temp_setup(state);
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] = base_byte((off_t)i);
	}
	temp_write("base", data, sizeof(data));
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	base = open("base", O_RDONLY | O_CLOEXEC);
	upper = open("upper", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fstat(base, &st) || ftruncate(upper, st.st_size)) {
		return 1;
	}
	origin_from_stat(&origin, &st);
	if (origin_add_birth(&origin, here, "base")) {
		return 1;
	}
	origin.partial_tag = TAG;
	if (partial_init(&partial, &origin, 24, 0, strdup("base"))) {
		return 1;
	}
	map = partial_create(&partial, here, INO);
	return map < 0;
}

static int teardown(void **state)
{
	partial_release(&partial);
	close(map);
	close(upper);
	close(base);
	close(here);
	return temp_teardown(state);
}

/* Writes into the upper as a program's write would end. */
static void put(off_t off, size_t size, char byte)
{
	char data[BASE_BYTES];

	memset(data, byte, size);
	assert_int_equal(pwrite(upper, data, size, off), size);
	assert_int_equal(partial_set(&partial, map, off, (off_t)size), 0);
}

static char byte_at(off_t off)
{
	char byte = 0;

	assert_int_equal(partial_pread(&partial, upper, base, &byte, 1, off),
			 1);
	return byte;
}

static void reload(void)
{
	struct stat st;

	partial_release(&partial);
	assert_int_equal(fstat(upper, &st), 0);
	assert_int_equal(partial_load(&partial, here, INO, TAG, st.st_size), 0);
}

static void reads_each_block_from_its_side(void **state)
{
	char data[BASE_BYTES];

	(void)state;
	put(2 * BLOCK, (size_t)(2 * BLOCK), 'X');
	assert_int_equal(partial_absent(&partial), 9);
	assert_int_equal(
		partial_pread(&partial, upper, base, data, sizeof(data), 0),
		BASE_BYTES);
	for (size_t i = 0; i < sizeof(data); i++) {
		off_t block = (off_t)i / BLOCK;

		assert_int_equal(data[i], block == 2 || block == 3
						  ? 'X'
						  : base_byte((off_t)i));
	}
	assert_true(partial_needs_base(&partial, 2 * BLOCK, 3 * BLOCK));
	assert_false(partial_needs_base(&partial, 2 * BLOCK, 2 * BLOCK));
	assert_int_equal(partial_pread(&partial, upper, -1, data, 10, 0),
			 -ESTALE);
	assert_int_equal(
		partial_pread(&partial, upper, -1, data, 10, 3 * BLOCK), 10);
}

static void survives_the_disk(void **state)
{
	(void)state;
	put(0, (size_t)BLOCK, 'X');
	put(10 * BLOCK, 100, 'Y');
	reload();
	assert_int_equal(partial_absent(&partial), 9);
	assert_int_equal(byte_at(0), 'X');
	assert_int_equal(byte_at(BLOCK), 'b');
	assert_int_equal(byte_at(10 * BLOCK + 99), 'Y');
	assert_string_equal(partial.path, "base");
	assert_int_equal(partial.base_blocks, 24);
}

static void notes_whole_blocks_only(void **state)
{
	(void)state;
	assert_int_equal(partial_set(&partial, map, 10, 2 * BLOCK), 0);
	assert_int_equal(partial_absent(&partial), 10);
	assert_true(partial_is_absent(&partial, 0));
	assert_false(partial_is_absent(&partial, BLOCK));
	assert_true(partial_is_absent(&partial, 2 * BLOCK));
	/* But the last one ends with the file. */
	assert_int_equal(partial_set(&partial, map, 10 * BLOCK, 100), 0);
	assert_false(partial_is_absent(&partial, 10 * BLOCK));
	assert_int_equal(partial_base_bytes(&partial, 10 * BLOCK + 5), 100);
	assert_int_equal(partial_base_bytes(&partial, 3), BLOCK);
}

static void what_was_cut_off_never_comes_back(void **state)
{
	(void)state;
	assert_int_equal(ftruncate(upper, 5 * BLOCK + 10), 0);
	assert_int_equal(partial_cut(&partial, map, 5 * BLOCK + 10), 0);
	assert_true(partial_is_cut(&partial));
	assert_int_equal(ftruncate(upper, 20 * BLOCK), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(byte_at(5 * BLOCK + 9), 'f');
		assert_int_equal(byte_at(5 * BLOCK + 10), 0);
		assert_int_equal(byte_at(7 * BLOCK), 0);
		assert_int_equal(partial_absent(&partial), 6);
		reload();
	}
}

static void a_kill_between_cut_and_map_is_made_good(void **state)
{
	(void)state;
	assert_int_equal(ftruncate(upper, BLOCK), 0);
	reload();
	assert_false(partial_is_cut(&partial));
	assert_int_equal(partial_cut(&partial, map, INT64_MAX), 0);
	assert_true(partial_is_cut(&partial));
	assert_int_equal(ftruncate(upper, 10 * BLOCK), 0);
	reload();
	assert_int_equal(byte_at(BLOCK), 0);
	assert_int_equal(byte_at(BLOCK - 1), 'a');
}

static void finds_holes_and_data(void **state)
{
	(void)state;
	assert_int_equal(partial_set(&partial, map, 3 * BLOCK, 2 * BLOCK), 0);
	assert_int_equal(partial_seek(&partial, upper, base, 0, SEEK_HOLE),
			 3 * BLOCK);
	assert_int_equal(
		partial_seek(&partial, upper, base, 3 * BLOCK, SEEK_DATA),
		5 * BLOCK);
	assert_int_equal(
		partial_seek(&partial, upper, base, 5 * BLOCK, SEEK_HOLE),
		BASE_BYTES);
	assert_int_equal(
		partial_seek(&partial, upper, base, 1 << 20, SEEK_DATA),
		-ENXIO);
}

static void a_base_that_changed_gives_nothing(void **state)
{
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	struct layer layer = {.root_fd = here};
	char byte;
	int fd;

	(void)state;
	put(0, (size_t)BLOCK, 'X');
	fd = partial_open_base(&partial, &layer, 1);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(chmod("base", 0640), 0);
	assert_int_equal(byte_at(BLOCK), 'b');
	assert_int_equal(partial_open_base(&partial, &layer, 0), -ESTALE);
	/* The same length, in place. */
	fd = open("base", O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "new", 3, 3 * BLOCK), 3);
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
	assert_int_equal(
		partial_pread(&partial, upper, base, &byte, 1, 3 * BLOCK),
		-ESTALE);
	assert_int_equal(partial_open_base(&partial, &layer, 1), -ESTALE);
	assert_int_equal(byte_at(0), 'X');
	/* Its name is another's. */
	assert_int_equal(unlink("base"), 0);
	assert_int_equal(partial_open_base(&partial, &layer, 1), -ESTALE);
}

static void expect_refused(void)
{
	struct partial other;

	assert_int_equal(partial_load(&other, here, INO, TAG, BASE_BYTES),
			 -EBADMSG);
	partial_release(&other);
}

static void foreign_maps_are_refused(void **state)
{
	char name[PARTIAL_NAME_BYTES];
	struct partial other;

	(void)state;
	assert_int_equal(partial_load(&other, here, INO, TAG + 1, BASE_BYTES),
			 -EBADMSG);
	partial_release(&other);
	assert_int_equal(partial_load(&other, here, INO + 1, TAG, BASE_BYTES),
			 -EBADMSG);
	partial_release(&other);
	/* Each byte of the header counts. */
	partial_name(INO, name);
	for (off_t off = 0; off < (off_t)sizeof(struct partial_header) + 4;
	     off++) {
		char was;
		char now;

		assert_int_equal(pread(map, &was, 1, off), 1);
		now = (char)(was ^ 0x40);
		assert_int_equal(pwrite(map, &now, 1, off), 1);
		expect_refused();
		assert_int_equal(pwrite(map, &was, 1, off), 1);
	}
	assert_int_equal(ftruncate(map, PARTIAL_BITS_OFF), 0);
	expect_refused();
	assert_int_equal(ftruncate(map, 10), 0);
	expect_refused();
	assert_int_equal(unlink(name), 0);
	assert_int_equal(symlink("base", name), 0);
	expect_refused();
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	expect_refused();
}

static void origins_say_what_is_partial(void **state)
{
	struct origin origin = {.ino = 1, .partial_tag = 0xfedcba98};
	struct origin seen;

	(void)state;
	assert_int_equal(origin_write(here, "upper", &origin), 0);
	assert_int_equal(origin_read(here, "upper", &seen), 1);
	assert_int_equal(seen.partial_tag, 0xfedcba98);
	origin.partial_tag = 0;
	assert_int_equal(origin_write(here, "upper", &origin), 0);
	assert_int_equal(origin_read(here, "upper", &seen), 1);
	assert_int_equal(seen.partial_tag, 0);
}

#define PARTIAL_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PARTIAL_TEST(reads_each_block_from_its_side),
		PARTIAL_TEST(survives_the_disk),
		PARTIAL_TEST(notes_whole_blocks_only),
		PARTIAL_TEST(what_was_cut_off_never_comes_back),
		PARTIAL_TEST(a_kill_between_cut_and_map_is_made_good),
		PARTIAL_TEST(finds_holes_and_data),
		PARTIAL_TEST(a_base_that_changed_gives_nothing),
		PARTIAL_TEST(foreign_maps_are_refused),
		PARTIAL_TEST(origins_say_what_is_partial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
