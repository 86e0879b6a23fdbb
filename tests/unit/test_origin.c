#include "origin.h"

#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>

#include "origin_format.h"
#include "unit.h"

/* The test's folder. */
static int here = -1;

static int here_setup(void **state)
{
	temp_setup(state);
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return here < 0;
}

static int here_teardown(void **state)
{
	close(here);
	return temp_teardown(state);
}

static void stat_of(const char *name, struct stat *st)
{
	assert_int_equal(lstat(name, st), 0);
}

static void survives_the_disk(void **state)
{
	struct origin written;
	struct origin seen = {0};
	struct stat st;

	(void)state;
	temp_write("f", "x", 1);
	stat_of("f", &st);
	origin_from_stat(&written, &st);
	assert_int_equal(origin_write(here, "", &written), 0);
	assert_int_equal(origin_read(here, "", &seen), 1);
	assert_memory_equal(&seen, &written, sizeof(seen));
	assert_true(origin_matches(&seen, &st));
}

static void is_little_endian_on_disk(void **state)
{
	static const unsigned char wanted[56] = {
		[0] = 1,     [1] = 9,     [8] = 0x02,  [9] = 0x01,
		[16] = 3,    [24] = 4,    [32] = 0xff, [33] = 0xff,
		[34] = 0xff, [35] = 0xff, [36] = 0xff, [37] = 0xff,
		[38] = 0xff, [39] = 0xff, [40] = 6,    [48] = 7,
	};
	const struct origin origin = {0x0102, 3, 4, UINT64_MAX, 6, 7, 9, 0};
	unsigned char raw[64];

	(void)state;
	assert_int_equal(origin_write(here, "", &origin), 0);
	assert_int_equal(getxattr(".", ORIGIN_ATTR, raw, sizeof(raw)), 56);
	assert_memory_equal(raw, wanted, sizeof(wanted));
}

static void birth_is_in_the_key_and_touching_is_not(void **state)
{
	const struct timespec times[2] = {{1, 0}, {1, 0}};
	struct origin origin;
	char before[ORIGIN_KEY_BYTES];
	char after[ORIGIN_KEY_BYTES];
	struct stat st;

	(void)state;
	temp_write("f", "x", 1);
	stat_of("f", &st);
	origin_from_stat(&origin, &st);
	assert_int_equal(origin_add_birth(&origin, here, "f"), 0);
	origin_key(&origin, before);
	assert_int_equal(utimensat(here, "f", times, 0), 0);
	stat_of("f", &st);
	origin_from_stat(&origin, &st);
	assert_int_equal(origin_add_birth(&origin, here, "f"), 0);
	origin_key(&origin, after);
	assert_string_equal(before, after);
	origin.birth_ns++;
	origin_key(&origin, after);
	assert_string_not_equal(before, after);
	assert_int_equal(origin_add_birth(&origin, here, "none"), -ENOENT);
}

static void any_change_shows(void **state)
{
	struct origin origin;
	struct stat st;
	struct stat other;

	(void)state;
	temp_write("f", "x", 1);
	stat_of("f", &st);
	origin_from_stat(&origin, &st);
	other = st;
	other.st_dev++;
	assert_false(origin_matches(&origin, &other));
	other = st;
	other.st_ino++;
	assert_false(origin_matches(&origin, &other));
	other = st;
	other.st_size++;
	assert_false(origin_matches(&origin, &other));
	other = st;
	other.st_mtim.tv_nsec ^= 1;
	assert_false(origin_matches(&origin, &other));
	other = st;
	other.st_ctim.tv_sec++;
	assert_false(origin_matches(&origin, &other));
	other = st;
	other.st_atim.tv_sec++;
	assert_true(origin_matches(&origin, &other));
}

static void times_before_1970(void **state)
{
	struct origin origin;
	struct stat st;

	(void)state;
	temp_write("f", "x", 1);
	stat_of("f", &st);
	st.st_mtim.tv_sec = -2000000000;
	origin_from_stat(&origin, &st);
	assert_int_equal(origin_write(here, "", &origin), 0);
	assert_int_equal(origin_read(here, "", &origin), 1);
	assert_true(origin_matches(&origin, &st));
}

static void none_and_broken_ones(void **state)
{
	char raw[64] = {ORIGIN_VERSION};
	struct origin untouched = {.ino = 77};
	int fd;

	(void)state;
	temp_write("f", "", 0);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	assert_int_equal(origin_read(fd, "", &untouched), 0);
	assert_int_equal(fsetxattr(fd, ORIGIN_ATTR, raw, 55, 0), 0);
	assert_int_equal(origin_read(fd, "", &untouched), -EBADMSG);
	assert_int_equal(fsetxattr(fd, ORIGIN_ATTR, raw, 57, 0), 0);
	assert_int_equal(origin_read(fd, "", &untouched), -EBADMSG);
	assert_int_equal(fsetxattr(fd, ORIGIN_ATTR, raw, 0, 0), 0);
	assert_int_equal(origin_read(fd, "", &untouched), -EBADMSG);
	raw[0] = ORIGIN_VERSION + 1;
	assert_int_equal(fsetxattr(fd, ORIGIN_ATTR, raw, 56, 0), 0);
	assert_int_equal(origin_read(fd, "", &untouched), -EBADMSG);
	assert_int_equal(untouched.ino, 77);
	close(fd);
}

static void a_symlink_has_no_place_for_it(void **state)
{
	const struct origin origin = {.ino = 1};
	struct origin seen;
	int error;

	(void)state;
	assert_int_equal(symlink("f", "l"), 0);
	error = origin_write(here, "l", &origin);
	assert_true(error == -EPERM || error == -EOPNOTSUPP);
	assert_int_equal(origin_read(here, "l", &seen), 0);
}

#define ORIGIN_TEST(f)                                                         \
	cmocka_unit_test_setup_teardown(f, here_setup, here_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ORIGIN_TEST(survives_the_disk),
		ORIGIN_TEST(is_little_endian_on_disk),
		ORIGIN_TEST(birth_is_in_the_key_and_touching_is_not),
		ORIGIN_TEST(any_change_shows),
		ORIGIN_TEST(times_before_1970),
		ORIGIN_TEST(none_and_broken_ones),
		ORIGIN_TEST(a_symlink_has_no_place_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
