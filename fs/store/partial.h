/*
 * partial.h - files of which the upper has only the blocks that were written.
 *
 * What a byte of such a file is:
 *
 *   at or behind `limit`, or in a block whose bit is set    the upper's
 *   else                                                    the base's
 *
 * Invariants:
 *
 *  1. A bit is set after the whole block is in the upper: data before map. It
 * is never cleared; a file that replaces this one has an inode, a tag and a map
 * of its own.
 *  2. `limit` starts as the base's size, is never above the file's size, and
 *     only goes down. So what was truncated away never shows the base's bytes
 *     again. The file is cut first; a map that says more than the file has
 *     (killed in between) is cut when it is loaded.
 *  3. The base's bytes count only while its file is what it was at copy-up, by
 *     inode, birth, size and time of modification, looked at after each read
 *     of it: old and new content never mix. The time of change is not asked:
 *     renaming, owners, modes and links of other names move it and leave the
 *     content alone. Nor is the device's number, which a restart may change.
 *     What this can't see: a writer that puts the time back to the nanosecond,
 *     and one through a shared map that was dirty before.
 *  4. The tag in the origin makes a file partial, not the map: a map without
 *     one is left over, and means nothing.
 *
 * Nothing is mapped: a map that somebody cuts, or a disk that is full, is an
 * error of one call and not SIGBUS.
 *
 * Threads: the caller's lock; functions that take it const may run together.
 */
#ifndef FS_STORE_PARTIAL_H
#define FS_STORE_PARTIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "compiler.h"
#include "layer.h"
#include "origin.h"

#define PARTIAL_BLOCK_BYTES INT64_C(4096)

/* Of a file: its map takes 32 MiB of memory then. Longer ones are holes. */
#define PARTIAL_MAX_BYTES (INT64_C(1) << 40)

struct partial {
	/* Set once. */
	struct origin base; /* its tag is the file's */
	uint64_t base_blocks;
	unsigned int layer;
	char *path; /* beneath the layer's root; owned */
	/* private */
	off_t limit;
	size_t absent;
	uint8_t *bits;
	bool limit_unsaved;
};

/* The name of the map in `links`. */
#define PARTIAL_NAME_BYTES 20
void partial_name(ino_t ino, char ret_name[PARTIAL_NAME_BYTES]);

/* A tag, never 0. */
int partial_new_tag(uint64_t *ret_tag) MUST_CHECK;

/*
 * For a copy of the base's file `base` (with a tag), of which the upper has
 * nothing yet; takes `path` over, also on failure. -ENAMETOOLONG, -ENOMEM.
 */
int partial_init(struct partial *partial, const struct origin *base,
		 uint64_t base_blocks, unsigned int layer,
		 char *path) MUST_CHECK;
/* Writes a new map for the file with the inode `ino`. The descriptor, or
 * -errno; nothing is left then. */
int partial_create(const struct partial *partial, int links_fd,
		   ino_t ino) MUST_CHECK;

/*
 * Reads the map of a file of `size` bytes whose origin has `tag`. -EBADMSG:
 * missing, broken, or of another file. `partial` is to be released in any case.
 * A map that is to be written afterwards is opened by partial_open.
 */
int partial_load(struct partial *partial, int links_fd, ino_t ino, uint64_t tag,
		 off_t size) MUST_CHECK;
int partial_open(int links_fd, ino_t ino) MUST_CHECK;
/* Takes a zeroed one, too. */
void partial_release(struct partial *partial);

/* The base's file, if it is still what it was; else -ESTALE. */
int partial_open_base(const struct partial *partial, const struct layer *layers,
		      unsigned int count) MUST_CHECK;
/* 0, or -ESTALE: it was changed. */
int partial_check_base(const struct partial *partial, int base_fd) MUST_CHECK;

/* How many blocks are the base's; 0: the file is whole. */
size_t partial_absent(const struct partial *partial);
/* The space that a whole copy would take for those, in blocks of 512 bytes. */
uint64_t partial_absent_blocks(const struct partial *partial);
/* Whether any of the bytes is the base's. */
bool partial_needs_base(const struct partial *partial, off_t off, off_t size);
/* Up to where the bytes from `off` on, below `stop`, lie on the same side. */
off_t partial_run(const struct partial *partial, off_t off, off_t stop,
		  bool *ret_base);
/* Whether the block that `off` lies in is the base's. */
bool partial_is_absent(const struct partial *partial, off_t off);
/* What of that block is the base's; only for an absent one. */
size_t partial_base_bytes(const struct partial *partial, off_t off);

/*
 * As pread and lseek (SEEK_DATA, SEEK_HOLE) of the file. `base_fd` may be -1
 * where nothing of the range is the base's. -ESTALE: the base has changed;
 * nothing was read, then.
 */
ssize_t partial_pread(const struct partial *partial, int upper_fd, int base_fd,
		      void *data, size_t size, off_t off) MUST_CHECK;
off_t partial_seek(const struct partial *partial, int upper_fd, int base_fd,
		   off_t off, int whence) MUST_CHECK;

/* The blocks that lie wholly within the range (the last one may end at the
 * limit) are in the upper by now. `map_fd` -1: the file has no name, and its
 * map neither. -ENOSPC, ...: those before are noted. */
int partial_set(struct partial *partial, int map_fd, off_t off,
		off_t size) MUST_CHECK;
/* The file was truncated to `size`. On failure it must not grow before the
 * same call succeeds: partial_is_cut. */
int partial_cut(struct partial *partial, int map_fd, off_t size) MUST_CHECK;
bool partial_is_cut(const struct partial *partial);

#endif
