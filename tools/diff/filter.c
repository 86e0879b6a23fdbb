#include "filter.h"

#include <string.h>

bool filter_is_within(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len > 0 && top[len - 1] == '/') {
		len--;
	}
	return len == 0 || (strncmp(path, top, len) == 0 &&
			    (path[len] == '\0' || path[len] == '/'));
}

static bool is_wanted(const struct filter *filter, const struct change *change)
{
	for (size_t i = 0; i < filter->n_paths; i++) {
		if (filter_is_within(change->path, filter->paths[i]) ||
		    filter_is_within(change_old_path(change),
				     filter->paths[i])) {
			return true;
		}
	}
	return filter->n_paths == 0;
}

/* Counts the change if it is to be folded. */
static bool fold(const struct filter *filter, const struct change *change,
		 struct filter_folded *folded)
{
	if (filter->all || change->noise == NOISE_NONE ||
	    (filter->keep_deletions && change->letter == CHANGE_DELETED &&
	     change->noise == NOISE_IGNORED)) {
		return false;
	}
	change_count(change->noise == NOISE_GIT       ? &folded->git
		     : change->noise == NOISE_IGNORED ? &folded->ignored
						      : &folded->generated,
		     change);
	return true;
}

void filter_apply(struct change_list *list, const struct filter *filter,
		  struct filter_folded *ret_folded)
{
	*ret_folded = (struct filter_folded){0};
	for (size_t i = 0; i < list->n; i++) {
		struct change *change = &list->items[i];

		if (!is_wanted(filter, change) ||
		    fold(filter, change, ret_folded)) {
			change->letter = CHANGE_NONE;
		}
	}
	change_list_finish(list);
}
