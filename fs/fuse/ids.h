/*
 * ids.h - user and group numbers shown as others, for containers.
 *
 * A map has ranges: `count` numbers from `shown` on, as programs see them, are
 * those from `disk` on. Where there are ranges, a disk's number outside all of
 * them is shown as nobody's (65534): unchanged it could be that of another.
 * What is shown and outside all ranges goes to the disk unchanged. Squashing
 * shows one number for all files, whatever the disk has.
 */
#ifndef FS_FUSE_IDS_H
#define FS_FUSE_IDS_H

#include <stdint.h>
#include <sys/stat.h>

#include "compiler.h"

#define IDS_RANGES_MAX 32

struct id_range {
	uint32_t shown;
	uint32_t disk;
	uint32_t count;
};

struct id_map {
	struct id_range ranges[IDS_RANGES_MAX];
	unsigned int count;
	int64_t squash; /* the number to show; -1 without */
};

struct ids {
	struct id_map users;
	struct id_map groups;
};

#define IDS_INIT                                                               \
	{                                                                      \
		.users = {.squash = -1}, .groups = {.squash = -1 }             \
	}

/* "DISK:SHOWN:COUNT[:DISK:SHOWN:COUNT...]", as fuse-overlayfs has it; replaces
 * the ranges. -EINVAL, -E2BIG: `map` is then not to be used. */
int ids_parse(struct id_map *map, const char *text) MUST_CHECK;

uint32_t ids_shown(const struct id_map *map, uint32_t disk);
uint32_t ids_on_disk(const struct id_map *map, uint32_t shown);

/* Turns the disk's owner into the one that is shown. */
void ids_show(const struct ids *ids, struct stat *st);

#endif
