/*
 * origin.h - the identity of the base file that an upper file came from.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_ORIGIN_H
#define FS_STORE_ORIGIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "compiler.h"

struct origin {
	uint64_t dev;
	uint64_t ino;
	uint64_t size_bytes;
	uint64_t mtime_ns;
	uint64_t ctime_ns;
	uint64_t birth_ns;      /* 0: not known */
	uint8_t number_variant; /* of the inode number; see origin_format.h */
	/* Of the copy: not all of it is there, and this is its map's tag, of 32
	 * bits (partial.h). 0: it is whole. No part of the identity. */
	uint64_t partial_tag;
};

/* All but the time of birth, which stat does not have. */
void origin_from_stat(struct origin *ret_origin, const struct stat *st);

/* Adds the time of birth of `name` in `dirfd` ("" = dirfd itself); 0 where the
 * disk does not say. */
int origin_add_birth(struct origin *origin, int dirfd,
		     const char *name) MUST_CHECK;

/* Whether `st` is still the very file, unchanged since. */
bool origin_matches(const struct origin *origin, const struct stat *st);

/*
 * The name by which a file with several names is kept in the links folder
 * (core/links.h): "<device>-<inode>-<birth>" in hexadecimal. The time of birth
 * tells a later file with the same number from it; unlike the other times it
 * does not change when the file is touched.
 */
#define ORIGIN_KEY_BYTES 56
void origin_key(const struct origin *origin, char ret_key[ORIGIN_KEY_BYTES]);

/* Writes it on `name` in `dirfd` ("" = dirfd itself). -EOPNOTSUPP or -EPERM
 * where the disk, or the type of the file (symlinks), has no user attributes;
 * the caller goes on without. */
int origin_write(int dirfd, const char *name,
		 const struct origin *origin) MUST_CHECK;

/* 1 and *ret_origin, 0 where there is none, or -errno: -EBADMSG for one that
 * can't be understood. */
int origin_read(int dirfd, const char *name,
		struct origin *ret_origin) MUST_CHECK;

#endif
