/*
 * format.h - the forms in which a finished, filtered list is written.
 *
 * Each form writes to `out`, names what it can't read in `trouble`, and goes
 * on. Write errors stay in the stream (ferror).
 *
 * Colours are git's. Where `terminal` is set the reader is a person: control
 * characters of hostile content are made visible, and binary data is told by
 * size and hash.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_FORMAT_H
#define TOOLS_DIFF_FORMAT_H

#include <stdbool.h>
#include <stdio.h>

#include "compiler.h"
#include "diff.h"
#include "filter.h"
#include "trouble.h"

struct format {
	FILE *out;
	struct trouble *trouble;
	const char *prefix; /* before each path: "" or ending in '/' */
	bool color;
	bool terminal;
	bool nul_terminated; /* names as they are, each ending in NUL */
	bool binary;         /* patches hold binary data */
	bool word_diff;      /* patches are to be read, by words */
	unsigned int width;  /* columns, for the stat */
};

/* All return 0 or -ENOMEM. */

/* One line per change: "M f<TAB>path", "R100 f<TAB>old<TAB>new". */
int format_name_status(const struct format *format,
		       const struct diff *diff) MUST_CHECK;

/* A histogram, then what no line count tells, then totals. */
int format_stat(const struct format *format,
		const struct diff *diff) MUST_CHECK;

/* Comment lines ("# ...") for what git's format can't say, then patches that
 * git apply takes. */
int format_patch(const struct format *format,
		 const struct diff *diff) MUST_CHECK;

/* The patch of one change alone, without comments. */
int format_patch_of(const struct format *format, const struct diff *diff,
		    const struct change *change) MUST_CHECK;

#endif
