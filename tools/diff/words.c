#include "words.h"

#include <ctype.h>
#include <git2.h>
#include <limits.h>
#include <stdbool.h>

/* All of it is context: there is one hunk, or none. */
#define WHOLE_CONTEXT (INT_MAX / 4)

struct walk {
	words_fn *each;
	void *payload;
	size_t n;
};

enum class {
	CLASS_LETTER,
	CLASS_BLANK,
	CLASS_OTHER, /* words of one byte */
};

static enum class class_of(char c) {
	unsigned char byte = (unsigned char)c;

		if (byte >= 0x80 || byte == '_' ||
		    isalnum(byte)){return CLASS_LETTER;
}
return c == ' ' || c == '\t' ? CLASS_BLANK : CLASS_OTHER;
}

static size_t word_length(const char *text, size_t left)
{
	enum class class = class_of(text[0]);
	size_t len = 1;

	while (class != CLASS_OTHER && len < left &&
	       class_of(text[len]) == class) {
		len++;
	}
	return len;
}

/* One word a line. A newline, which can't be in a line, is an empty one. */
static void split(struct buf *lines, const struct buf *text)
{
	for (size_t at = 0; at < text->len;) {
		size_t len = word_length(text->data + at, text->len - at);

		if (text->data[at] != '\n') {
			buf_add(lines, text->data + at, len);
		}
		buf_addc(lines, '\n');
		at += len;
	}
}

static int take_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
		     const git_diff_line *line, void *payload)
{
	struct walk *walk = payload;
	enum words_side side;

	(void)delta;
	(void)hunk;
	switch (line->origin) {
	case GIT_DIFF_LINE_CONTEXT:
		side = WORDS_BOTH;
		break;
	case GIT_DIFF_LINE_ADDITION:
		side = WORDS_NEW;
		break;
	case GIT_DIFF_LINE_DELETION:
		side = WORDS_OLD;
		break;
	default:
		return 0;
	}
	walk->n++;
	if (line->content_len <= 1) {
		walk->each(side, "\n", 1, walk->payload);
	} else {
		walk->each(side, line->content, line->content_len - 1,
			   walk->payload);
	}
	return 0;
}

int words_compare(const struct buf *old_text, const struct buf *new_text,
		  words_fn *each, void *payload)
{
	AUTO_BUF old_lines = BUF_INIT;
	AUTO_BUF new_lines = BUF_INIT;
	struct walk walk = {.each = each, .payload = payload};
	git_diff_options options;
	git_patch *patch;
	int error;

	split(&old_lines, old_text);
	split(&new_lines, new_text);
	if (buf_error(&old_lines) || buf_error(&new_lines) ||
	    git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION)) {
		return -ENOMEM;
	}
	options.flags = GIT_DIFF_FORCE_TEXT;
	options.context_lines = WHOLE_CONTEXT;
	if (git_patch_from_buffers(&patch, old_lines.data, old_lines.len, NULL,
				   new_lines.data, new_lines.len, NULL,
				   &options)) {
		return -ENOMEM;
	}
	error = git_patch_print(patch, take_line, &walk) ? -ENOMEM : 0;
	git_patch_free(patch);
	if (!error && walk.n == 0 && old_text->len > 0) {
		each(WORDS_BOTH, old_text->data, old_text->len, payload);
	}
	return error;
}
