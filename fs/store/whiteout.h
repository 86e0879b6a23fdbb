/*
 * whiteout.h - how a layer says "not here" and "nothing from below", in the
 * kernel overlayfs on-disk format (Documentation/filesystems/overlayfs.rst,
 * "whiteouts and opaque directories").
 *
 * Whiteout: a character device 0:0. Opaque: a directory with the attribute
 * user.overlay.opaque = "y" (trusted.overlay.opaque is read too, where the
 * process may).
 *
 * Where the disk has no such device (an overlayfs keeps it for itself), a
 * whiteout is an empty file with user.overlay.whiteout, in a directory with
 * user.overlay.opaque = "x": the form that the kernel reads in its lowers (from
 * Linux 6.7). The upper's root then has user.legato.whiteout-files, without
 * which no empty file is asked.
 *
 * Foreign marks: fuse-overlayfs and others write, where they can't make
 * devices, an empty file ".wh.NAME" beside where NAME would be, ".wh..wh..opq"
 * in an opaque directory or user.fuseoverlayfs.opaque on it; the kernel reads
 * an empty file with overlay.whiteout as a whiteout. Only layers that such
 * tools may have written are looked at for them (`foreign`): elsewhere these
 * are names and files as others. A mark in the same layer as the name itself
 * says nothing.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_WHITEOUT_H
#define FS_STORE_WHITEOUT_H

#include <stdbool.h>
#include <sys/stat.h>

#include "compiler.h"

#define WHITEOUT_OPAQUE_ATTR "user.overlay.opaque"

/* Whether `st` is that of a whiteout. */
bool whiteout_is(const struct stat *st);

/* Makes one (needs no privilege since Linux 5.8). -EEXIST, -ENOSPC, ... */
int whiteout_create(int dirfd, const char *name) MUST_CHECK;

/* The same as a file, in a folder where nobody sees it unfinished. -EOPNOTSUPP
 * where the disk has no user attributes. */
int whiteout_create_file(int dirfd, const char *name) MUST_CHECK;
/* Whether `name`, whose stat is `st`, is one: 1, 0 or -errno. */
int whiteout_is_file(int dirfd, const char *name,
		     const struct stat *st) MUST_CHECK;
/* Says on a directory, before it gets the first one, that it has some. */
int whiteout_announce_files(int dirfd) MUST_CHECK;
/* Says so on the root of an upper; whiteout_has_files: 1, 0 or -errno. */
int whiteout_note_files(int root_fd) MUST_CHECK;
int whiteout_has_files(int root_fd) MUST_CHECK;

/* Marks the directory `name` ("" = dirfd itself). -EOPNOTSUPP where the disk
 * has no user attributes. */
int whiteout_set_opaque(int dirfd, const char *name) MUST_CHECK;

/*
 * A whiteout that a program made in a view, for a layer of its own (a view over
 * a view): it must be seen there as the device that it is, so the upper can't
 * have it as such. It is an empty regular file with the attribute
 * user.legato.whiteout. whiteout_show marks the file; whiteout_is_shown says 1,
 * 0 or -errno; whiteout_show_stat turns the file's stat into the device's.
 */
int whiteout_show(int dirfd, const char *name) MUST_CHECK;
int whiteout_is_shown(int dirfd, const char *name) MUST_CHECK;
void whiteout_show_stat(struct stat *st);

/* stat of `name`, that of a whiteout where a foreign mark says so; a mark's own
 * name is -ENOENT. */
int whiteout_stat(int dirfd, const char *name, bool foreign,
		  struct stat *ret_st) MUST_CHECK;

/* The name that a mark ".wh.NAME" hides ("" for one that hides none itself),
 * or NULL for any other name. */
const char *whiteout_marked_name(const char *name);

/* 1 if the directory `name` ("" = dirfd itself) is opaque, 0 if not, or
 * -errno. */
int whiteout_is_opaque(int dirfd, const char *name) MUST_CHECK;
/* The same, with the foreign marks, too, if asked for. */
int whiteout_hides_below(int dirfd, const char *name, bool foreign) MUST_CHECK;

#endif
