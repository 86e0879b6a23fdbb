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

#include "compiler.h"

/* Writes that the directory `name` in `dirfd` has its lower content at `path`
 * (no leading '/'). -EOPNOTSUPP where the disk has no attributes,
 * -ENAMETOOLONG. */
int redirect_write(int dirfd, const char *name, const char *path) MUST_CHECK;

/* 1 and the path in *ret_path (no leading '/'; the caller frees), 0 where
 * there is none, or -errno: -EBADMSG for one that is no absolute path made of
 * proper components. */
int redirect_read(int dirfd, const char *name, char **ret_path) MUST_CHECK;

#endif
