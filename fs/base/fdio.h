/*
 * fdio.h - whole reads, writes and copies on descriptors.
 *
 * Short counts are normal and handled; every loop stops on 0 bytes.
 */
#ifndef FS_BASE_FDIO_H
#define FS_BASE_FDIO_H

#include <sys/types.h>

#include "buf.h"

/* Writes all of it at the descriptor's position. 0 or -errno. */
int fdio_write_all(int fd, const void *data, size_t size) MUST_CHECK;

/* All of it at `off` unless the file ends before; the bytes read, or -errno. */
ssize_t fdio_pread(int fd, void *data, size_t size, off_t off) MUST_CHECK;

/* All of it at `off`; less where an error came in between: the bytes written,
 * or -errno. */
ssize_t fdio_pwrite(int fd, const void *data, size_t size,
		    off_t off) MUST_CHECK;

/* Adds what is left of `fd` to `buf`. -EFBIG past `limit` bytes. */
int fdio_read_all(int fd, struct buf *buf, size_t limit) MUST_CHECK;

/*
 * Makes `to` (empty, writable) hold what `from` holds, `size` bytes, holes
 * kept as holes: by sharing blocks where the disk can, else in the kernel,
 * else by read and write. Shorter if `from` ends early. 0 or -errno; on
 * failure the content of `to` is undefined.
 */
int fdio_copy(int to, int from, off_t size) MUST_CHECK;

/*
 * Replaces the file `name` in `dirfd` by `size` bytes, atomically and
 * durably: a temporary file beside it, fsync, rename. 0 or -errno.
 */
int fdio_replace_file(int dirfd, const char *name, const void *data,
		      size_t size) MUST_CHECK;

/*
 * Gives the empty file `fd` all blocks of `size` bytes, to be written in place:
 * a store into a map of it needs no space that a full disk doesn't have, which
 * would be SIGBUS. -ENOSPC, ...
 */
int fdio_allocate(int fd, off_t size) MUST_CHECK;

/* The same, but durable only once the disk gets to it: for what a failure of
 * the power may take, as it takes all else of these seconds. */
int fdio_replace_file_for_now(int dirfd, const char *name, const void *data,
			      size_t size) MUST_CHECK;
/* As that, for a file that will be mapped: as fdio_allocate has it. */
int fdio_replace_mapped_file(int dirfd, const char *name, const void *data,
			     size_t size) MUST_CHECK;

#endif
