/*
 * rename.h - one name takes another's place, in one step.
 */
#ifndef FS_CORE_RENAME_H
#define FS_CORE_RENAME_H

#include "view.h"

/*
 * As renameat2 with the flags 0, RENAME_NOREPLACE and RENAME_EXCHANGE; others
 * are -EINVAL. A directory with content in the base is moved by a redirect, in
 * constant time. -EXDEV between views only (and where the disk can't hold a
 * redirect).
 */
int op_rename(struct fs *fs, struct node *from_dir, const char *from,
	      struct node *to_dir, const char *to, unsigned int flags,
	      const struct caller *caller) MUST_CHECK;

#endif
