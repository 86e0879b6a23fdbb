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

#include <stdbool.h>

#include "buf.h"

struct attach_options {
	bool allow_other; /* root's mount always is */
	bool read_only;
	bool allow_dev;
	bool allow_suid;
	bool no_exec;
	bool no_atime;
	const char *fs_name; /* NULL: "legato-fs" */
};

/* Adds them as libfuse takes them, "default_permissions,...". */
void attach_add_options(const struct attach_options *options, struct buf *text);

/* Mounts at `path`. 0, or -errno with the reason on stderr. */
int attach(struct fuse_session *session, const char *path,
	   const struct attach_options *options) MUST_CHECK;

/* Unmounts, also while it is in use, unless somebody has done so. */
void detach(struct fuse_session *session, const char *path);

#endif
