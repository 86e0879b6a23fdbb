/*
 * origin_format.h - the attribute that a copied-up file or directory carries.
 *
 * user.legato.origin holds the identity of the base file at the moment of
 * copy-up. The view takes the inode number from it, so that the number is
 * constant for life; legato-diff tells renames and "base moved" by it.
 * 56 bytes, the most that fits into the inode on ext4 (256-byte inodes).
 *
 * Version 2 is that of a partial file (partial_format.h), so that who does not
 * know of those does not take it for a whole one.
 */
#ifndef FS_STORE_ORIGIN_FORMAT_H
#define FS_STORE_ORIGIN_FORMAT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define ORIGIN_ATTR            "user.legato.origin"
#define ORIGIN_VERSION         1
#define ORIGIN_VERSION_PARTIAL 2

/* All little-endian. Times are nanoseconds since 1970 modulo 2^64: they are
 * compared for equality only. */
struct origin_record {
	uint8_t version;
	uint8_t number_variant; /* see core/numbers.h; 0: the base's number */
	uint8_t reserved[2];
	uint32_t partial_tag; /* version 2: not 0 */
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	uint64_t mtime_ns;
	uint64_t ctime_ns;
	uint64_t birth_ns; /* 0: the disk does not say */
};

static_assert(sizeof(struct origin_record) == 56, "on-disk size");
static_assert(offsetof(struct origin_record, dev) == 8, "on-disk layout");
static_assert(offsetof(struct origin_record, birth_ns) == 48, "on-disk layout");

#endif
