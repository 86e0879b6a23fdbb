/*
 * attr.h - stat and the attributes that a program may set.
 *
 * Numbers are the disk's, but for: the inode number (constant for life, see
 * view.h), the link count of a merged directory (1, the convention for "not
 * counted"), and that of a base file whose last name was removed (0).
 */
#ifndef FS_CORE_ATTR_H
#define FS_CORE_ATTR_H

#include <sys/statvfs.h>

#include "view.h"

/* Which fields of struct attr_change count. */
enum attr_flags {
	ATTR_MODE = 1 << 0,
	ATTR_UID = 1 << 1,
	ATTR_GID = 1 << 2,
	ATTR_SIZE = 1 << 3,
	ATTR_TIMES = 1 << 4,
};

struct attr_change {
	unsigned int flags;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	off_t size;
	struct timespec times[2]; /* UTIME_NOW, UTIME_OMIT as utimensat */
};

int op_getattr(struct fs *fs, struct node *node,
	       struct stat *ret_st) MUST_CHECK;

/* Whether the attributes can only change through this mount, or a change in
 * the base would be seen. */
bool attr_is_stable(struct node *node);

/* Copies the node up, then makes the changes in the order size, owner, mode,
 * times (chown clears bits that chmod sets). */
int op_setattr(struct fs *fs, struct node *node,
	       const struct attr_change *change, const struct caller *caller,
	       struct stat *ret_st) MUST_CHECK;

/* Of the disk that the upper is on, within the quota. */
int op_statfs(struct fs *fs, struct node *node,
	      struct statvfs *ret_st) MUST_CHECK;

/* Attributes by the names that a program uses; the format's own are not
 * there. As getxattr, setxattr, listxattr, removexattr; size 0 asks for the
 * size. */
ssize_t op_getxattr(struct node *node, const char *attr, void *value,
		    size_t size) MUST_CHECK;
ssize_t op_listxattr(struct node *node, char *list, size_t size) MUST_CHECK;
int op_setxattr(struct fs *fs, struct node *node, const char *attr,
		const void *value, size_t size, int flags,
		const struct caller *caller) MUST_CHECK;
int op_removexattr(struct fs *fs, struct node *node, const char *attr,
		   const struct caller *caller) MUST_CHECK;

ssize_t op_readlink(struct node *node, char *target, size_t size) MUST_CHECK;

#endif
