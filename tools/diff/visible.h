/*
 * visible.h - content that can't play tricks on the terminal that shows it.
 *
 * The agent chose every byte of a diff. Escape sequences, carriage returns
 * and text direction marks could make a terminal show something else than
 * what is there, so a person gets them spelled out: ^[ or <U+202E>. Tab and
 * newline, and all other text, stay as they are.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_VISIBLE_H
#define TOOLS_DIFF_VISIBLE_H

#include <stddef.h>

#include "buf.h"

void visible_add(struct buf *buf, const char *text, size_t len);

#endif
