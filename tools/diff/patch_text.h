/*
 * patch_text.h - the patch of one change, cut into lines and hunks.
 *
 * For the browser, which shows lines and marks hunks, and to write a patch of
 * some hunks alone.
 *
 * Threads: any; no state. Errors: -ENOMEM.
 */
#ifndef TOOLS_DIFF_PATCH_TEXT_H
#define TOOLS_DIFF_PATCH_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "compiler.h"
#include "format.h"
#include "marks.h"

struct patch_line {
	const char *text; /* into the whole; no newline at its end */
	size_t len;
};

struct patch_text {
	char *whole; /* owned */
	size_t len;
	struct patch_line *lines; /* owned */
	size_t n;
	size_t *hunks; /* owned; numbers of the lines that begin one */
	size_t n_hunks;
};

#define AUTO_PATCH_TEXT AUTO(patch_text_release) struct patch_text

/* Fills an empty one. `format` says how; its `out` is not used. A change that
 * has no patch has no lines. */
int patch_text_make(struct patch_text *patch, const struct format *format,
		    const struct diff *diff,
		    const struct change *change) MUST_CHECK;

/* The hunk that line `line` is in; n_hunks for none. */
size_t patch_text_hunk_at(const struct patch_text *patch, size_t line);

/* Adds the patch with the marked hunks of change `index` alone; the others are
 * not made, so what follows them moves. */
void patch_text_add_marked(struct buf *out, const struct patch_text *patch,
			   const struct marks *marks, size_t index);

void patch_text_release(struct patch_text *patch);

#endif
