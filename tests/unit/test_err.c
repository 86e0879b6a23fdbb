#include "err.h"

#include <errno.h>
#include <limits.h>

#include "unit.h"

static void takes_either_sign(void **state)
{
	(void)state;
	assert_string_equal(err_name(ENOENT), "ENOENT");
	assert_string_equal(err_name(-ENOENT), "ENOENT");
	assert_string_equal(err_text(ENOENT), "No such file or directory");
	assert_string_equal(err_text(-ENOENT), "No such file or directory");
}

static void unknown_numbers(void **state)
{
	(void)state;
	assert_string_equal(err_name(99999), "E?");
	assert_non_null(err_text(99999));
	assert_non_null(err_name(INT_MIN));
	assert_non_null(err_text(INT_MIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_either_sign),
		cmocka_unit_test(unknown_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
