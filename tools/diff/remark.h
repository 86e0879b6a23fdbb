/*
 * remark.h - what neither a line count nor git's patch format tells about a
 * change: permission bits beyond executable, attributes, empty directories,
 * special files, files too big to be loaded.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_REMARK_H
#define TOOLS_DIFF_REMARK_H

#include "buf.h"
#include "change.h"

/* Adds "mode 0644 => 0600, extended attributes"; nothing where a patch says
 * it all. */
void remark_add(struct buf *buf, const struct change *change);

#endif
