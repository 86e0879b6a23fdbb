/*
 * text.h - small pieces of text that the formats share.
 *
 * All add to a buf. Threads: any; no state.
 */
#ifndef TOOLS_DIFF_TEXT_H
#define TOOLS_DIFF_TEXT_H

#include <stdint.h>

#include "buf.h"
#include "change.h"

/* "D 1, M 2"; nothing where all are 0. */
void text_add_counts(struct buf *buf, const struct change_counts *counts);

/* "14 bytes", "12.4 KiB". */
void text_add_size(struct buf *buf, uint64_t bytes);

/* "M f", "R100 f", "T f>l": letter, similarity of a rename, kind. */
void text_add_status(struct buf *buf, const struct change *change,
		     int similarity);

/* `path` behind `prefix`, quoted as git does, with a '/' behind a directory. */
void text_add_path(struct buf *buf, const char *prefix, const char *path,
		   enum change_kind kind);

#endif
