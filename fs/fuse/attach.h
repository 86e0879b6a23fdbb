/*
 * attach.h - mounting a session and unmounting it.
 *
 * Root mounts with mount(2): libfuse would start /bin/mount and /bin/umount
 * for a table of mounts that no system keeps any more, which costs more than
 * all the rest of the start. A user mounts through libfuse and fusermount3.
 *
 * Threads: the main one's.
 */
#ifndef FS_FUSE_ATTACH_H
#define FS_FUSE_ATTACH_H

#include <fuse_lowlevel.h>

#include "compiler.h"

/* The options that both ways mount with, as for `mount -o`. */
#define ATTACH_OPTIONS                                                         \
	"default_permissions,nosuid,nodev,fsname=legato-fs,subtype=legato-fs"

/* Mounts at `path`. 0, or -errno with the reason on stderr. */
int attach(struct fuse_session *session, const char *path) MUST_CHECK;

/* Unmounts, also while it is in use, unless somebody has done so. */
void detach(struct fuse_session *session, const char *path);

#endif
