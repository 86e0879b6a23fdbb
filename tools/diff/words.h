/*
 * words.h - the difference of two texts word by word.
 *
 * A word is letters, digits and underscores (any byte above ASCII counts as a
 * letter, so that no character is cut), a stretch of blanks, a newline, or any
 * other single byte. The words are given to libgit2 one a line, and what it
 * says of lines holds for words.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_WORDS_H
#define TOOLS_DIFF_WORDS_H

#include <stddef.h>

#include "buf.h"
#include "compiler.h"

enum words_side {
	WORDS_BOTH = ' ',
	WORDS_OLD = '-',
	WORDS_NEW = '+',
};

/* Gets one word. */
typedef void words_fn(enum words_side side, const char *word, size_t len,
		      void *payload);

/* All words of both texts, in order. 0 or -ENOMEM. */
int words_compare(const struct buf *old_text, const struct buf *new_text,
		  words_fn *each, void *payload) MUST_CHECK;

#endif
