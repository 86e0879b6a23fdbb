/*
 * xattr.h - which extended attributes belong to the layer format and which
 * to the user, and the escape that lets a view lie over a view.
 *
 * On disk, names under "user.overlay.", "trusted.overlay.", "user.legato." and
 * "user.fuseoverlayfs." (whiteout.h) are the format's. A program in a view
 * never sees them; one that uses such a name gets it stored with one more
 * prefix component, as the kernel does: user.overlay.opaque <->
 * user.overlay.overlay.opaque.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_XATTR_H
#define FS_STORE_XATTR_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "compiler.h"

/* XATTR_NAME_MAX is 255, plus the NUL. */
#define XATTR_NAME_BYTES 256

/* Whether the on-disk name is the format's own (and so hidden). */
bool xattr_is_private(const char *disk_name);

/* The on-disk name for a name that a program uses. 0, or -ERANGE where the
 * escaped name would be too long. */
int xattr_to_disk(const char *name,
		  char ret_disk_name[XATTR_NAME_BYTES]) MUST_CHECK;

/* The name that a program sees; points into or at `disk_name`'s escaped form
 * written to `storage`. NULL if the name is private. */
const char *xattr_to_view(const char *disk_name,
			  char storage[XATTR_NAME_BYTES]);

/* Turns a list of on-disk names (as from listxattr) into the one that a
 * program sees, in place. Returns the new size in bytes. */
size_t xattr_filter_list(char *list, size_t size);

#endif
