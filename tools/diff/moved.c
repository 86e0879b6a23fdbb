#include "moved.h"

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_ids(const void *a, const void *b)
{
	const struct origin *left = a;
	const struct origin *right = b;
	int order = compare_numbers(left->dev, right->dev);

	return order ? order : compare_numbers(left->ino, right->ino);
}

static bool is_same(const struct origin *a, const struct origin *b)
{
	return compare_ids(a, b) == 0 && a->size_bytes == b->size_bytes &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

/* The present identities of all base files that the view touched. */
static struct origin *touched_ids(const struct change_list *list, size_t *ret_n)
{
	struct origin *ids = calloc(list->n + 1, sizeof(*ids));
	size_t n = 0;

	if (!ids) {
		return NULL;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].old_side.kind == KIND_FILE) {
			ids[n++] = list->items[i].old_side.id;
		}
	}
	qsort(ids, n, sizeof(*ids), compare_ids);
	*ret_n = n;
	return ids;
}

int moved_warn(const struct change_list *list, struct trouble *trouble)
{
	size_t n;
	AUTO_FREE struct origin *ids = touched_ids(list, &n);

	if (!ids) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];
		const struct origin *now;

		if (!change->has_origin || change->place != PLACE_UPPER ||
		    (change->old_side.kind == KIND_FILE &&
		     is_same(&change->origin, &change->old_side.id))) {
			continue;
		}
		now = bsearch(&change->origin, ids, n, sizeof(*ids),
			      compare_ids);
		if (!now || !is_same(&change->origin, now)) {
			trouble_warn(trouble, "base moved", change->path);
		}
	}
	return 0;
}
