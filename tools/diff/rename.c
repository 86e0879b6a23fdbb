#include "rename.h"

#include <string.h>

#include "compare.h"
#include "content.h"

/*
 * A deleted or added entry, with what it is matched by: the numbers are the
 * noise and the identity in the first step, and noise, kind, size and hash in
 * the second.
 */
struct candidate {
	struct change *change;
	uint64_t key[5];
};

struct candidates {
	struct candidate *items;
	size_t n;
};

static void release_candidates(struct candidates *candidates)
{
	free(candidates->items);
}

static int compare_keys(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;

	for (size_t i = 0; i < ARRAY_SIZE(left->key); i++) {
		if (left->key[i] != right->key[i]) {
			return left->key[i] < right->key[i] ? -1 : 1;
		}
	}
	return 0;
}

static const char *last_component(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int compare_keys_and_names(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;
	int order = compare_keys(a, b);

	return order ? order
		     : strcmp(last_component(left->change->path),
			      last_component(right->change->path));
}

/* For sorting: total orders, so that the result does not depend on qsort. */
static int order_by_path(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;
	int order = compare_keys(a, b);

	return order ? order : strcmp(left->change->path, right->change->path);
}

static int order_by_name(const void *a, const void *b)
{
	int order = compare_keys_and_names(a, b);

	return order ? order : order_by_path(a, b);
}

typedef int compare_fn(const void *a, const void *b);

static void sort_candidates(struct candidates *candidates, compare_fn *order)
{
	if (candidates->n > 0) {
		qsort(candidates->items, candidates->n,
		      sizeof(*candidates->items), order);
	}
}

/* What differs between the D `from` and the A `to`: enum change_flags. */
static int compare_two(const struct sides *sides, const struct change *from,
		       const struct change *to)
{
	AUTO_FD old_fd = content_open_old(sides, from);
	AUTO_FD new_fd = content_open_stored(sides, to);
	const struct compare_end below = {old_fd, "", &from->old_side, NULL};
	const struct compare_end above = {new_fd, "", &to->new_side,
					  to->place == PLACE_BASE ? NULL
								  : sides};

	if (old_fd < 0 || new_fd < 0) {
		return old_fd < 0 ? old_fd : new_fd;
	}
	return compare_ends(&below, &above);
}

static void make_rename(struct change *from, struct change *to,
			unsigned int flags)
{
	to->letter = CHANGE_RENAMED;
	to->flags = flags;
	to->old_path = TAKE_PTR(from->path);
	to->old_side = from->old_side;
	from->letter = CHANGE_NONE;
}

/* Pairs them, unless `exact` is asked for and they are not. 0 or -ENOMEM. */
static int pair_two(struct change *from, struct change *to, bool exact,
		    const struct sides *sides, struct trouble *trouble)
{
	int flags = compare_two(sides, from, to);

	if (flags == -ENOMEM) {
		return flags;
	}
	if (flags < 0) {
		trouble_error(trouble, "compare", to->path, flags);
		flags = CHANGE_CONTENT;
	}
	if (!exact || !(flags & CHANGE_CONTENT)) {
		make_rename(from, to, (unsigned int)flags);
	}
	return 0;
}

static void drop_paired(struct candidates *candidates,
			enum change_letter free_letter)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->n; i++) {
		if (candidates->items[i].change->letter == free_letter) {
			candidates->items[kept++] = candidates->items[i];
		}
	}
	candidates->n = kept;
}

/* Walks both in step, and pairs those that are `same`. */
static int pair_in_step(struct candidates *deleted, struct candidates *added,
			compare_fn *order, compare_fn *same, bool exact,
			const struct sides *sides, struct trouble *trouble)
{
	size_t d = 0;
	size_t a = 0;
	int error = 0;

	sort_candidates(deleted, order);
	sort_candidates(added, order);
	while (d < deleted->n && a < added->n && !error) {
		int at = same(&deleted->items[d], &added->items[a]);

		if (at == 0) {
			error = pair_two(deleted->items[d].change,
					 added->items[a].change, exact, sides,
					 trouble);
		}
		d += at <= 0;
		a += at >= 0;
	}
	drop_paired(deleted, CHANGE_DELETED);
	drop_paired(added, CHANGE_ADDED);
	return error;
}

static int pair_all(struct candidates *deleted, struct candidates *added,
		    bool exact, const struct sides *sides,
		    struct trouble *trouble)
{
	int error = pair_in_step(deleted, added, order_by_name,
				 compare_keys_and_names, exact, sides, trouble);

	return error ? error
		     : pair_in_step(deleted, added, order_by_path, compare_keys,
				    exact, sides, trouble);
}

