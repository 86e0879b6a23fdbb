/* Times and sizes as a person writes them. */
#include "duration.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void times_have_units(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} cases[] = {{"0", 0},       {"90", 90},    {"90s", 90},
		     {"15m", 900},   {"2min", 120}, {"24h", 86400},
		     {"7d", 604800}, {"1w", 604800}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t ns = -1;

		assert_int_equal(duration_parse(cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].seconds * NS_PER_SECOND);
	}
}

static void what_is_none_is_refused(void **state)
{
	static const char *const texts[] = {"",   "s",   "-1", " 1",  "1 s",
					    "1x", "1.5", "+1", "0x1", "1hh"};
	int64_t value = -1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		assert_int_equal(duration_parse(texts[i], &value), -EINVAL);
		assert_int_equal(size_parse(texts[i], &value), -EINVAL);
	}
	assert_int_equal(duration_parse("99999999999", &value), -ERANGE);
	assert_int_equal(duration_parse("99999999999999999999", &value),
			 -ERANGE);
	assert_int_equal(size_parse("9999999999T", &value), -EINVAL);
	assert_int_equal(value, -1);
}

static void sizes_are_powers_of_1024(void **state)
{
	int64_t bytes;

	(void)state;
	assert_int_equal(size_parse("17", &bytes), 0);
	assert_int_equal(bytes, 17);
	assert_int_equal(size_parse("4G", &bytes), 0);
	assert_int_equal(bytes, 4LL << 30);
	assert_int_equal(size_parse("3KiB", &bytes), 0);
	assert_int_equal(bytes, 3072);
	assert_int_equal(size_parse("none", &bytes), 0);
	assert_true(bytes == INT64_MAX);
}

static void both_are_printed_short(void **state)
{
	char text[32];

	(void)state;
	size_format(text, sizeof(text), 1023);
	assert_string_equal(text, "1023");
	size_format(text, sizeof(text), 3500);
	assert_string_equal(text, "3.4K");
	size_format(text, sizeof(text), 17LL << 20);
	assert_string_equal(text, "17M");
	size_format(text, sizeof(text), INT64_MAX);
	assert_string_equal(text, "8.0E");
	duration_format(text, sizeof(text), 59 * NS_PER_SECOND);
	assert_string_equal(text, "59 s");
	duration_format(text, sizeof(text), 7200 * NS_PER_SECOND);
	assert_string_equal(text, "2 h");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_have_units),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(sizes_are_powers_of_1024),
		cmocka_unit_test(both_are_printed_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
