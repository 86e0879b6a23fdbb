#include "names.h"

#include <string.h>

#include "sys.h"

#define FIRST_CAPACITY 32

int names_add(struct names *names, const char *name)
{
	char *copy;

	if (names->n == names->capacity) {
		size_t capacity =
			names->capacity ? names->capacity * 2 : FIRST_CAPACITY;
		char **items =
			reallocarray(names->items, capacity, sizeof(*items));

		if (!items) {
			return -ENOMEM;
		}
		names->items = items;
		names->capacity = capacity;
	}
	copy = strdup(name);
	if (!copy) {
		return -ENOMEM;
	}
	names->items[names->n++] = copy;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_stream(struct names *names, DIR *dir)
{
	for (;;) {
		struct dirent *entry;
		int error = sys_readdir(dir, &entry);

		if (error || !entry) {
			return error;
		}
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0) {
			continue;
		}
		error = names_add(names, entry->d_name);
		if (error) {
			return error;
		}
	}
}

void names_sort(struct names *names)
{
	if (names->n > 0) {
		qsort(names->items, names->n, sizeof(*names->items), compare);
	}
}

int names_read(struct names *names, int dirfd)
{
	DIR *dir;
	int error = sys_opendirat(dirfd, "", &dir);

	if (error) {
		return error;
	}
	error = read_stream(names, dir);
	closedir(dir);
	if (!error) {
		names_sort(names);
	}
	return error;
}

bool names_contain(const struct names *names, const char *name)
{
	return names->n > 0 && bsearch(&name, names->items, names->n,
				       sizeof(*names->items), compare);
}

void names_release(struct names *names)
{
	for (size_t i = 0; i < names->n; i++) {
		free(names->items[i]);
	}
	free(names->items);
	*names = (struct names){0};
}
