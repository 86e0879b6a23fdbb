#include "json_text.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The length of the UTF-8 sequence at `text`, 0 for none: overlong forms,
 * surrogates and what is above U+10FFFF are none (RFC 3629). */
static size_t sequence_length(const unsigned char *text, size_t left)
{
	size_t len = text[0] < 0x80   ? 1
		     : text[0] < 0xc2 ? 0
		     : text[0] < 0xe0 ? 2
		     : text[0] < 0xf0 ? 3
		     : text[0] < 0xf5 ? 4
				      : 0;

	if (len > left) {
		return 0;
	}
	for (size_t i = 1; i < len; i++) {
		if ((text[i] & 0xc0) != 0x80) {
			return 0;
		}
	}
	if ((text[0] == 0xe0 && text[1] < 0xa0) ||
	    (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] > 0x8f)) {
		return 0;
	}
	return len;
}

/* Adds `bytes` to `buf` as text; false if that is not all of it. */
static bool add_text(struct buf *buf, const char *bytes, size_t len)
{
	bool whole = true;

	for (size_t at = 0; at < len;) {
		size_t step = sequence_length((const unsigned char *)bytes + at,
					      len - at);

		if (step == 0) {
			buf_adds(buf, REPLACEMENT);
			whole = false;
			at++;
		} else {
			buf_add(buf, bytes + at, step);
			at += step;
		}
	}
	return whole;
}

void json_text_base64(struct buf *buf, const char *bytes, size_t len)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmno"
				     "pqrstuvwxyz0123456789+/";
	const unsigned char *in = (const unsigned char *)bytes;

	for (size_t at = 0; at < len; at += 3) {
		size_t n = len - at < 3 ? len - at : 3;
		unsigned int group = (unsigned int)in[at] << 16 |
				     (n > 1 ? in[at + 1] << 8 : 0) |
				     (n > 2 ? in[at + 2] : 0);

		for (size_t i = 0; i < 4; i++) {
			buf_addc(buf,
				 i > n ? '='
				       : digits[group >> (18 - 6 * i) & 63]);
		}
	}
}

void json_text_add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
		   const char *bytes, size_t len)
{
	AUTO_BUF text = BUF_INIT;
	AUTO_BUF base64 = BUF_INIT;
	AUTO_BUF bytes_key = BUF_INIT;

	if (add_text(&text, bytes, len)) {
		yyjson_mut_obj_add_strncpy(doc, object, key, text.data,
					   text.len);
		return;
	}
	json_text_base64(&base64, bytes, len);
	buf_addf(&bytes_key, "%s_bytes", key);
	yyjson_mut_obj_add_strncpy(doc, object, key, text.data, text.len);
	yyjson_mut_obj_add(
		object, yyjson_mut_strncpy(doc, bytes_key.data, bytes_key.len),
		yyjson_mut_strncpy(doc, base64.data, base64.len));
}

void json_text_adds(yyjson_mut_doc *doc, yyjson_mut_val *object,
		    const char *key, const char *text)
{
	if (text) {
		json_text_add(doc, object, key, text, strlen(text));
	}
}
