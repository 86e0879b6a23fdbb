#include "whiteout.h"

#include <fcntl.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "unit.h"

static void made_and_recognized(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(whiteout_create(AT_FDCWD, "gone"), 0);
	assert_int_equal(lstat("gone", &st), 0);
	assert_true(whiteout_is(&st));
	assert_int_equal(whiteout_create(AT_FDCWD, "gone"), -EEXIST);
}

static void nothing_else_is_one(void **state)
{
	struct stat st;

	(void)state;
	temp_write("f", "", 0);
	assert_int_equal(lstat("f", &st), 0);
	assert_false(whiteout_is(&st));
	assert_int_equal(lstat("/dev/null", &st), 0);
	assert_false(whiteout_is(&st));
	st.st_mode = S_IFBLK | 0600;
	st.st_rdev = makedev(0, 0);
	assert_false(whiteout_is(&st));
}

static void as_a_file(void **state)
{
	AUTO_FD fd = -1;
	struct stat st;
	char value;

	(void)state;
	assert_int_equal(mkdir("files", 0700), 0);
	fd = open("files", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(whiteout_has_files(fd), 0);
	assert_int_equal(whiteout_note_files(fd), 0);
	assert_int_equal(whiteout_has_files(fd), 1);
	assert_int_equal(whiteout_create_file(fd, "gone"), 0);
	assert_int_equal(fstatat(fd, "gone", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(whiteout_is_file(fd, "gone", &st), 1);
	assert_false(whiteout_is(&st));
	assert_int_equal(whiteout_create_file(fd, "gone"), -EEXIST);

	/* Said once; a directory that is opaque stays so. */
	assert_int_equal(whiteout_announce_files(fd), 0);
	assert_int_equal(getxattr("files", WHITEOUT_OPAQUE_ATTR, &value, 1), 1);
	assert_int_equal(value, 'x');
	assert_int_equal(whiteout_is_opaque(fd, ""), 0);
	assert_int_equal(whiteout_set_opaque(fd, ""), 0);
	assert_int_equal(whiteout_announce_files(fd), 0);
	assert_int_equal(whiteout_is_opaque(fd, ""), 1);

	/* Content, or no attribute: a file. */
	temp_write("files/gone", "x", 1);
	assert_int_equal(fstatat(fd, "gone", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(whiteout_is_file(fd, "gone", &st), 0);
	temp_write("files/empty", "", 0);
	assert_int_equal(fstatat(fd, "empty", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(whiteout_is_file(fd, "empty", &st), 0);
}

static void opaque(void **state)
{
	AUTO_FD path_fd = -1;
	char value[2];

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	path_fd = open("d", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(whiteout_is_opaque(path_fd, ""), 0);
	assert_int_equal(whiteout_set_opaque(path_fd, ""), 0);
	assert_int_equal(whiteout_is_opaque(path_fd, ""), 1);
	assert_int_equal(getxattr("d", "user.overlay.opaque", value, 2), 1);
	assert_int_equal(value[0], 'y');
}

static void only_y_is_opaque(void **state)
{
	AUTO_FD fd = -1;

	(void)state;
	assert_int_equal(mkdir("d", 0700), 0);
	fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(fsetxattr(fd, WHITEOUT_OPAQUE_ATTR, "n", 1, 0), 0);
	assert_int_equal(whiteout_is_opaque(fd, ""), 0);
	assert_int_equal(fsetxattr(fd, WHITEOUT_OPAQUE_ATTR, "", 0, 0), 0);
	assert_int_equal(whiteout_is_opaque(fd, ""), 0);
	assert_int_equal(fsetxattr(fd, WHITEOUT_OPAQUE_ATTR, "yes", 3, 0), 0);
	assert_int_equal(whiteout_is_opaque(fd, ""), 0);
	assert_int_equal(whiteout_is_opaque(fd, "nothing"), -ENOENT);
}

static void trusted_is_read_where_allowed(void **state)
{
	AUTO_FD fd = -1;

	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(mkdir("d", 0700), 0);
	fd = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fsetxattr(fd, "trusted.overlay.opaque", "y", 1, 0)) {
		skip(); /* root of a user namespace only */
	}
	assert_int_equal(whiteout_is_opaque(fd, ""), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_IN_FOLDER(made_and_recognized),
		UNIT_TEST_IN_FOLDER(as_a_file),
		UNIT_TEST_IN_FOLDER(nothing_else_is_one),
		UNIT_TEST_IN_FOLDER(opaque),
		UNIT_TEST_IN_FOLDER(only_y_is_opaque),
		UNIT_TEST_IN_FOLDER(trusted_is_read_where_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
