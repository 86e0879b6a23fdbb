/*
 * die.h - ends a test program that can't do its own work.
 *
 * (The C library's <err.h> is hidden by fs/base/err.h wherever that folder is
 * searched for includes.)
 */
#ifndef TESTS_LIB_DIE_H
#define TESTS_LIB_DIE_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 1, 2), noreturn)) static inline void
die(const char *format, ...)
{
	const char *reason = strerrordesc_np(errno);
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", reason ? reason : "?");
	exit(EXIT_FAILURE);
}

#endif
