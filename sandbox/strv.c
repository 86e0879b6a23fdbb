#include "strv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "failure.h"
#include "fdio.h"

#define CAPACITY_MIN 32

void strv_release(struct strv *strv)
{
	for (size_t i = 0; i < strv->count; i++) {
		free(strv->list[i]);
	}
	free(strv->list);
	*strv = (struct strv){0};
}

static void add_owned(struct strv *strv, char *text)
{
	if (strv->count + 1 >= strv->capacity) {
		size_t capacity =
			strv->capacity ? strv->capacity * 2 : CAPACITY_MIN;
		char **list = reallocarray(strv->list, capacity, sizeof(*list));

		die_if_no_memory(!list);
		strv->list = list;
		strv->capacity = capacity;
	}
	strv->list[strv->count++] = text;
	strv->list[strv->count] = NULL;
}

void strv_add(struct strv *strv, const char *text)
{
	add_owned(strv, text_copy(text));
}

void strv_add_all(struct strv *strv, ...)
{
	const char *text;
	va_list args;

	va_start(args, strv);
	while ((text = va_arg(args, const char *)) != NULL) {
		strv_add(strv, text);
	}
	va_end(args);
}

void strv_addf(struct strv *strv, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	die_if_no_memory(len < 0);
	add_owned(strv, text);
}

int strv_to_memory(char *const *strings)
{
	AUTO_FD fd = memfd_create("strings", MFD_CLOEXEC);
	int error = fd < 0 ? -errno : 0;

	for (; !error && *strings; strings++) {
		error = fdio_write_all(fd, *strings, strlen(*strings) + 1);
	}
	if (!error && lseek(fd, 0, SEEK_SET) != 0) {
		error = -errno;
	}
	return error ? error : TAKE_FD(fd);
}
