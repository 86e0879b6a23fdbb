#include "hint.h"

#include <string.h>

#include "compiler.h"
#include "strv.h"

#define WORD_MAX  64
#define SLIPS_MAX 2

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int min = a < b ? a : b;

	return min < c ? min : c;
}

/* Levenshtein's distance; both at most WORD_MAX long. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[WORD_MAX + 1];
	size_t len = strlen(b);

	for (size_t j = 0; j <= len; j++) {
		row[j] = (unsigned int)j;
	}
	for (size_t i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 1; j <= len; j++) {
			unsigned int above = row[j];

			row[j] = least(above + 1, row[j - 1] + 1,
				       diagonal + (a[i] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[len];
}

const char *hint_nearest(const char *text, const struct strv *words)
{
	unsigned int best = SLIPS_MAX + 1;
	const char *nearest = NULL;

	if (strlen(text) > WORD_MAX) {
		return NULL;
	}
	for (size_t i = 0; i < words->count; i++) {
		const char *word = words->list[i];
		size_t len = strlen(word);
		unsigned int slips;

		/* Of a short word two slips would leave nothing. */
		if (len > WORD_MAX || len <= SLIPS_MAX) {
			continue;
		}
		slips = distance(text, word);
		if (slips < best && slips < len / 2 + 1) {
			best = slips;
			nearest = word;
		}
	}
	return nearest;
}
