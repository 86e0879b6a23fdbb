/*
 * dropin.h - legato-fs as fuse-overlayfs is called.
 *
 *   legato-fs [-f] [-d] -o OPTION[,OPTION...] [SOURCE] MNT
 *
 * Returns when mounted (unless -f). It has no execution: the upper and work
 * folders are the caller's, the log goes to stderr.
 */
#ifndef FS_FUSE_DROPIN_H
#define FS_FUSE_DROPIN_H

/* The exit status: 0, 1, or 2 for usage. */
int dropin_command(int argc, char **argv);

#endif
