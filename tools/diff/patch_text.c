#include "patch_text.h"

#include <stdio.h>
#include <string.h>

/* "@@ -1,2 +3,4 @@ function" */
struct hunk_header {
	unsigned long old_start;
	unsigned long old_count;
	unsigned long new_start;
	unsigned long new_count;
	const char *rest; /* from the second "@@" on */
};

static bool is_hunk(const struct patch_line *line)
{
	return line->len > 4 && memcmp(line->text, "@@ -", 4) == 0;
}

static int cut(struct patch_text *patch)
{
	size_t n = 1;
	const char *at = patch->whole;
	const char *end = patch->whole + patch->len;

	for (size_t i = 0; i < patch->len; i++) {
		n += patch->whole[i] == '\n';
	}
	patch->lines = calloc(n, sizeof(*patch->lines));
	patch->hunks = calloc(n, sizeof(*patch->hunks));
	if (!patch->lines || !patch->hunks) {
		return -ENOMEM;
	}
	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct patch_line *line = &patch->lines[patch->n];

		line->text = at;
		line->len = (size_t)((newline ? newline : end) - at);
		if (is_hunk(line)) {
			patch->hunks[patch->n_hunks++] = patch->n;
		}
		patch->n++;
		at += line->len + 1;
	}
	return 0;
}

int patch_text_make(struct patch_text *patch, const struct format *format,
		    const struct diff *diff, const struct change *change)
{
	struct format own = *format;
	int error;

	own.out = open_memstream(&patch->whole, &patch->len);
	if (!own.out) {
		return -ENOMEM;
	}
	error = format_patch_of(&own, diff, change);
	if (fclose(own.out) || error) {
		return -ENOMEM;
	}
	return cut(patch);
}

size_t patch_text_hunk_at(const struct patch_text *patch, size_t line)
{
	size_t hunk = patch->n_hunks;

	for (size_t i = 0; i < patch->n_hunks && patch->hunks[i] <= line; i++) {
		hunk = i;
	}
	return hunk;
}

/* "12,3", and without a count where that is 1. */
static const char *parse_range(const char *text, unsigned long *ret_start,
			       unsigned long *ret_count)
{
	char *end;

	*ret_start = strtoul(text, &end, 10);
	*ret_count = 1;
	if (*end == ',') {
		*ret_count = strtoul(end + 1, &end, 10);
	}
	return end;
}

static void parse_header(struct hunk_header *header,
			 const struct patch_line *line)
{
	const char *at = parse_range(line->text + 4, &header->old_start,
				     &header->old_count);

	at += strspn(at, " +");
	at = parse_range(at, &header->new_start, &header->new_count);
	header->rest = at;
}

static void add_lines(struct buf *out, const struct patch_text *patch,
		      size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		buf_add(out, patch->lines[i].text, patch->lines[i].len);
		buf_addc(out, '\n');
	}
}

void patch_text_add_marked(struct buf *out, const struct patch_text *patch,
			   const struct marks *marks, size_t index)
{
	long shift = 0; /* lines that left out hunks would have added */

	if (marks_state(marks, index) != MARKS_SOME) {
		buf_add(out, patch->whole, patch->len);
		return;
	}
	add_lines(out, patch, 0, patch->hunks[0]);
	for (size_t i = 0; i < patch->n_hunks; i++) {
		size_t first = patch->hunks[i];
		size_t end =
			i + 1 < patch->n_hunks ? patch->hunks[i + 1] : patch->n;
		const struct patch_line *line = &patch->lines[first];
		struct hunk_header header;

		parse_header(&header, line);
		if (!marks_has_hunk(marks, index, i)) {
			shift +=
				(long)header.new_count - (long)header.old_count;
			continue;
		}
		buf_addf(out, "@@ -%lu,%lu +%ld,%lu", header.old_start,
			 header.old_count, (long)header.new_start - shift,
			 header.new_count);
		buf_add(out, header.rest,
			line->len - (size_t)(header.rest - line->text));
		buf_addc(out, '\n');
		add_lines(out, patch, first + 1, end);
	}
}

void patch_text_release(struct patch_text *patch)
{
	free(patch->whole);
	free(patch->lines);
	free(patch->hunks);
	*patch = (struct patch_text){0};
}
