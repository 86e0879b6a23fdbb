#include "marks.h"

#include <string.h>

int marks_init(struct marks *marks, const struct change_list *list)
{
	marks->list = list;
	marks->items = calloc(list->n + 1, sizeof(*marks->items));
	return marks->items ? 0 : -ENOMEM;
}

void marks_release(struct marks *marks)
{
	for (size_t i = 0; marks->items && i < marks->list->n; i++) {
		free(marks->items[i].hunks);
	}
	free(marks->items);
	*marks = (struct marks){0};
}

void marks_set(struct marks *marks, size_t index, bool marked)
{
	struct marks_of_one *one = &marks->items[index];

	one->whole = marked;
	if (one->hunks) {
		memset(one->hunks, marked, one->n_hunks);
	}
}

int marks_toggle_hunk(struct marks *marks, size_t index, size_t hunk,
		      size_t n_hunks)
{
	struct marks_of_one *one = &marks->items[index];

	if (!one->hunks) {
		one->hunks = calloc(n_hunks + 1, sizeof(*one->hunks));
		if (!one->hunks) {
			return -ENOMEM;
		}
		one->n_hunks = n_hunks;
		memset(one->hunks, one->whole, n_hunks);
	}
	if (hunk < one->n_hunks) {
		one->hunks[hunk] = !one->hunks[hunk];
	}
	one->whole = !memchr(one->hunks, false, one->n_hunks);
	return 0;
}

enum marks_state marks_state(const struct marks *marks, size_t index)
{
	const struct marks_of_one *one = &marks->items[index];

	if (one->whole) {
		return MARKS_ALL;
	}
	return one->hunks && memchr(one->hunks, true, one->n_hunks)
		       ? MARKS_SOME
		       : MARKS_NONE;
}

bool marks_has_hunk(const struct marks *marks, size_t index, size_t hunk)
{
	const struct marks_of_one *one = &marks->items[index];

	return one->whole ||
	       (one->hunks && hunk < one->n_hunks && one->hunks[hunk]);
}

size_t marks_count(const struct marks *marks)
{
	size_t count = 0;

	for (size_t i = 0; i < marks->list->n; i++) {
		count += marks_state(marks, i) != MARKS_NONE;
	}
	return count;
}
