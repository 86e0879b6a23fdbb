/*
 * create.h - new names: create, mkdir, mknod, symlink, tmpfile, link.
 *
 * A new file is made in the upper directory itself, as the caller, so that the
 * disk's own rules for owner and group hold. Over a whiteout it is prepared in
 * the work folder and takes the whiteout's place in one rename.
 *
 * `mode` comes as the program gave it, the umask with the caller. On success
 * ret_entry has a node with one reference for the caller.
 */
#ifndef FS_CORE_CREATE_H
#define FS_CORE_CREATE_H

#include "lookup.h"
#include "view.h"

/* A regular file, counted as opened once; -EEXIST if the name is there. */
int op_create(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	      const struct caller *caller, struct entry *ret_entry) MUST_CHECK;
/* A regular file without a name, counted as opened once. */
int op_tmpfile(struct fs *fs, struct node *parent, mode_t mode,
	       const struct caller *caller, struct entry *ret_entry) MUST_CHECK;
/* Any type but directory and symlink; `mode` has the type. */
int op_mknod(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	     dev_t rdev, const struct caller *caller,
	     struct entry *ret_entry) MUST_CHECK;
int op_mkdir(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	     const struct caller *caller, struct entry *ret_entry) MUST_CHECK;
int op_symlink(struct fs *fs, struct node *parent, const char *name,
	       const char *target, const struct caller *caller,
	       struct entry *ret_entry) MUST_CHECK;
int op_link(struct fs *fs, struct node *node, struct node *parent,
	    const char *name, const struct caller *caller,
	    struct entry *ret_entry) MUST_CHECK;

#endif
