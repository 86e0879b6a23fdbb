/*
 * caps.h - what is agreed with the kernel when a connection starts.
 */
#ifndef FS_FUSE_CAPS_H
#define FS_FUSE_CAPS_H

#include <fuse_lowlevel.h>

/* Chooses from what the kernel offers; logs one line. */
void caps_negotiate(struct fuse_conn_info *conn);

#endif
