/*
 * mask_set.h - paths of a base that nobody may be shown, and the other names
 * that their files have.
 *
 * A masked path need not exist: it is a rule about the name. A file that is at
 * a masked path and has more hard links is to be hidden by each of them; which
 * files those are is looked up (mask_links_add) and grows old with the base.
 * Links into a masked folder are not found: that would take a walk.
 *
 * Calling sequence: mask_set_init, ask, mask_set_release; the same for links.
 * Threads: immutable in between.
 */
#ifndef FS_STORE_MASK_SET_H
#define FS_STORE_MASK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "compiler.h"
#include "layer.h"

struct mask {
	char *path;       /* owned */
	const char *name; /* its last component */
	size_t dir_len;   /* of what is before it; 0: nothing */
};

struct mask_set {
	/* private */
	struct mask *masks; /* sorted by name, then path */
	size_t count;
};

#define MASK_SET_INIT                                                          \
	{                                                                      \
		0                                                              \
	}

/* Copies `paths`, NULL-terminated; NULL is none. Each as in the manifest
 * (path_relative_valid). 0 or -ENOMEM. */
int mask_set_init(struct mask_set *set, char *const *paths) MUST_CHECK;
void mask_set_release(struct mask_set *set);

/* Whether `name` in the directory `dir` ("" is the root) is masked. */
bool mask_set_has(const struct mask_set *set, const char *dir,
		  const char *name);

/* Files that have a masked name among others. */
struct mask_links {
	/* private */
	struct mask_link {
		dev_t dev;
		ino_t ino;
	} * items;
	size_t count;
};

#define MASK_LINKS_INIT                                                        \
	{                                                                      \
		0                                                              \
	}

/* Adds those that `base` has now. 0, -ENOMEM, or why it could not be looked
 * at. */
int mask_links_add(struct mask_links *links, const struct mask_set *set,
		   const struct layer *base) MUST_CHECK;
void mask_links_release(struct mask_links *links);
bool mask_links_have(const struct mask_links *links, dev_t dev, ino_t ino);

#endif
