#include "visible.h"

#include <string.h>

#include "unit.h"

static void assert_visible(const char *text, size_t len, const char *want)
{
	AUTO_BUF buf = BUF_INIT;

	visible_add(&buf, text, len);
	assert_string_equal(buf.data, want);
}

#define CHECK(text, want) assert_visible(text, sizeof(text) - 1, want)

static void text_stays(void **state)
{
	(void)state;
	CHECK("plain\ttext\n", "plain\ttext\n");
	CHECK("gr\xc3\xb6\xc3\x9f"
	      "e \xe6\x97\xa5 \xf0\x9f\x98\x80",
	      "gr\xc3\xb6\xc3\x9f"
	      "e \xe6\x97\xa5 \xf0\x9f\x98\x80");
}

static void controls_are_spelled_out(void **state)
{
	(void)state;
	CHECK("\033[31m\r\a\0\x7f", "^[[31m^M^G^@^?");
	CHECK("\xc2\x9b", "<U+009B>");
	CHECK("\xe2\x80\xae\xe2\x81\xa6\xef\xbb\xbf",
	      "<U+202E><U+2066><U+FEFF>");
}

static void broken_utf8_is_bytes(void **state)
{
	(void)state;
	CHECK("\xff\x80\xc0\xaf", "<FF><80><C0><AF>");
	CHECK("\xe2\x80", "<E2><80>");
	CHECK("\xe2x\xf0\x9f", "<E2>x<F0><9F>");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_stays),
		cmocka_unit_test(controls_are_spelled_out),
		cmocka_unit_test(broken_utf8_is_bytes),
	};

	return cmocka_run_group_tests_name("diff_visible", tests, NULL, NULL);
}
