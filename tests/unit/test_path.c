#include "path.h"

#include <string.h>

#include "unit.h"

static void components(void **state)
{
	char longest[257];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	longest[256] = '\0';
	assert_false(path_component_valid(longest));
	longest[255] = '\0';
	assert_true(path_component_valid(longest));

	assert_true(path_component_valid("a"));
	assert_true(path_component_valid("..."));
	assert_true(path_component_valid(".a"));
	assert_true(path_component_valid("\n\377"));
	assert_false(path_component_valid(""));
	assert_false(path_component_valid("."));
	assert_false(path_component_valid(".."));
	assert_false(path_component_valid("/"));
	assert_false(path_component_valid("a/b"));
	assert_false(path_component_valid("a/"));
}

static void within_means_whole_components(void **state)
{
	(void)state;
	assert_true(path_is_within("/a/b", "/a"));
	assert_true(path_is_within("/a", "/a"));
	assert_true(path_is_within("/a", "/"));
	assert_true(path_is_within("/", "/"));
	assert_false(path_is_within("/ab", "/a"));
	assert_false(path_is_within("/", "/a"));
	assert_false(path_is_within("/b/a", "/a"));
}

static void beneath(void **state)
{
	(void)state;
	assert_string_equal(path_beneath("/a/b/c", "/a"), "b/c");
	assert_string_equal(path_beneath("/a", "/a"), "");
	assert_string_equal(path_beneath("/a", "/"), "a");
	assert_string_equal(path_beneath("/", "/"), "");
}

static void join(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		const char *joined;
	} cases[] = {
		{"a", "b", "a/b"},       {"", "b", "b"},
		{"a", "", "a"},          {"", "", ""},
		{"/", "b", "/b"},        {"a/", "b", "a/b"},
		{"/x", "y/z", "/x/y/z"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_FREE char *joined = path_join(cases[i].a, cases[i].b);

		assert_string_equal(joined, cases[i].joined);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components),
		cmocka_unit_test(within_means_whole_components),
		cmocka_unit_test(beneath),
		cmocka_unit_test(join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
