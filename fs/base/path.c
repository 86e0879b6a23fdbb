#include "path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool path_component_valid(const char *name)
{
	size_t len = strnlen(name, NAME_MAX + 1);

	return len > 0 && len <= NAME_MAX && !memchr(name, '/', len) &&
	       strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

int path_component_check(const char *name)
{
	if (path_component_valid(name)) {
		return 0;
	}
	return strnlen(name, NAME_MAX + 1) > NAME_MAX ? -ENAMETOOLONG : -EINVAL;
}

bool path_relative_valid(const char *path)
{
	for (;;) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (len > NAME_MAX) {
			return false;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		if (!path_component_valid(name)) {
			return false;
		}
		if (!path[len]) {
			return true;
		}
		path += len + 1;
	}
}

bool path_is_within(const char *path, const char *top)
{
	size_t len = strlen(top);

	if (strcmp(top, "/") == 0) {
		return path[0] == '/';
	}
	return strncmp(path, top, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

const char *path_beneath(const char *path, const char *top)
{
	path += strcmp(top, "/") == 0 ? 0 : strlen(top);
	while (*path == '/') {
		path++;
	}
	return path;
}

char *path_join(const char *a, const char *b)
{
	char *joined;

	if (!*a) {
		return strdup(b);
	}
	if (!*b) {
		return strdup(a);
	}
	if (asprintf(&joined, "%s%s%s", a, a[strlen(a) - 1] == '/' ? "" : "/",
		     b) < 0) {
		return NULL;
	}
	return joined;
}
