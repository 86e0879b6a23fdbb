#include "xattr.h"

#include <stdio.h>
#include <string.h>

/* `escape` is what an escaped name has once more behind `prefix`. */
struct private_space {
	const char *prefix;
	const char *escape;
};

static const struct private_space spaces[] = {
	{"user.overlay.", "overlay."},
	{"trusted.overlay.", "overlay."},
	{"user.legato.", "legato."},
	{"user.fuseoverlayfs.", "fuseoverlayfs."},
};

static const struct private_space *space_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		if (strncmp(name, spaces[i].prefix, strlen(spaces[i].prefix)) ==
		    0) {
			return &spaces[i];
		}
	}
	return NULL;
}

static bool is_escaped(const struct private_space *space, const char *name)
{
	return strncmp(name + strlen(space->prefix), space->escape,
		       strlen(space->escape)) == 0;
}

bool xattr_is_private(const char *disk_name)
{
	const struct private_space *space = space_of(disk_name);

	return space && !is_escaped(space, disk_name);
}

int xattr_to_disk(const char *name, char ret_disk_name[XATTR_NAME_BYTES])
{
	const struct private_space *space = space_of(name);
	int len;

	if (space) {
		len = snprintf(ret_disk_name, XATTR_NAME_BYTES, "%s%s%s",
			       space->prefix, space->escape,
			       name + strlen(space->prefix));
	} else {
		len = snprintf(ret_disk_name, XATTR_NAME_BYTES, "%s", name);
	}
	return len < 0 || len >= XATTR_NAME_BYTES ? -ERANGE : 0;
}

const char *xattr_to_view(const char *disk_name, char storage[XATTR_NAME_BYTES])
{
	const struct private_space *space = space_of(disk_name);
	int len;

	if (!space) {
		return disk_name;
	}
	if (!is_escaped(space, disk_name)) {
		return NULL;
	}
	len = snprintf(
		storage, XATTR_NAME_BYTES, "%s%s", space->prefix,
		disk_name + strlen(space->prefix) + strlen(space->escape));
	return len < 0 || len >= XATTR_NAME_BYTES ? NULL : storage;
}

size_t xattr_filter_list(char *list, size_t size)
{
	char storage[XATTR_NAME_BYTES];
	size_t kept = 0;
	size_t at = 0;

	while (at < size) {
		size_t len = strnlen(list + at, size - at) + 1;
		const char *seen = xattr_to_view(list + at, storage);

		if (seen) {
			size_t seen_len = strlen(seen) + 1;

			/* An unescaped name is never longer. */
			memmove(list + kept, seen, seen_len);
			kept += seen_len;
		}
		at += len;
	}
	return kept;
}
