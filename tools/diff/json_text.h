/*
 * json_text.h - bytes that may not be text, in JSON, which has only text.
 *
 * A path, a link's target or a patch is bytes. Where they are UTF-8 they are
 * the string "KEY"; where not, "KEY" has U+FFFD for what isn't, and
 * "KEY_bytes" has all of it in base64. So a reader that doesn't care needs to
 * know nothing, and one that does loses nothing.
 *
 * Threads: one at a time per document.
 */
#ifndef TOOLS_DIFF_JSON_TEXT_H
#define TOOLS_DIFF_JSON_TEXT_H

#include <stddef.h>
#include <yyjson.h>

#include "buf.h"

/* Adds it to `object`; `key` is borrowed until the document is freed. */
void json_text_add(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
		   const char *bytes, size_t len);

/* The same for a string; nothing for NULL. */
void json_text_adds(yyjson_mut_doc *doc, yyjson_mut_val *object,
		    const char *key, const char *text);

/* Adds `len` bytes to `buf` in base64. */
void json_text_base64(struct buf *buf, const char *bytes, size_t len);

#endif
