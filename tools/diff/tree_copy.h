/*
 * tree_copy.h - a folder with all it holds, copied.
 *
 * Everything is kept: kinds, attributes, times, names of one file. Blocks are
 * shared where the disk can. No link is followed.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_TREE_COPY_H
#define TOOLS_DIFF_TREE_COPY_H

#include "compiler.h"
#include "layer.h"
#include "trouble.h"

/* Copies into `to`, an empty folder. What can't be copied is told, and the rest
 * goes on; 0, or -ENOMEM, -ENOSPC, -EDQUOT. */
int tree_copy(const struct layer *to, const struct layer *from,
	      struct trouble *trouble) MUST_CHECK;

#endif
