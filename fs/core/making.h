/*
 * making.h - a new entry in an upper directory.
 *
 * Made in the directory itself, as the caller and with the caller's umask, so
 * that the disk's own rules hold for owner, group, mode and default ACLs. Over
 * a whiteout it is prepared in the work folder, where those rules are given to
 * it, and takes the whiteout's place in one rename.
 */
#ifndef FS_CORE_MAKING_H
#define FS_CORE_MAKING_H

#include "view.h"

struct making {
	struct node *parent;
	const char *name;
	mode_t mode; /* with the type; the umask not applied */
	dev_t rdev;
	const char *target; /* of a symbolic link */
	const struct caller *caller;
	int fd; /* of a regular file, once made: the caller's; -1 before */
};

/* `dirfd` is the parent's in the upper. -EEXIST: the name is there, in the
 * upper or in the base. The caller holds the tree lock and the parent's. */
int making_run(struct making *making, int dirfd) MUST_CHECK;

/* Whether it is a whiteout for a program's own layer (whiteout.h). */
bool making_is_whiteout(const struct making *making);

/* What is at `name` already: a whiteout of ours to be replaced (1), nothing
 * (0), or -EEXIST where the base has it. What else the upper has, creating
 * will say. Locks as making_run. */
int making_check_name(struct node *parent, int dirfd,
		      const char *name) MUST_CHECK;

/* Whether a whiteout of ours is at `name` in the upper: 1, 0 or -errno. */
int making_has_whiteout(const struct view *view, int dirfd,
			const char *name) MUST_CHECK;

#endif
