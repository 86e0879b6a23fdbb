/*
 * buf.h - a growing string of bytes.
 *
 * Invariants: once initialized, `data` is never NULL and data[len] is NUL, so
 * that it can be passed as a C string; it may hold NUL bytes too.
 *
 * Calling sequence: `struct buf b = BUF_INIT;`, add, use b.data and b.len,
 * buf_release(). AUTO_BUF releases at the end of the scope.
 *
 * Allocation failure sticks: an add that can't grow sets `failed` and leaves
 * the content alone, so a caller may add several times and test once with
 * buf_error().
 */
#ifndef FS_BASE_BUF_H
#define FS_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

struct buf {
	char *data;
	size_t len;
	/* private */
	size_t capacity;
	bool failed;
};

extern char buf_empty[1];

#define BUF_INIT                                                               \
	{                                                                      \
		.data = buf_empty                                              \
	}
#define AUTO_BUF AUTO(buf_release) struct buf

/* Frees the content; the buf can be used again. Takes a released one too. */
void buf_release(struct buf *buf);

/* Empties it, keeps the memory. Clears `failed`. */
void buf_clear(struct buf *buf);

/* 0, or -ENOMEM if any add since the last clear failed. */
int buf_error(const struct buf *buf) MUST_CHECK;

/* Makes room for `extra` more bytes. 0 or -ENOMEM. */
int buf_reserve(struct buf *buf, size_t extra);

void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_adds(struct buf *buf, const char *text);
void buf_addc(struct buf *buf, char c);
void buf_addf(struct buf *buf, const char *format, ...) PRINTF_LIKE(2, 3);

/* Shortens to `len`, which must not exceed the present length. */
void buf_truncate(struct buf *buf, size_t len);

/*
 * Adds `name` as git prints paths: as it is, or, where it holds control
 * bytes, quotes, backslashes or bytes that are not UTF-8, in double quotes
 * with C escapes. Valid UTF-8 stays readable (core.quotePath=false).
 */
void buf_add_quoted(struct buf *buf, const char *name);

/* Hands over the string (never NULL unless out of memory); empties buf. */
char *buf_detach(struct buf *buf);

#endif
