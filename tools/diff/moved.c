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

/* What the view replaced or deleted, unseen since `taken_ns`. */
static bool is_newer(const struct change *change)
{
	const struct change_side *old_side = &change->old_side;

	return change->taken_ns && old_side->kind != KIND_NONE &&
	       old_side->id.ctime_ns > change->taken_ns;
}

static bool was_made(const struct sides *sides, const struct change_side *side)
{
	return side->kind != KIND_NONE &&
	       applied_contains(&sides->applied, &side->id,
				side->kind == KIND_DIR);
}

/* A directory that the view shows from elsewhere in the base, where an apply
 * was at work since: the view shows what is there now, or no longer. */
static bool is_echo(const struct change *change, const struct sides *sides)
{
	if (change->place == PLACE_BASE && change->new_side.kind != KIND_NONE) {
		return was_made(sides, &change->new_side) ||
		       (is_newer(change) && was_made(sides, &change->old_side));
	}
	return change->letter == CHANGE_DELETED && is_newer(change) &&
	       was_made(sides, &change->old_side);
}

/* What the upper's copy was made from is no longer there. `ids` as from
 * touched_ids. */
static bool is_stale(const struct change *change, const struct origin *ids,
		     size_t n)
{
	const struct origin *now =
		bsearch(&change->origin, ids, n, sizeof(*ids), compare_ids);

	return !now || !is_same(&change->origin, now);
}

int moved_mark(struct change_list *list, const struct sides *sides,
	       struct trouble *trouble)
{
	size_t n;
	AUTO_FREE struct origin *ids = touched_ids(list, &n);

	if (!ids) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct change *change = &list->items[i];
		bool has_copy =
			change->has_origin && change->place == PLACE_UPPER;

		if (has_copy && change->old_side.kind == KIND_FILE &&
		    is_same(&change->origin, &change->old_side.id)) {
			continue;
		}
		if (is_echo(change, sides)) {
			change->letter = CHANGE_NONE;
			continue;
		}
		change->is_moved = ((has_copy && is_stale(change, ids, n)) ||
				    (is_newer(change) &&
				     change->old_side.kind != KIND_DIR)) &&
				   !was_made(sides, &change->old_side);
		if (change->is_moved && change->letter != CHANGE_NONE) {
			trouble_warn(trouble, "base moved", change->path);
		}
	}
	return 0;
}
