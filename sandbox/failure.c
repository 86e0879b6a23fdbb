#include "failure.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES 4096

/* Owned; -1 for stderr. */
static int redirected_fd = -1;

void failure_redirect(int fd)
{
	auto_close_fd(&redirected_fd);
	redirected_fd = fd;
}

static PRINTF_LIKE(1, 0) void print_line(const char *format, va_list args)
{
	char line[LINE_BYTES];
	int saved = errno;

	vsnprintf(line, sizeof(line), format, args);
	for (char *c = line; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			*c = '?';
		}
	}
	dprintf(redirected_fd < 0 ? STDERR_FILENO : redirected_fd,
		"legato-sandbox: %s\n", line);
	errno = saved;
}

int failure(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
	return code;
}

void warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(format, args);
	va_end(args);
}

void die_no_memory(void)
{
	exit(failure(EXIT_NOT_SET_UP, "out of memory"));
}

char *text_copy(const char *text)
{
	char *copy = strdup(text);

	die_if_no_memory(!copy);
	return copy;
}

char *text_format(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	die_if_no_memory(len < 0);
	return text;
}
