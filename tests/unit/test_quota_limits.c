#include "quota_limits.h"

#include "unit.h"

#define K UINT64_C(1024)

static void all_keys(void **state)
{
	struct quota_limits limits = QUOTA_LIMITS_NONE;
	const char *bad;

	(void)state;
	assert_false(quota_limits_any(&limits));
	assert_int_equal(
		quota_parse("size=20G,files=1M,min_free=512m", &limits, &bad),
		0);
	assert_true(limits.bytes == 20 * K * K * K);
	assert_true(limits.files == 1000000);
	assert_true(limits.min_free == 512 * K * K);
	assert_true(quota_limits_any(&limits));
}

static void what_is_not_named_stays(void **state)
{
	struct quota_limits limits = {.bytes = 7, .files = 8, .min_free = 9};
	const char *bad;

	(void)state;
	assert_int_equal(quota_parse("files=none", &limits, &bad), 0);
	assert_true(limits.bytes == 7);
	assert_true(limits.files == QUOTA_NONE);
	assert_true(limits.min_free == 9);
	assert_int_equal(quota_parse("min_free=none,size=0", &limits, &bad), 0);
	assert_true(limits.bytes == 0);
	assert_true(limits.min_free == 0);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {
		{"0", 0},
		{"1", 1},
		{"4k", 4 * K},
		{"4KiB", 4 * K},
		{"4kb", 4 * K},
		{"3T", 3 * K * K * K * K},
		{"9223372036854775807", INT64_MAX},
		{"NONE", QUOTA_NONE},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct quota_limits limits = {0};

		if (quota_parse_value("size", rows[i].text, &limits) ||
		    limits.bytes != rows[i].bytes) {
			fail_msg("%s is %ju", rows[i].text,
				 (uintmax_t)limits.bytes);
		}
	}
}

static void what_is_none(void **state)
{
	static const char *const texts[] = {
		"",
		"size",
		"size=",
		"=1",
		"Size=1",
		"size=1,",
		",size=1",
		"size=1,,files=2",
		"size=1,size=2",
		"bytes=1",
		"size=-1",
		"size=+1",
		"size= 1",
		"size=1 ",
		"size=1.5G",
		"size=0x10",
		"size=G",
		"size=1GG",
		"size=1E",
		"size=1b",
		"size=9223372036854775808",
		"size=99999999999999999999999",
		"size=8388608T",
		"size=0000000000000000000000000000000000001",
		"files=1KiB",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct quota_limits limits = QUOTA_LIMITS_NONE;
		const char *bad = NULL;

		if (quota_parse(texts[i], &limits, &bad) != -EINVAL || !bad) {
			fail_msg("not refused: '%s'", texts[i]);
		}
		assert_false(quota_limits_any(&limits));
	}
}

static void the_bad_item_is_told(void **state)
{
	static const char text[] = "size=1,files=x,min_free=1";
	struct quota_limits limits = QUOTA_LIMITS_NONE;
	const char *bad = NULL;

	(void)state;
	assert_int_equal(quota_parse(text, &limits, &bad), -EINVAL);
	assert_ptr_equal(bad, text + 7);
	assert_int_equal(quota_parse_value("max", "1", &limits), -ENOENT);
	assert_int_equal(quota_parse_value("size", "x", &limits), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_keys),
		cmocka_unit_test(what_is_not_named_stays),
		cmocka_unit_test(numbers),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(the_bad_item_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
