/*
 * merged.h - files of which the upper has only the blocks that were written, as
 * a program in the view sees them (fs/store/partial.h).
 *
 * Works while the daemon changes the file: a block that is not noted yet shows
 * what was there before. Where the base was modified, what was not copied is
 * gone: -ESTALE.
 *
 * Threads: one at a time per file.
 */
#ifndef TOOLS_DIFF_MERGED_H
#define TOOLS_DIFF_MERGED_H

#include "compiler.h"
#include "partial.h"
#include "sides.h"

struct merged {
	/* private */
	struct partial partial;
	int upper_fd;
	int base_fd; /* -1: nothing of it is needed, or it is not what it was */
	off_t size;
};

#define MERGED_INIT                                                            \
	{                                                                      \
		.upper_fd = -1, .base_fd = -1                                  \
	}
#define AUTO_MERGED AUTO(merged_close) struct merged

/* `name` in `dirfd` ("" = `dirfd`), a file of the upper or of links. 1: it is
 * open; 0: it is an ordinary file; or -errno: -EBADMSG where its map can't be
 * used. */
int merged_open(struct merged *merged, const struct sides *sides, int dirfd,
		const char *name) MUST_CHECK;
void merged_close(struct merged *merged);

/* 1 if the file holds the same bytes as `name` in `dirfd`, 0 if not, or
 * -errno. Reads only what was written, where that is the base's file still. */
int merged_equals(const struct merged *merged, int dirfd,
		  const char *name) MUST_CHECK;

/*
 * The file `fd` (O_PATH, taken over) of the upper or of links, or, where it is
 * partial, a copy of it without a name, with all that it has and its
 * attributes.
 */
int merged_whole(const struct sides *sides, int fd) MUST_CHECK;

#endif
