#include "change.h"

#include <string.h>

#define FIRST_CAPACITY 64

static enum change_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return KIND_FILE;
	case S_IFDIR:
		return KIND_DIR;
	case S_IFLNK:
		return KIND_LINK;
	case S_IFIFO:
		return KIND_FIFO;
	case S_IFSOCK:
		return KIND_SOCKET;
	case S_IFBLK:
		return KIND_BLOCK;
	default:
		return KIND_CHAR;
	}
}

void change_side_from_stat(struct change_side *ret_side, const struct stat *st)
{
	ret_side->kind = kind_of(st->st_mode);
	ret_side->mode = st->st_mode & 07777;
	ret_side->rdev = st->st_rdev;
	ret_side->n_links = st->st_nlink;
	origin_from_stat(&ret_side->id, st);
}

static int grow(struct change_list *list)
{
	size_t capacity = list->capacity ? list->capacity * 2 : FIRST_CAPACITY;
	struct change *items =
		reallocarray(list->items, capacity, sizeof(*items));

	if (!items) {
		return -ENOMEM;
	}
	list->items = items;
	list->capacity = capacity;
	return 0;
}

struct change *change_list_add(struct change_list *list, char *path)
{
	struct change *change;

	if (!path || (list->n == list->capacity && grow(list))) {
		free(path);
		return NULL;
	}
	change = &list->items[list->n++];
	*change = (struct change){.letter = CHANGE_NONE, .path = path};
	return change;
}

static void release_change(struct change *change)
{
	free(change->path);
	free(change->old_path);
	free(change->place_path);
}

static int compare_paths(const void *a, const void *b)
{
	const struct change *left = a;
	const struct change *right = b;

	return strcmp(left->path, right->path);
}

void change_list_finish(struct change_list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].letter == CHANGE_NONE) {
			release_change(&list->items[i]);
		} else {
			list->items[kept++] = list->items[i];
		}
	}
	list->n = kept;
	if (kept > 0) {
		qsort(list->items, kept, sizeof(*list->items), compare_paths);
	}
}

int change_list_keep_linked(struct change_list *list, struct change_list *equal)
{
	for (size_t i = 0; i < list->n; i++) {
		struct change *change = &list->items[i];
		struct change *kept;

		/* The old end of a rename has no path any more. */
		if (change->letter != CHANGE_NONE || !change->path ||
		    change->new_side.kind != KIND_FILE ||
		    change->new_side.n_links < 2) {
			continue;
		}
		kept = change_list_add(equal, strdup(change->path));
		if (!kept) {
			return -ENOMEM;
		}
		kept->old_side = change->old_side;
		kept->new_side = change->new_side;
	}
	return 0;
}

const struct change *change_list_find(const struct change_list *list,
				      const char *path)
{
	const struct change wanted = {.path = (char *)path};

	return list->n == 0 ? NULL
			    : bsearch(&wanted, list->items, list->n,
				      sizeof(wanted), compare_paths);
}

void change_list_release(struct change_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		release_change(&list->items[i]);
	}
	free(list->items);
	*list = (struct change_list)CHANGE_LIST_INIT;
}

void change_count(struct change_counts *counts, const struct change *change)
{
	const char *at = strchr(CHANGE_LETTERS, change->letter);

	if (!at) {
		return;
	}
	counts->letters[at - CHANGE_LETTERS]++;
	counts->total++;
	if (change->new_side.kind == KIND_FILE) {
		counts->new_bytes += change->new_side.id.size_bytes;
	}
}

const char *change_old_path(const struct change *change)
{
	return change->old_path ? change->old_path : change->path;
}
