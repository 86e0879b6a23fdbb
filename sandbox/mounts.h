/*
 * mounts.h - a list of mounts, parents before children once it is sorted.
 *
 * Calling sequence: `struct mounts m = {0};`, add, mounts_sort, use,
 * mounts_release. Threads: one.
 */
#ifndef SANDBOX_MOUNTS_H
#define SANDBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

enum mount_kind {
	MOUNT_RO_BIND,
	MOUNT_BIND,
	MOUNT_LINK, /* `source` is the link's text */
	MOUNT_FOLDER,
	MOUNT_PROC,
	MOUNT_DEV,
	MOUNT_COVER_FILE, /* can't be opened */
	MOUNT_COVER_DIR,  /* is empty, and can't be opened */
};

struct mount {
	enum mount_kind kind;
	char *source; /* NULL where the kind has none */
	char *target;
	bool file;        /* its mount point is a file */
	const char *view; /* the manifest's; NULL unless it is a view */
	/* The entry or rule that it is of, for `why`; lives as long as the
	 * tables. NULL: the sandbox itself. */
	const char *rule;
};

struct mounts {
	struct mount *list;
	size_t count;
};

/* Adds one, copying the strings; NULL `source` where the kind has none. The
 * result is the list's, until the next one is added. */
struct mount *mounts_add(struct mounts *mounts, enum mount_kind kind,
			 const char *source, const char *target);

/* By target. Of several at one place a view stands, else the last added. */
void mounts_sort(struct mounts *mounts);

/* The innermost mount that `path` lies in, of the first `count`; links and
 * folders count as none. NULL: the sandbox's root. The list is sorted. */
const struct mount *mounts_around(const struct mounts *mounts, size_t count,
				  const char *path);

void mounts_release(struct mounts *mounts);

#endif
