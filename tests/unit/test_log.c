#include "log.h"

#include <fcntl.h>
#include <regex.h>
#include <string.h>

#include "unit.h"

static int log_here(enum log_level level)
{
	int fd = open("log", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	log_setup(fd, level);
	return fd;
}

static void has_time_level_and_text(void **state)
{
	static const char pattern[] =
		"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
		"\\.[0-9]{3}Z warn: can't open 'x': 7\n$";
	AUTO_FD fd = log_here(LOG_LEVEL_WARN);
	AUTO_FREE char *text = NULL;
	regex_t regex;
	size_t size;

	(void)state;
	log_warn("can't open '%s': %d", "x", 7);
	text = temp_read("log", &size);
	assert_true(fd >= 0);
	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	assert_int_equal(regexec(&regex, text, 0, NULL, 0), 0);
	regfree(&regex);
}

static int evaluated;

static int evaluate(void)
{
	return ++evaluated;
}

static void leaves_out_what_is_below_the_level(void **state)
{
	AUTO_FD fd = log_here(LOG_LEVEL_INFO);
	AUTO_FREE char *text = NULL;
	size_t size;

	(void)state;
	log_debug("%d", evaluate());
	assert_int_equal(evaluated, 0);
	log_info("shown");
	log_error("shown too");
	text = temp_read("log", &size);
	assert_non_null(strstr(text, "info: shown\n"));
	assert_non_null(strstr(text, "error: shown too\n"));
	log_setup(fd, LOG_LEVEL_ERROR);
	log_warn("hidden");
	free(text);
	text = temp_read("log", &size);
	assert_null(strstr(text, "hidden"));
}

static void cuts_long_lines_and_keeps_errno(void **state)
{
	AUTO_FD fd = log_here(LOG_LEVEL_INFO);
	AUTO_FREE char *text = NULL;
	size_t size;

	(void)state;
	errno = ENOTTY;
	log_info("%5000d", 1);
	assert_int_equal(errno, ENOTTY);
	log_info("next");
	assert_true(fd >= 0);
	text = temp_read("log", &size);
	assert_true(size < 2048);
	assert_non_null(strstr(text, " \n"));
	assert_non_null(strstr(text, "info: next\n"));

	log_setup(-1, LOG_LEVEL_INFO);
	errno = ENOTTY;
	log_info("nowhere");
	assert_int_equal(errno, ENOTTY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_IN_FOLDER(has_time_level_and_text),
		UNIT_TEST_IN_FOLDER(leaves_out_what_is_below_the_level),
		UNIT_TEST_IN_FOLDER(cuts_long_lines_and_keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
