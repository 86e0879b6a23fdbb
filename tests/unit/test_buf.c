#include "buf.h"

#include <string.h>

#include "unit.h"

static void starts_as_an_empty_string(void **state)
{
	struct buf buf = BUF_INIT;

	(void)state;
	assert_string_equal(buf.data, "");
	assert_int_equal(buf.len, 0);
	assert_int_equal(buf_error(&buf), 0);
	buf_release(&buf);
	assert_string_equal(buf.data, "");
	buf_release(&buf);
}

static void adds_grow_and_stay_terminated(void **state)
{
	AUTO_BUF buf = BUF_INIT;

	(void)state;
	for (int i = 0; i < 10000; i++) {
		buf_addc(&buf, 'a');
		assert_int_equal(buf.data[buf.len], 0);
	}
	buf_adds(&buf, "bc");
	buf_addf(&buf, "%d-%s", 42, "x");
	buf_add(&buf, "\0z", 2);
	assert_int_equal(buf.len, 10000 + 2 + 4 + 2);
	assert_memory_equal(buf.data + 9999, "abc42-x\0z", 10);
	assert_int_equal(buf_error(&buf), 0);
}

static void formats_longer_than_any_first_guess(void **state)
{
	AUTO_BUF buf = BUF_INIT;

	(void)state;
	buf_addf(&buf, "%5000d|", 7);
	assert_int_equal(buf.len, 5001);
	assert_string_equal(buf.data + 4999, "7|");
}

static void truncate_only_shortens(void **state)
{
	AUTO_BUF buf = BUF_INIT;

	(void)state;
	buf_truncate(&buf, 0);
	buf_adds(&buf, "abcdef");
	buf_truncate(&buf, 3);
	assert_string_equal(buf.data, "abc");
	buf_truncate(&buf, 10);
	assert_string_equal(buf.data, "abc");
	buf_clear(&buf);
	assert_string_equal(buf.data, "");
	buf_adds(&buf, "x");
	assert_string_equal(buf.data, "x");
}

static void failure_sticks_until_cleared(void **state)
{
	AUTO_BUF buf = BUF_INIT;

	(void)state;
	buf_adds(&buf, "kept");
	assert_int_equal(buf_reserve(&buf, SIZE_MAX), -ENOMEM);
	assert_int_equal(buf_reserve(&buf, SIZE_MAX - 4), -ENOMEM);
	buf_adds(&buf, "!");
	assert_int_equal(buf_error(&buf), -ENOMEM);
	assert_int_equal(strncmp(buf.data, "kept", 4), 0);
	buf_clear(&buf);
	assert_int_equal(buf_error(&buf), 0);
}

static void detach_hands_over_and_empties(void **state)
{
	struct buf buf = BUF_INIT;
	char *text;

	(void)state;
	text = buf_detach(&buf);
	assert_string_equal(text, "");
	free(text);
	buf_adds(&buf, "mine");
	text = buf_detach(&buf);
	assert_string_equal(text, "mine");
	assert_string_equal(buf.data, "");
	free(text);
	buf_release(&buf);
}

static void quotes_as_git_does(void **state)
{
	static const struct {
		const char *name;
		const char *quoted;
	} names[] = {
		{"plain name", "plain name"},
		{"", ""},
		{"gr\303\274n", "gr\303\274n"},
		{"\342\202\254 \360\237\230\200",
		 "\342\202\254 \360\237\230\200"},
		{"tab\there", "\"tab\\there\""},
		{"a\nb", "\"a\\nb\""},
		{"a\"b", "\"a\\\"b\""},
		{"a\\b", "\"a\\\\b\""},
		{"\001\037\177", "\"\\001\\037\\177\""},
		{"\a\b\v\f\r", "\"\\a\\b\\v\\f\\r\""},
		{"\377", "\"\\377\""},
		{"a\303", "\"a\\303\""},
		{"\300\257", "\"\\300\\257\""},          /* overlong '/' */
		{"\355\240\200", "\"\\355\\240\\200\""}, /* a surrogate */
		{"\364\220\200\200", "\"\\364\\220\\200\\200\""},
		{"\303\274\377", "\"\303\274\\377\""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO_BUF buf = BUF_INIT;

		buf_add_quoted(&buf, names[i].name);
		assert_string_equal(buf.data, names[i].quoted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_as_an_empty_string),
		cmocka_unit_test(adds_grow_and_stay_terminated),
		cmocka_unit_test(formats_longer_than_any_first_guess),
		cmocka_unit_test(truncate_only_shortens),
		cmocka_unit_test(failure_sticks_until_cleared),
		cmocka_unit_test(detach_hands_over_and_empties),
		cmocka_unit_test(quotes_as_git_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
