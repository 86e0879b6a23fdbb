#include "ids.h"

#include <stdlib.h>

/* A number up to ':' or the end; *text is moved behind it. */
static int parse_number(const char **text, uint32_t *ret_number)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(*text, &end, 10);
	if (errno || end == *text || number > UINT32_MAX || **text == '-' ||
	    (*end && *end != ':')) {
		return -EINVAL;
	}
	*ret_number = (uint32_t)number;
	*text = *end ? end + 1 : end;
	return 0;
}

int ids_parse(struct id_map *map, const char *text)
{
	do {
		struct id_range range;
		int error = parse_number(&text, &range.shown);

		error = error ? error : parse_number(&text, &range.disk);
		error = error ? error : parse_number(&text, &range.count);
		if (error) {
			return error;
		}
		if (map->count == IDS_RANGES_MAX) {
			return -E2BIG;
		}
		map->ranges[map->count++] = range;
	} while (*text);
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
	return disk;
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
