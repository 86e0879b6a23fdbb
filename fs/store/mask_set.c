#include "mask_set.h"

#include <fcntl.h>
#include <string.h>

#include "sys.h"

static int compare_masks(const void *a, const void *b)
{
	const struct mask *x = a;
	const struct mask *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : strcmp(x->path, y->path);
}

static int add(struct mask_set *set, const char *path)
{
	struct mask *mask = &set->masks[set->count];
	const char *slash;

	mask->path = strdup(path);
	if (!mask->path) {
		return -ENOMEM;
	}
	slash = strrchr(mask->path, '/');
	mask->name = slash ? slash + 1 : mask->path;
	mask->dir_len = slash ? (size_t)(slash - mask->path) : 0;
	set->count++;
	return 0;
}

int mask_set_init(struct mask_set *set, char *const *paths)
{
	size_t count = 0;

	*set = (struct mask_set)MASK_SET_INIT;
	while (paths && paths[count]) {
		count++;
	}
	if (!count) {
		return 0;
	}
	set->masks = calloc(count, sizeof(*set->masks));
	if (!set->masks) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		int error = add(set, paths[i]);

		if (error) {
			mask_set_release(set);
			return error;
		}
	}
	qsort(set->masks, set->count, sizeof(*set->masks), compare_masks);
	return 0;
}

void mask_set_release(struct mask_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->masks[i].path);
	}
	free(set->masks);
	*set = (struct mask_set)MASK_SET_INIT;
}

/* The first mask whose last component is not below `name`. */
static size_t first_of(const struct mask_set *set, const char *name)
{
	size_t low = 0;
	size_t high = set->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(set->masks[middle].name, name) < 0) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

bool mask_set_has(const struct mask_set *set, const char *dir, const char *name)
{
	size_t len = strlen(dir);

	for (size_t i = first_of(set, name);
	     i < set->count && strcmp(set->masks[i].name, name) == 0; i++) {
		if (set->masks[i].dir_len == len &&
		    memcmp(set->masks[i].path, dir, len) == 0) {
			return true;
		}
	}
	return false;
}

static int stat_mask(const struct layer *base, const char *path,
		     struct stat *ret_st)
{
	AUTO_FD fd = layer_open_path(base, path, O_PATH | O_NOFOLLOW);

	return fd < 0 ? fd : sys_fstat(fd, ret_st);
}

static bool is_missing(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP;
}

int mask_links_add(struct mask_links *links, const struct mask_set *set,
		   const struct layer *base)
{
	for (size_t i = 0; i < set->count; i++) {
		struct mask_link *items;
		struct stat st;
		int error = stat_mask(base, set->masks[i].path, &st);

		if (error && !is_missing(error)) {
			return error;
		}
		if (error || !S_ISREG(st.st_mode) || st.st_nlink < 2) {
			continue;
		}
		items = reallocarray(links->items, links->count + 1,
				     sizeof(*items));
		if (!items) {
			return -ENOMEM;
		}
		links->items = items;
		items[links->count++] =
			(struct mask_link){st.st_dev, st.st_ino};
	}
	return 0;
}

void mask_links_release(struct mask_links *links)
{
	free(links->items);
	*links = (struct mask_links)MASK_LINKS_INIT;
}

bool mask_links_have(const struct mask_links *links, dev_t dev, ino_t ino)
{
	for (size_t i = 0; i < links->count; i++) {
		if (links->items[i].ino == ino && links->items[i].dev == dev) {
			return true;
		}
	}
	return false;
}
