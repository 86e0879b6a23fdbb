/*
 * metacopy.h - a file that has its attributes in one layer and its data in a
 * layer below: what the kernel's overlayfs writes with `metacopy=on`
 * ([user|trusted].overlay.metacopy; its size is right, its data a hole).
 *
 * We read such files and make none. Without the privilege to read trusted.*
 * the attribute can't be seen.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_METACOPY_H
#define FS_STORE_METACOPY_H

#include <stdbool.h>
#include <sys/stat.h>

#include "compiler.h"

/* Whether the regular file `name` is one: 1, 0 or -errno. */
int metacopy_is(int dirfd, const char *name) MUST_CHECK;

/* Whether the file `name`, which `st` describes and which has no attribute that
 * we can see, has to be taken for one, `below` being what its name is
 * underneath: all hole, and of the same size. */
bool metacopy_is_likely(int dirfd, const char *name, const struct stat *st,
			const struct stat *below);

#endif
