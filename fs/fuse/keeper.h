/*
 * keeper.h - a process that unmounts, since a confined daemon can't.
 *
 * To unmount takes the right to do so (root) or a program with a set-user-id
 * bit (fusermount3): a process that has given both up for good (confine.h)
 * leaves it to this one. It is told so, or sees that the daemon has ended,
 * however that came about: then no dead mount stays behind. It reads nothing
 * but that, and has no descriptor of the daemon's.
 *
 * Calling sequence: keeper_start before any thread, keeper_unmount once at the
 * end. Threads: the main one's.
 */
#ifndef FS_FUSE_KEEPER_H
#define FS_FUSE_KEEPER_H

#include <stdbool.h>

#include "compiler.h"

/* `mount_point`, absolute, is where something will be mounted. 0 or -errno. */
int keeper_start(const char *mount_point) MUST_CHECK;

/* Has it unmount, lazily, unless somebody has done so; and waits. Without a
 * keeper it does nothing: false. */
bool keeper_unmount(void);

#endif
