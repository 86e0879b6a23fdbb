/*
 * applied.h - which entries of the base an apply has made.
 *
 * A view lies over its base, so taking changes over changes what the view is
 * compared with, and a directory that it shows from elsewhere in the base may
 * show what the apply itself put there. What an apply made is no change of
 * anybody else's: it is known by its identity, in the file `applied` of the
 * view's folder, one line of five decimal numbers each (device, inode, size,
 * mtime, ctime in ns).
 *
 * Threads: immutable between applied_read and applied_release.
 */
#ifndef TOOLS_DIFF_APPLIED_H
#define TOOLS_DIFF_APPLIED_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "origin.h"

struct applied {
	struct origin *ids; /* owned, sorted once read */
	size_t n;
};

/* Fills a zeroed one from the folder views/<view>; nothing where there is no
 * file. -EBADMSG for what is none, ... */
int applied_read(struct applied *applied, int view_fd) MUST_CHECK;

/* Appends; no longer sorted. 0 or -ENOMEM. */
int applied_add(struct applied *applied, const struct origin *id) MUST_CHECK;

/* Replaces the file, durably. 0 or -errno. */
int applied_write(const struct applied *applied, int view_fd) MUST_CHECK;

/* Of a directory, whose size and times change with its content, only the
 * inode counts. */
bool applied_contains(const struct applied *applied, const struct origin *id,
		      bool is_dir);

void applied_release(struct applied *applied);

#endif
