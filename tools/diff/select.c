#include "select.h"

#include <string.h>

static bool is_asked(const struct filter *filter, const char *path)
{
	for (size_t i = 0; i < filter->n_paths; i++) {
		if (filter_is_within(path, filter->paths[i])) {
			return true;
		}
	}
	return filter->n_paths == 0;
}

/* Leaves of a rename what is within the paths. */
static void split_rename(struct change *change, const struct filter *filter)
{
	bool has_old = is_asked(filter, change->old_path);
	bool has_new = is_asked(filter, change->path);

	if (has_old == has_new) {
		return;
	}
	if (has_new) {
		change->letter = CHANGE_ADDED;
		change->flags = 0;
		change->old_side = (struct change_side){.kind = KIND_NONE};
		free(TAKE_PTR(change->old_path));
		return;
	}
	change->letter = CHANGE_DELETED;
	change->flags = 0;
	change->new_side = (struct change_side){.kind = KIND_NONE};
	free(change->path);
	change->path = TAKE_PTR(change->old_path);
}

/* Whether a path that was given names only what is folded. */
static bool names_noise_only(const struct change_list *list, const char *top)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];

		if (change->noise == NOISE_NONE &&
		    filter_is_within(change->path, top)) {
			return false;
		}
	}
	return true;
}

/* Fills `noisy` (n_paths) with whether each path is to be taken literally. */
static void find_noisy(const struct change_list *list,
		       const struct filter *filter, bool *noisy)
{
	for (size_t i = 0; i < filter->n_paths; i++) {
		noisy[i] = names_noise_only(list, filter->paths[i]);
	}
}

static bool is_folded(const struct change *change, const struct filter *filter,
		      const bool *noisy)
{
	if (filter->all || change->noise == NOISE_NONE) {
		return false;
	}
	for (size_t i = 0; i < filter->n_paths; i++) {
		if (noisy[i] &&
		    filter_is_within(change->path, filter->paths[i])) {
			return false;
		}
	}
	return true;
}

static bool is_filled_dir(const struct change *change)
{
	return change->flags & CHANGE_FILLED && change->letter == CHANGE_ADDED;
}

/* Marks the new directories that `path` lies in. */
static int keep_above(const struct change_list *list, const char *path,
		      bool *keep)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;

	if (!above) {
		return -ENOMEM;
	}
	while ((slash = strrchr(above, '/'))) {
		const struct change *dir;

		*slash = '\0';
		dir = change_list_find(list, above);
		if (!dir || !is_filled_dir(dir) || keep[dir - list->items]) {
			return 0;
		}
		keep[dir - list->items] = true;
	}
	return 0;
}

static int mark(const struct change_list *list, const struct filter *filter,
		const bool *noisy, bool *keep, struct filter_folded *folded)
{
	int error = 0;

	for (size_t i = 0; i < list->n && !error; i++) {
		const struct change *change = &list->items[i];

		if (is_filled_dir(change) || !is_asked(filter, change->path)) {
			continue;
		}
		if (is_folded(change, filter, noisy)) {
			change_count(change->noise == NOISE_GIT
					     ? &folded->git
					     : &folded->ignored,
				     change);
			continue;
		}
		keep[i] = true;
		if (change->new_side.kind != KIND_NONE) {
			error = keep_above(list, change->path, keep);
		}
	}
	return error;
}

int select_changes(struct change_list *list, const struct filter *filter,
		   struct filter_folded *ret_folded)
{
	AUTO_FREE bool *keep = calloc(list->n + 1, sizeof(*keep));
	AUTO_FREE bool *noisy = calloc(filter->n_paths + 1, sizeof(*noisy));
	int error;

	*ret_folded = (struct filter_folded){0};
	if (!keep || !noisy) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].letter == CHANGE_RENAMED) {
			split_rename(&list->items[i], filter);
		}
	}
	/* A deletion may lie elsewhere now. */
	change_list_finish(list);
	find_noisy(list, filter, noisy);
	error = mark(list, filter, noisy, keep, ret_folded);
	for (size_t i = 0; i < list->n; i++) {
		if (!keep[i]) {
			list->items[i].letter = CHANGE_NONE;
		}
	}
	change_list_finish(list);
	return error;
}
