/*
 * notify.h - telling the kernel that the base was changed by somebody else.
 *
 * Threads: the attendant's only (loop.c). A notification may wait for an inode
 * lock that a process holds while it waits for our reply; so no handler may
 * send one, no lock of ours is held over one, and the attendant must not end
 * the workers while it sends.
 */
#ifndef FS_FUSE_NOTIFY_H
#define FS_FUSE_NOTIFY_H

#include <fuse_lowlevel.h>

#include "ops.h"

/* Reads the events that are there and passes on what they mean. Returns when
 * there are no more. */
void notify_base_changes(struct fuse_session *session, struct server *server);

/* The same for changes that requests have come across (changes_take). */
void notify_old_pages(struct fuse_session *session, struct server *server);

#endif
