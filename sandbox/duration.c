#include "duration.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "quota_limits.h"

struct unit {
	const char *name;
	int64_t factor;
};

static const struct unit time_units[] = {
	{"", 1},        {"s", 1},         {"m", 60},        {"min", 60},
	{"h", 60 * 60}, {"d", 24 * 3600}, {"w", 7 * 86400},
};

/* A whole number and one of the units, as seconds. */
static int parse_seconds(const char *text, int64_t *ret_seconds)
{
	char *end;
	int64_t number;

	if (*text < '0' || *text > '9') {
		return -EINVAL;
	}
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno) {
		return -errno;
	}
	for (size_t i = 0; i < ARRAY_SIZE(time_units); i++) {
		if (strcmp(end, time_units[i].name) == 0) {
			return __builtin_mul_overflow(number,
						      time_units[i].factor,
						      ret_seconds)
				       ? -ERANGE
				       : 0;
		}
	}
	return -EINVAL;
}

int duration_parse(const char *text, int64_t *ret_ns)
{
	int64_t seconds;
	int64_t ns;
	int error = parse_seconds(text, &seconds);

	if (error) {
		return error;
	}
	if (__builtin_mul_overflow(seconds, NS_PER_SECOND, &ns)) {
		return -ERANGE;
	}
	*ret_ns = ns;
	return 0;
}

int size_parse(const char *text, int64_t *ret_bytes)
{
	struct quota_limits limits = QUOTA_LIMITS_NONE;

	if (quota_parse_value("size", text, &limits)) {
		return -EINVAL;
	}
	*ret_bytes =
		limits.bytes == QUOTA_NONE ? INT64_MAX : (int64_t)limits.bytes;
	return 0;
}

void duration_format(char *text, size_t size, int64_t ns)
{
	static const struct unit units[] = {
		{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};
	int64_t seconds = ns / NS_PER_SECOND;
	size_t i = 0;

	while (i < ARRAY_SIZE(units) - 1 && seconds < units[i].factor) {
		i++;
	}
	snprintf(text, size, "%" PRId64 " %s", seconds / units[i].factor,
		 units[i].name);
}

void size_format(char *text, size_t size, int64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes;
	int unit = -1;

	while (value >= 1024 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	if (unit < 0) {
		snprintf(text, size, "%" PRId64, bytes);
	} else {
		snprintf(text, size, "%.*f%c", value < 10, value, units[unit]);
	}
}

int64_t duration_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}
