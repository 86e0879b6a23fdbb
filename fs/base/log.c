#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#define LOG_LINE_BYTES 1024

/* Set once before threads start (log_setup). */
static int log_fd = STDERR_FILENO;
static enum log_level log_limit = LOG_LEVEL_WARN;

void log_setup(int fd, enum log_level level)
{
	log_fd = fd;
	log_limit = level;
}

enum log_level log_level(void)
{
	return log_limit;
}

/* Ends the line with its newline, cutting it where it is too long. */
static size_t finish_line(char *line, int len)
{
	size_t used = len < 0 ? 0 : (size_t)len;

	if (used > LOG_LINE_BYTES - 2) {
		used = LOG_LINE_BYTES - 2;
	}
	line[used] = '\n';
	return used + 1;
}

void log_line(enum log_level level, const char *format, ...)
{
	static const char *const names[] = {"error", "warn", "info", "debug"};
	char line[LOG_LINE_BYTES];
	struct timespec now;
	struct tm utc;
	va_list args;
	int saved = errno;
	int len;

	if (level > log_limit) {
		return;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	len = (int)strftime(line, sizeof(line), "%Y-%m-%dT%H:%M:%S", &utc);
	len += snprintf(line + len, sizeof(line) - (size_t)len,
			".%03ldZ %s: ", now.tv_nsec / 1000000, names[level]);
	va_start(args, format);
	len += vsnprintf(line + len, sizeof(line) - (size_t)len, format, args);
	va_end(args);
	if (write(log_fd, line, finish_line(line, len)) < 0) {
		/* Nowhere to say so: a full disk must not stop the work. */
		errno = saved;
		return;
	}
	errno = saved;
}
