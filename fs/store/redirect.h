/*
 * redirect.h - a directory that was renamed, and where its content is in the
 * base: the attribute user.overlay.redirect of the kernel's format, always as
 * an absolute path from the layer's root ("/a/b").
 *
 * The kernel reads it on mounts with trusted.* attributes only; on a
 * `userxattr` mount it refuses such a directory with EPERM rather than show it
 * without its content.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_REDIRECT_H
#define FS_STORE_REDIRECT_H

#include <stdbool.h>

#include "compiler.h"

/* Writes that the directory `name` in `dirfd` has its lower content at `path`
 * (no leading '/'). -EOPNOTSUPP where the disk has no attributes,
 * -ENAMETOOLONG. */
int redirect_write(int dirfd, const char *name, const char *path) MUST_CHECK;

enum redirect_kind {
	REDIRECT_NONE = 0,
	REDIRECT_PATH = 1, /* from the root of the layers below */
	REDIRECT_NAME = 2, /* another name in the same directory of theirs */
};

/*
 * One of enum redirect_kind with what it points to in *ret_path (no leading
 * '/'; the caller frees), or -errno: -EBADMSG for one that is no path made of
 * proper components.
 *
 * `foreign`: the layer may be of the kernel's own making, which has it in
 * trusted.overlay.redirect, too, and on files that have their attributes only
 * (metacopy.h), and says a name alone where the directory is the same.
 */
int redirect_read(int dirfd, const char *name, bool foreign,
		  char **ret_path) MUST_CHECK;

#endif
