/*
 * mountinfo.h - the mounts that this process sees, without touching them.
 *
 * A stat on the mount of a file system whose server hangs would hang too;
 * /proc/self/mountinfo tells what is mounted where, and its device, without
 * asking the server.
 *
 * Calling sequence: mountinfo_read, use `entries`, mountinfo_release. The
 * strings live in the struct. Threads: one at a time per struct.
 */
#ifndef FS_STORE_MOUNTINFO_H
#define FS_STORE_MOUNTINFO_H

#include <stddef.h>
#include <sys/types.h>

#include "buf.h"
#include "compiler.h"

struct mountinfo_entry {
	dev_t dev;
	const char *root;     /* what of the file system is there: "/" is all */
	const char *mount_at; /* canonical */
	const char *type;     /* "ext4", "fuse.legato-fs" */
};

struct mountinfo {
	struct mountinfo_entry *entries; /* in the order of mounting */
	size_t count;
	/* private */
	struct buf text;
};

/* 0 or -errno: -ENOMEM, and what reading a file gives. */
int mountinfo_read(struct mountinfo *ret_mountinfo) MUST_CHECK;
void mountinfo_release(struct mountinfo *mountinfo);

#endif
