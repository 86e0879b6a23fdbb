/*
 * document.h - a report as one document, for programs (JSON) or for a browser
 * (HTML).
 *
 * JSON: the schema is legato-diff.schema.json; its version grows when a reader
 * of an older one could go wrong, and not when something is added.
 *
 * HTML: one page that needs nothing else: style, script and data are in it, and
 * its content security policy lets it load nothing. The data are the JSON
 * document, so that no content is ever part of the markup; the script (html/)
 * puts it on the page as text.
 *
 * Threads: as report.h.
 */
#ifndef TOOLS_DIFF_DOCUMENT_H
#define TOOLS_DIFF_DOCUMENT_H

#include <stdio.h>

#include "compiler.h"
#include "report.h"

#define DOCUMENT_VERSION 1

/* A patch above the first is left out, and all behind the second: a page has
 * to open. What is left out says so. */
#define DOCUMENT_MAX_PATCH_BYTES   (1024UL * 1024)
#define DOCUMENT_MAX_PATCHES_BYTES (96UL * 1024 * 1024)

enum document_flags {
	DOCUMENT_PATCHES = 1 << 0, /* of what is not folded */
	DOCUMENT_ALL = 1 << 1,     /* ... and of what is */
	DOCUMENT_IMAGES = 1 << 2,  /* in base64 */
	DOCUMENT_PRETTY = 1 << 3,
};

/* 0 or -ENOMEM; write errors stay in the stream. Files that can't be read are
 * told in `trouble`. */
int document_write_json(FILE *out, const struct report *report,
			unsigned int flags, struct trouble *trouble) MUST_CHECK;
int document_write_html(FILE *out, const struct report *report,
			unsigned int flags, struct trouble *trouble) MUST_CHECK;

/* The document as text, for both; the caller frees it. */
int document_json_text(char **ret_text, size_t *ret_len,
		       const struct report *report, unsigned int flags,
		       struct trouble *trouble) MUST_CHECK;

#endif
