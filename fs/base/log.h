/*
 * log.h - one line per event.
 *
 * ERROR = a person must act, WARN = degraded, INFO = start, stop and what was
 * negotiated, DEBUG = each operation. Text follows git's rules: no capital,
 * failure first, the subject in single quotes. Never file content, never
 * values of the environment. Names are escaped by the caller where they come
 * from outside (buf_add_quoted).
 *
 * Threads: log_setup() before any thread; the rest from any thread. A line is
 * one write(2), so lines do not mix.
 */
#ifndef FS_BASE_LOG_H
#define FS_BASE_LOG_H

#include "compiler.h"

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARN,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

/* `fd` stays the caller's. Default before: stderr, WARN. */
void log_setup(int fd, enum log_level level);

enum log_level log_level(void);

void log_line(enum log_level level, const char *format, ...) PRINTF_LIKE(2, 3);

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
/* The arguments are not evaluated below the level. */
#define log_debug(...)                                                         \
	do {                                                                   \
		if (log_level() >= LOG_LEVEL_DEBUG) {                          \
			log_line(LOG_LEVEL_DEBUG, __VA_ARGS__);                \
		}                                                              \
	} while (0)

#endif
