#include "summary.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"
#include "whiteout.h"

#define UPPER "run/views/work/upper"

/* An execution in the test's folder, with a base beside it. */
struct fixture {
	struct execution execution;
	struct manifest manifest;
	char *text;
};

static void make_dirs(const char *const *dirs)
{
	for (; *dirs; dirs++) {
		assert_int_equal(mkdir(*dirs, 0755), 0);
	}
}

static int setup(void **state)
{
	static const char *const dirs[] = {"base",           "run", "run/views",
					   "run/views/work", UPPER, NULL};
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char *base;

	temp_setup(NULL);
	make_dirs(dirs);
	base = realpath("base", NULL);
	fixture->execution = (struct execution)EXECUTION_INIT;
	fixture->execution.dir_fd = open("run", O_PATH | O_CLOEXEC);
	manifest_init(&fixture->manifest);
	assert_int_equal(manifest_add_view(&fixture->manifest, "work",
					   MANIFEST_OVERLAY, base, "/src"),
			 0);
	free(base);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	execution_release(&fixture->execution);
	manifest_release(&fixture->manifest);
	free(fixture->text);
	free(fixture);
	return temp_teardown(NULL);
}

static const char *summary(struct fixture *fixture, int want)
{
	size_t size;
	FILE *out;
	int result;

	free(fixture->text);
	out = open_memstream(&fixture->text, &size);
	assert_non_null(out);
	result = diff_summary_print(out, &fixture->execution,
				    &fixture->manifest);
	fclose(out);
	assert_int_equal(result, want);
	return fixture->text;
}

static void nothing_changed(void **state)
{
	assert_string_equal(summary(*state, 0), "no changes\n");
}

static void one_of_each(void **state)
{
	temp_write("base/old.c", "old\n", 4);
	temp_write("base/main.c", "a\n", 2);
	temp_write(UPPER "/main.c", "b\n", 2);
	temp_write(UPPER "/new\n.c", "12345", 5);
	assert_int_equal(whiteout_create(AT_FDCWD, UPPER "/old.c"), 0);
	assert_string_equal(summary(*state, 0),
			    "work  /src: D 1, M 1, A 1 (7 bytes)\n"
			    "  D f  old.c\n"
			    "  M f  main.c\n"
			    "  A f  \"new\\n.c\"\n");
}

static void deletions_come_first_and_the_rest_is_counted(void **state)
{
	const char *text;

	for (int i = 0; i < 30; i++) {
		char name[64];

		snprintf(name, sizeof(name), UPPER "/a%02d", i);
		temp_write(name, "x", 1);
		snprintf(name, sizeof(name), "base/z%02d", i);
		temp_write(name, "deleted", 7);
		snprintf(name, sizeof(name), UPPER "/z%02d", i);
		if (i < 3) {
			assert_int_equal(whiteout_create(AT_FDCWD, name), 0);
		}
	}
	text = summary(*state, 0);
	assert_non_null(strstr(text, "D 3, A 30 (30 bytes)\n  D f  z00\n"
				     "  D f  z01\n  D f  z02\n  A f  a00\n"));
	assert_non_null(strstr(text, "  and 19 more, not shown here: A 19\n"));
}

static void git_is_counted_apart(void **state)
{
	static const char *const dirs[] = {UPPER "/.git", NULL};

	make_dirs(dirs);
	temp_write(UPPER "/.git/description", "x", 1);
	assert_string_equal(summary(*state, 0), "work  /src: no changes but\n"
						"  .git: A 1 (1 byte)\n");
}

static void a_lost_view_does_not_hide_the_others(void **state)
{
	struct fixture *fixture = *state;

	temp_write(UPPER "/x", "x", 1);
	assert_int_equal(manifest_add_view(&fixture->manifest, "tmp",
					   MANIFEST_SCRATCH, "/nonexistent",
					   "/tmp"),
			 0);
	assert_string_equal(summary(fixture, -ENOENT),
			    "work  /src: A 1 (1 byte)\n"
			    "  A f  x\n"
			    "tmp: can't be compared: No such file or "
			    "directory\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_changed),
		TEST(one_of_each),
		TEST(deletions_come_first_and_the_rest_is_counted),
		TEST(git_is_counted_apart),
		TEST(a_lost_view_does_not_hide_the_others),
	};

	return cmocka_run_group_tests_name("diff_summary", tests, NULL, NULL);
}
