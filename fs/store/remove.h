/*
 * remove.h - a folder and all beneath it, thrown away.
 *
 * Invariants: no link is followed and no mount is entered, not even a bind
 * mount of the same disk; directories that their owner may not search (mode
 * 0000) are opened up first; depth is bounded neither by PATH_MAX nor by the
 * limit of open files; a full disk or memory does not stop it. Many files are
 * removed by several threads, if there are processors for them and threads to
 * be had.
 *
 * Threads: any. Whoever else writes in the folder meanwhile may see -ENOTEMPTY
 * come back here, never more.
 */
#ifndef FS_STORE_REMOVE_H
#define FS_STORE_REMOVE_H

#include "compiler.h"

/*
 * Removes all that the folder `folder_fd` (readable; stays the caller's) holds,
 * but for the entry `keep` (NULL for none). `path` is its canonical path.
 * Goes on after a failure and returns the first one. -EBUSY, with nothing
 * touched, while something is mounted beneath; -EXDEV, -EACCES, ...
 */
int remove_content(int folder_fd, const char *path,
		   const char *keep) MUST_CHECK;

/* 0, or -EBUSY if something is mounted beneath `path`, an absolute one. */
int remove_check_no_mounts(const char *path) MUST_CHECK;

#endif
