#include "buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

char buf_empty[1];

#define BUF_MIN_CAPACITY 64

void buf_release(struct buf *buf)
{
	if (buf->data != buf_empty) {
		free(buf->data);
	}
	*buf = (struct buf)BUF_INIT;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	buf->failed = false;
	if (buf->capacity) {
		buf->data[0] = '\0';
	}
}

int buf_error(const struct buf *buf)
{
	return buf->failed ? -ENOMEM : 0;
}

int buf_reserve(struct buf *buf, size_t extra)
{
	size_t need;
	size_t capacity = buf->capacity ? buf->capacity : BUF_MIN_CAPACITY;
	char *data;

	if (__builtin_add_overflow(buf->len, extra, &need) ||
	    __builtin_add_overflow(need, 1, &need) || need > SIZE_MAX / 2) {
		buf->failed = true;
		return -ENOMEM;
	}
	if (need <= buf->capacity) {
		return 0;
	}
	while (capacity < need) {
		capacity *= 2;
	}
	data = realloc(buf->capacity ? buf->data : NULL, capacity);
	if (!data) {
		buf->failed = true;
		return -ENOMEM;
	}
	if (!buf->capacity) {
		data[0] = '\0';
	}
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
	if (len == 0 || buf_reserve(buf, len)) {
		return;
	}
	memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_adds(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_addc(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_addf(struct buf *buf, const char *format, ...)
{
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 || buf_reserve(buf, (size_t)len)) {
		buf->failed = true;
		return;
	}
	va_start(args, format);
	vsnprintf(buf->data + buf->len, (size_t)len + 1, format, args);
	va_end(args);
	buf->len += (size_t)len;
}

void buf_truncate(struct buf *buf, size_t len)
{
	if (len < buf->len) {
		buf->len = len;
		buf->data[len] = '\0';
	}
}

char *buf_detach(struct buf *buf)
{
	char *data = buf->data;

	if (data == buf_empty) {
		data = strdup("");
	}
	*buf = (struct buf)BUF_INIT;
	return data;
}

/* Length of the UTF-8 sequence at `s`, 0 if it is not a valid one. */
static size_t utf8_length(const unsigned char *s)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc0 ? 2 : 0;
	uint32_t code = 0;

	if (!len || s[0] > 0xf4) {
		return 0;
	}
	code = s[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			return 0;
		}
		code = code << 6 | (s[i] & 0x3fU);
	}
	if (code < least[len] || code > 0x10ffff ||
	    (code >= 0xd800 && code <= 0xdfff) ||
	    (code >= 0x80 && code < 0xa0)) {
		return 0;
	}
	return len;
}

/* The letter of a C escape for `c`, or 0. */
static char escape_letter(unsigned char c)
{
	static const char from[] = "\a\b\t\n\v\f\r\"\\";
	static const char to[] = "abtnvfr\"\\";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? to[at - from] : '\0';
}

/* Adds the character at `s` escaped; returns the bytes used. */
static size_t add_quoted_char(struct buf *buf, const unsigned char *s)
{
	char letter = escape_letter(*s);
	size_t len = *s >= 0x80 ? utf8_length(s) : 1;

	if (letter) {
		buf_addc(buf, '\\');
		buf_addc(buf, letter);
	} else if (*s < 0x20 || *s == 0x7f || len == 0) {
		buf_addf(buf, "\\%03o", *s);
	} else {
		buf_add(buf, s, len);
		return len;
	}
	return 1;
}

static bool needs_quotes(const unsigned char *s)
{
	while (*s) {
		size_t len = *s >= 0x80 ? utf8_length(s) : 1;

		if (escape_letter(*s) || *s < 0x20 || *s == 0x7f || !len) {
			return true;
		}
		s += len;
	}
	return false;
}

void buf_add_quoted(struct buf *buf, const char *name)
{
	const unsigned char *s = (const unsigned char *)name;

	if (!needs_quotes(s)) {
		buf_adds(buf, name);
		return;
	}
	buf_addc(buf, '"');
	while (*s) {
		s += add_quoted_char(buf, s);
	}
	buf_addc(buf, '"');
}
