/*
 * content.h - the bytes of a file or the target of a link, on either side.
 *
 * Every function takes an entry as (dirfd, name); name "" is `dirfd` itself,
 * which may be an O_PATH descriptor. Nothing follows a link or opens a
 * special file, and nothing is mapped: a file that is truncated while it is
 * read is only shorter.
 *
 * Errors: -ENOENT, -EACCES, -EIO, -ENOMEM, ...; -ESTALE where the entry is no
 * longer of the kind that it was.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_CONTENT_H
#define TOOLS_DIFF_CONTENT_H

#include <stdint.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "sides.h"

/* Files above this are compared and hashed in pieces, but never loaded. */
#define CONTENT_MAX_LOAD_BYTES (512UL * 1024 * 1024)

struct content_hash {
	uint64_t low;
	uint64_t high;
};

/* An O_PATH descriptor of the entry that is the old or the new side of a
 * change, a link included; the caller owns it. */
int content_open_old(const struct sides *sides,
		     const struct change *change) MUST_CHECK;
int content_open_new(const struct sides *sides,
		     const struct change *change) MUST_CHECK;
/* The same without the bytes that a partial file still has in the base: only
 * for compare_ends, which knows of that. */
int content_open_stored(const struct sides *sides,
			const struct change *change) MUST_CHECK;

/* 1 if both files hold the same bytes, 0 if not, or -errno. */
int content_files_equal(int a_dirfd, const char *a_name, int b_dirfd,
			const char *b_name) MUST_CHECK;

/* 1 if both links have the same target, 0 if not, or -errno. */
int content_links_equal(int a_dirfd, const char *a_name, int b_dirfd,
			const char *b_name) MUST_CHECK;

/* Adds the bytes of a file, or the target of a link, to `buf`. -EFBIG above
 * CONTENT_MAX_LOAD_BYTES. */
int content_load(int dirfd, const char *name, enum change_kind kind,
		 struct buf *buf) MUST_CHECK;

/* Equal where the content is, but not only there: XXH3 of what content_load
 * would give, or for big files of samples of it. */
int content_hash(int dirfd, const char *name, enum change_kind kind,
		 struct content_hash *ret_hash) MUST_CHECK;

#endif