static int alloc_candidates(struct candidates *candidates, size_t max)
{
	candidates->items = calloc(max + 1, sizeof(*candidates->items));
	candidates->n = 0;
	return candidates->items ? 0 : -ENOMEM;
}

static struct candidate *add_candidate(struct candidates *candidates,
				       struct change *change)
{
	struct candidate *candidate = &candidates->items[candidates->n++];

	candidate->change = change;
	candidate->key[0] = change->noise;
	return candidate;
}

static int pair_by_origin(struct change_list *list, const struct sides *sides,
			  struct trouble *trouble)
{
	AUTO(release_candidates) struct candidates deleted = {0};
	AUTO(release_candidates) struct candidates added = {0};
	int error = alloc_candidates(&deleted, list->n);

	error = error ? error : alloc_candidates(&added, list->n);
	if (error) {
		return error;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct change *change = &list->items[i];
		const struct origin *id = &change->origin;
		struct candidate *candidate = NULL;

		if (change->letter == CHANGE_ADDED && change->has_origin) {
			candidate = add_candidate(&added, change);
		} else if (change->letter == CHANGE_DELETED &&
			   change->old_side.kind == KIND_FILE) {
			candidate = add_candidate(&deleted, change);
			id = &change->old_side.id;
		}
		if (candidate) {
			candidate->key[1] = id->dev;
			candidate->key[2] = id->ino;
		}
	}
	return pair_all(&deleted, &added, false, sides, trouble);
}

/* The side that a D or an A has. */
static const struct change_side *only_side(const struct change *change)
{
	return change->letter == CHANGE_ADDED ? &change->new_side
					      : &change->old_side;
}

static bool has_bytes(const struct change *change)
{
	const struct change_side *side = only_side(change);

	return (change->letter == CHANGE_ADDED ||
		change->letter == CHANGE_DELETED) &&
	       (side->kind == KIND_FILE || side->kind == KIND_LINK) &&
	       side->id.size_bytes > 0;
}

/* Queues what still has no partner, by kind and size. */
static int gather_by_size(struct change_list *list, struct candidates *deleted,
			  struct candidates *added)
{
	int error = alloc_candidates(deleted, list->n);

	error = error ? error : alloc_candidates(added, list->n);
	if (error) {
		return error;
	}
	for (size_t i = 0; i < list->n; i++) {
		struct change *change = &list->items[i];
		struct candidate *candidate;

		if (!has_bytes(change)) {
			continue;
		}
		candidate = add_candidate(
			change->letter == CHANGE_ADDED ? added : deleted,
			change);
		candidate->key[1] = only_side(change)->kind;
		candidate->key[2] = only_side(change)->id.size_bytes;
	}
	sort_candidates(deleted, order_by_path);
	sort_candidates(added, order_by_path);
	return 0;
}

/* Keeps those whose key occurs in `other` too: only they are worth a hash. */
static void keep_matched(struct candidates *candidates,
			 const struct candidates *other)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->n; i++) {
		if (other->n > 0 &&
		    bsearch(&candidates->items[i], other->items, other->n,
			    sizeof(*other->items), compare_keys)) {
			candidates->items[kept++] = candidates->items[i];
		}
	}
	candidates->n = kept;
}

/* Adds the hash to the key; what can't be read is dropped, silently, since
 * the format that needs the content will tell. */
static int hash_all(struct candidates *candidates, const struct sides *sides)
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->n; i++) {
		struct candidate *candidate = &candidates->items[i];
		const struct change *change = candidate->change;
		struct content_hash hash;
		AUTO_FD fd = change->letter == CHANGE_ADDED
				     ? content_open_new(sides, change)
				     : content_open_old(sides, change);
		int error =
			fd < 0 ? fd
			       : content_hash(fd, "", only_side(change)->kind,
					      &hash);

		if (error == -ENOMEM) {
			return error;
		}
		if (!error) {
			candidate->key[3] = hash.high;
			candidate->key[4] = hash.low;
			candidates->items[kept++] = *candidate;
		}
	}
	candidates->n = kept;
	return 0;
}

static int pair_by_content(struct change_list *list, const struct sides *sides,
			   struct trouble *trouble)
{
	AUTO(release_candidates) struct candidates deleted = {0};
	AUTO(release_candidates) struct candidates added = {0};
	int error = gather_by_size(list, &deleted, &added);

	if (error) {
		return error;
	}
	keep_matched(&added, &deleted);
	keep_matched(&deleted, &added);
	error = hash_all(&deleted, sides);
	error = error ? error : hash_all(&added, sides);
	return error ? error : pair_all(&deleted, &added, true, sides, trouble);
}

int rename_detect(struct change_list *list, const struct sides *sides,
		  struct trouble *trouble)
{
	int error = pair_by_origin(list, sides, trouble);

	return error ? error : pair_by_content(list, sides, trouble);
}
