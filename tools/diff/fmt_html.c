#include "document.h"
#include "html/page.h"

/* In JSON a '<' is only ever in a string, where this stands for it: so the text
 * can't end the element that it is in. */
#define ESCAPED_LESS "\\u003c"

static void write_escaped(FILE *out, const char *text, size_t len)
{
	size_t from = 0;

	for (size_t at = 0; at < len; at++) {
		if (text[at] == '<') {
			fwrite(text + from, 1, at - from, out);
			fputs(ESCAPED_LESS, out);
			from = at + 1;
		}
	}
	fwrite(text + from, 1, len - from, out);
}

int document_write_html(FILE *out, const struct report *report,
			unsigned int flags, struct trouble *trouble)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	int error = document_json_text(
		&text, &len, report, flags | DOCUMENT_PATCHES | DOCUMENT_IMAGES,
		trouble);

	if (error) {
		return error;
	}
	fputs(page_head, out);
	write_escaped(out, text, len);
	fputs(page_tail, out);
	return 0;
}
