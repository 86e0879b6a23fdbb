#include "layer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

static struct layer layer;

/* A layer "top" with a secret beside it. */
static int layer_setup(void **state)
{
	temp_setup(state);
	temp_write("secret", "s", 1);
	if (mkdir("top", 0755) || mkdir("top/d", 0755) ||
	    mkdir("top/d/e", 0755)) {
		return -1;
	}
	temp_write("top/d/e/f", "f", 1);
	return layer_open(&layer, AT_FDCWD, "top");
}

static int layer_teardown(void **state)
{
	layer_close(&layer);
	layer_close(&layer);
	return temp_teardown(state);
}

static void opens_what_is_in_it(void **state)
{
	static const char *const paths[] = {"", "d", "d/e", "d/e/f", "d//e"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO_FD fd = layer_open_path(&layer, paths[i], O_PATH);

		assert_true(fd >= 0);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	}
	assert_int_equal(layer_open_path(&layer, "d/x", O_RDONLY), -ENOENT);
	assert_int_equal(layer_open_path(&layer, "d/e/f/x", O_RDONLY),
			 -ENOTDIR);
}

static void opening_it(void **state)
{
	struct layer other = {.root_fd = -1};

	(void)state;
	assert_int_equal(layer_open(&other, AT_FDCWD, "none"), -ENOENT);
	assert_int_equal(layer_open(&other, AT_FDCWD, "secret"), -ENOTDIR);
	assert_int_equal(other.root_fd, -1);
	layer_close(&other);
	assert_int_equal(symlink("top", "to-top"), 0);
	assert_int_equal(layer_open(&other, AT_FDCWD, "to-top"), 0);
	assert_int_equal(other.dev, layer.dev);
	layer_close(&other);
	assert_int_equal(other.root_fd, -1);
}

/* Everything here leads, or could lead, out of the layer. */
static void nothing_leads_out(void **state)
{
	static const char *const paths[] = {
		"..",          "../secret", "d/../../secret",
		"/etc/passwd", "out",       "up/secret",
		"abs",         "d/same",    "d/same/f",
		"proc/fd",
	};

	(void)state;
	assert_int_equal(symlink("../secret", "top/out"), 0);
	assert_int_equal(symlink("..", "top/up"), 0);
	assert_int_equal(symlink("/etc/passwd", "top/abs"), 0);
	assert_int_equal(symlink("e", "top/d/same"), 0);
	assert_int_equal(symlink("/proc/self", "top/proc"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		AUTO_FD fd = layer_open_path(&layer, paths[i], O_RDONLY);

		if (fd >= 0) {
			fail_msg("'%s' was opened", paths[i]);
		}
		assert_true(fd == -ELOOP || fd == -EXDEV);
	}
}

/* A folder that is moved out while a path through it is resolved. */
static void folder_replaced_by_a_link(void **state)
{
	(void)state;
	assert_int_equal(rename("top/d", "top/moved"), 0);
	assert_int_equal(symlink("..", "top/d"), 0);
	assert_int_equal(layer_open_path(&layer, "d/secret", O_RDONLY), -ELOOP);
}

/* Longer than one system call takes. */
static void paths_beyond_path_max(void **state)
{
	AUTO_FREE char *path = calloc(1, (size_t)PATH_MAX * 3);
	AUTO_FD at = open("top", O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_FD fd = -1;
	char name[101];
	int depth = 0;

	(void)state;
	memset(name, 'n', 100);
	name[100] = '\0';
	while (strlen(path) < (size_t)PATH_MAX * 2) {
		int next;

		assert_int_equal(mkdirat(at, name, 0755), 0);
		next = openat(at, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
		strcat(strcat(path, depth++ ? "/" : ""), name);
	}
	fd = layer_open_path(&layer, path, O_PATH);
	assert_true(fd >= 0);

	/* and a link in the middle of it is still refused */
	assert_int_equal(symlinkat("..", at, "up"), 0);
	strcat(path, "/up/");
	strcat(path, name);
	assert_int_equal(layer_open_path(&layer, path, O_PATH), -ELOOP);
}

static void one_endless_name(void **state)
{
	AUTO_FREE char *name = malloc(PATH_MAX * 2);

	(void)state;
	memset(name, 'n', PATH_MAX * 2 - 1);
	name[PATH_MAX * 2 - 1] = '\0';
	assert_int_equal(layer_open_path(&layer, name, O_PATH), -ENAMETOOLONG);
}

#define LAYER_TEST(f)                                                          \
	cmocka_unit_test_setup_teardown(f, layer_setup, layer_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LAYER_TEST(opens_what_is_in_it),
		LAYER_TEST(opening_it),
		LAYER_TEST(nothing_leads_out),
		LAYER_TEST(folder_replaced_by_a_link),
		LAYER_TEST(paths_beyond_path_max),
		LAYER_TEST(one_endless_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
