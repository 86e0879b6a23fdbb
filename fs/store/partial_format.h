/*
 * partial_format.h - the map that lies beside a partial file.
 *
 * A partial file has in the upper only the blocks that were written; the rest
 * is still in the base. Its origin (origin_format.h) has a tag other than 0.
 * The map is the file `p<inode>` (hexadecimal, of the upper file) in the folder
 * `links`:
 *
 *   0      struct partial_header, and the path of the base's file
 *   8192   a bit for each block of 4096 bytes that the base's file had, the
 *          first in the lowest bit of the first byte: 1 = look in the upper.
 *          Sparse.
 *
 * All little-endian.
 */
#ifndef FS_STORE_PARTIAL_FORMAT_H
#define FS_STORE_PARTIAL_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define PARTIAL_MAGIC      "LGTOMAP"
#define PARTIAL_VERSION    1
#define PARTIAL_BLOCK_LOG2 12
#define PARTIAL_BITS_OFF   8192
#define PARTIAL_PATH_MAX   4096

struct partial_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t tag; /* the origin's */
	/* The base's file at copy-up; see origin_format.h. */
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	uint64_t mtime_ns;
	uint64_t ctime_ns;
	uint64_t birth_ns;
	uint64_t blocks; /* st_blocks */
	uint32_t layer;  /* which of the view's bases, topmost 0 */
	uint32_t path_bytes;
	uint64_t checksum; /* XXH3 of what is above, then of the path */
	/* Nothing at or behind this offset is the base's. It only goes down.
	 * Both are written at once; the second is the first's complement. */
	uint64_t limit_bytes;
	uint64_t limit_check;
	/* then the path beneath the base's root, without a NUL */
};

static_assert(sizeof(struct partial_header) == 104, "on-disk size");
static_assert(offsetof(struct partial_header, checksum) == 80,
	      "on-disk layout");
static_assert(sizeof(struct partial_header) + PARTIAL_PATH_MAX <=
		      PARTIAL_BITS_OFF,
	      "on-disk layout");

#endif
