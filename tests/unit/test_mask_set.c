#include "mask_set.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "unit.h"

static void paths_are_compared_whole(void **state)
{
	char *const paths[] = {"b/.env", ".env",  "a/b/.env",
			       "a",      "b/key", NULL};
	struct mask_set set;

	(void)state;
	assert_int_equal(mask_set_init(&set, paths), 0);
	assert_true(mask_set_has(&set, "", ".env"));
	assert_true(mask_set_has(&set, "b", ".env"));
	assert_true(mask_set_has(&set, "a/b", ".env"));
	assert_true(mask_set_has(&set, "", "a"));
	assert_true(mask_set_has(&set, "b", "key"));
	assert_false(mask_set_has(&set, "a", ".env"));
	assert_false(mask_set_has(&set, "a/", ".env"));
	assert_false(mask_set_has(&set, "c", ".env"));
	assert_false(mask_set_has(&set, "", ".en"));
	assert_false(mask_set_has(&set, "", ".env2"));
	assert_false(mask_set_has(&set, "", "b"));
	assert_false(mask_set_has(&set, "", "b/key"));
	assert_false(mask_set_has(&set, "", ""));
	mask_set_release(&set);
	assert_false(mask_set_has(&set, "", ".env"));
}

static void nothing_is_masked(void **state)
{
	char *const none[] = {NULL};
	struct mask_set set;

	(void)state;
	assert_int_equal(mask_set_init(&set, NULL), 0);
	assert_false(mask_set_has(&set, "", "a"));
	assert_int_equal(mask_set_init(&set, none), 0);
	assert_false(mask_set_has(&set, "", "a"));
	mask_set_release(&set);
}

static void only_files_with_several_names_are_found(void **state)
{
	char *const paths[] = {"linked", "single", "dir",     "none",
			       "sym",    "d/x",    "file/in", NULL};
	struct mask_set set;
	struct mask_links links = {0};
	struct layer base;
	struct stat linked;
	struct stat single;
	struct stat target;

	(void)state;
	temp_write("linked", "", 0);
	temp_write("single", "", 0);
	temp_write("target", "", 0);
	temp_write("file", "", 0);
	assert_int_equal(link("linked", "other"), 0);
	assert_int_equal(link("target", "target2"), 0);
	assert_int_equal(mkdir("dir", 0700), 0);
	assert_int_equal(symlink("target", "sym"), 0);
	assert_int_equal(stat("other", &linked), 0);
	assert_int_equal(stat("single", &single), 0);
	assert_int_equal(stat("target", &target), 0);
	assert_int_equal(layer_open(&base, AT_FDCWD, "."), 0);
	assert_int_equal(mask_set_init(&set, paths), 0);
	assert_int_equal(mask_links_add(&links, &set, &base), 0);
	assert_true(mask_links_have(&links, linked.st_dev, linked.st_ino));
	assert_false(mask_links_have(&links, linked.st_dev + 1, linked.st_ino));
	assert_false(mask_links_have(&links, single.st_dev, single.st_ino));
	assert_false(mask_links_have(&links, target.st_dev, target.st_ino));
	mask_links_release(&links);
	mask_set_release(&set);
	layer_close(&base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_are_compared_whole),
		cmocka_unit_test(nothing_is_masked),
		UNIT_TEST_IN_FOLDER(only_files_with_several_names_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
