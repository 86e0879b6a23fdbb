/*
 * rename.h - one name takes another's place, in one step.
 */
#ifndef FS_CORE_RENAME_H
#define FS_CORE_RENAME_H

#include "view.h"

/*
 * As renameat2 with the flags 0, RENAME_NOREPLACE and RENAME_EXCHANGE; others
 * are -EINVAL. -EXDEV between views, and for a directory that has content in
 * the base (programs then copy; see README.md).
 */
int op_rename(struct fs *fs, struct node *from_dir, const char *from,
	      struct node *to_dir, const char *to,
	      unsigned int flags) MUST_CHECK;

#endif
