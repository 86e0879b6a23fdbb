#include "ids.h"

#include <stdlib.h>
#include <string.h>

/* The kernel's default for numbers that have none (fs.overflowuid). */
#define IDS_NOBODY 65534

/* A number that ends at ':' or at the end; *text is moved there. */
static int parse_number(const char **text, uint32_t *ret_number)
{
	char *end;
	unsigned long number;

	if (**text < '0' || **text > '9') {
		return -EINVAL;
	}
	errno = 0;
	number = strtoul(*text, &end, 10);
	if (errno || number > UINT32_MAX || (*end && *end != ':')) {
		return -EINVAL;
	}
	*ret_number = (uint32_t)number;
	*text = end;
	return 0;
}

/* podman starts the list with a ':', and fuse-overlayfs takes any number. */
static void skip_colons(const char **text)
{
	*text += strspn(*text, ":");
}

static int parse_range(const char **text, struct id_range *range)
{
	uint32_t *numbers[] = {&range->disk, &range->shown, &range->count};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		int error = parse_number(text, numbers[i]);

		if (error) {
			return error;
		}
		skip_colons(text);
	}
	/* The last number, -1, is no user's. */
	return range->count > UINT32_MAX - range->disk ||
			       range->count > UINT32_MAX - range->shown
		       ? -EINVAL
		       : 0;
}

int ids_parse(struct id_map *map, const char *text)
{
	struct id_range range;
	unsigned int count = 0;

	skip_colons(&text);
	do {
		int error = parse_range(&text, &range);

		if (error) {
			return error;
		}
		if (count == IDS_RANGES_MAX) {
			return -E2BIG;
		}
		map->ranges[count++] = range;
	} while (*text);
	map->count = count;
	return 0;
}

uint32_t ids_shown(const struct id_map *map, uint32_t disk)
{
	if (map->squash >= 0) {
		return (uint32_t)map->squash;
	}
	for (unsigned int i = 0; i < map->count; i++) {
		const struct id_range *range = &map->ranges[i];

		if (disk >= range->disk && disk - range->disk < range->count) {
			return range->shown + (disk - range->disk);
		}
	}
	return map->count ? IDS_NOBODY : disk;
}

uint32_t ids_on_disk(const struct id_map *map, uint32_t shown)
{
	for (unsigned int i = 0; i < map->count; i++) {
		const struct id_range *range = &map->ranges[i];

		if (shown >= range->shown &&
		    shown - range->shown < range->count) {
			return range->disk + (shown - range->shown);
		}
	}
	return shown;
}

void ids_show(const struct ids *ids, struct stat *st)
{
	st->st_uid = ids_shown(&ids->users, st->st_uid);
	st->st_gid = ids_shown(&ids->groups, st->st_gid);
}
