/*
 * duration.h - lengths of time and sizes as a person writes them.
 *
 * A duration is a number and a unit: "90", "90s", "15min" or "15m", "24h",
 * "7d", "2w"; without a unit it is seconds. A size is written as a quota's
 * (quota_limits.h).
 * Threads: any.
 */
#ifndef SANDBOX_DURATION_H
#define SANDBOX_DURATION_H

#include <stdint.h>

#include "compiler.h"

#define NS_PER_MS     1000000LL
#define NS_PER_SECOND 1000000000LL

/* -EINVAL for what is none, -ERANGE for what is too long (292 years). */
int duration_parse(const char *text, int64_t *ret_ns) MUST_CHECK;

/* -EINVAL. "none" is INT64_MAX. */
int size_parse(const char *text, int64_t *ret_bytes) MUST_CHECK;

/* "5 s", "12 min", "3 h", "4 d". */
void duration_format(char *text, size_t size, int64_t ns);

/* "0", "512", "3.4K", "17M": three digits and the unit. */
void size_format(char *text, size_t size, int64_t bytes);

/* Milliseconds of a clock that only goes forward. */
int64_t duration_now_ms(void);

#endif
