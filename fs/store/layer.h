/*
 * layer.h - one real folder, and resolution beneath it.
 *
 * Nothing is ever opened outside the folder: paths are resolved with
 * openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), single names with
 * O_NOFOLLOW.
 *
 * Threads: a layer is immutable between layer_open and layer_close.
 */
#ifndef FS_STORE_LAYER_H
#define FS_STORE_LAYER_H

#include <sys/types.h>

#include "compiler.h"

struct layer {
	int root_fd; /* O_PATH, owned */
	dev_t dev;
};

/* Opens the folder `path` (relative to `dirfd`; may be reached over links).
 * -ENOENT, -ENOTDIR, -EACCES, ... */
int layer_open(struct layer *layer, int dirfd, const char *path) MUST_CHECK;

/* Takes a zeroed one ({.root_fd = -1}) too. */
void layer_close(struct layer *layer);

/*
 * Opens `path` ("" = the root; any length) beneath the root with `flags`;
 * the caller owns the descriptor. -ELOOP where a component is a link.
 */
int layer_open_path(const struct layer *layer, const char *path,
		    int flags) MUST_CHECK;

#endif
