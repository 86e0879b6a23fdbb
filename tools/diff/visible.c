#include "visible.h"

#include <stdbool.h>
#include <stdint.h>

/* The length of the UTF-8 sequence at `text`; 1 for what is none. */
static size_t sequence_length(const unsigned char *text, size_t left)
{
	size_t len = text[0] < 0xc2   ? 1
		     : text[0] < 0xe0 ? 2
		     : text[0] < 0xf0 ? 3
		     : text[0] < 0xf5 ? 4
				      : 1;

	for (size_t i = 1; i < len; i++) {
		if (i >= left || (text[i] & 0xc0) != 0x80) {
			return 1;
		}
	}
	return len;
}

/* C1 controls, and what changes the direction or the width of the text
 * around it (Unicode's Bidi_Control, zero-width spaces, line separators). */
static bool is_trick(uint32_t code)
{
	return (code >= 0x80 && code < 0xa0) || code == 0x061c ||
	       (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x2069) || code == 0xfeff;
}

static uint32_t decode(const unsigned char *text, size_t len)
{
	uint32_t code = text[0] & (0x7fU >> len);

	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (text[i] & 0x3fU);
	}
	return code;
}

/* Adds the first character of `text`; returns the bytes used. */
static size_t add_one(struct buf *buf, const unsigned char *text, size_t left)
{
	size_t len = sequence_length(text, left);

	if (text[0] == '\t' || text[0] == '\n' ||
	    (text[0] >= 0x20 && text[0] < 0x7f)) {
		buf_addc(buf, (char)text[0]);
	} else if (text[0] <= 0x7f) {
		buf_addf(buf, "^%c", text[0] ^ 0x40);
	} else if (len == 1) {
		/* A stray byte: in an 8-bit terminal it may be a control. */
		buf_addf(buf, "<%02X>", text[0]);
	} else if (is_trick(decode(text, len))) {
		buf_addf(buf, "<U+%04X>", decode(text, len));
	} else {
		buf_add(buf, text, len);
	}
	return len;
}

void visible_add(struct buf *buf, const char *text, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)text;

	for (size_t at = 0; at < len;) {
		at += add_one(buf, bytes + at, len - at);
	}
}
