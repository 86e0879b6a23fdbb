/*
 * mount.h - `legato-fs mount`: views without a sandbox, for a person's shell.
 */
#ifndef FS_FUSE_MOUNT_H
#define FS_FUSE_MOUNT_H

/* argv[0] is "mount". Returns the exit status: 0, 1, or 2 for usage. */
int mount_command(int argc, char **argv);

#endif
