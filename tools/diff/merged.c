#include "merged.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <unistd.h>

#include "fdio.h"
#include "origin_format.h"
#include "sys.h"

#define PIECE_BYTES 262144

/* A writer that never pauses can't be copied. */
#define COPY_ATTEMPTS 5

static int open_data(int dirfd, const char *name)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

	return *name ? sys_openat(dirfd, name, flags | O_NOFOLLOW, 0)
		     : sys_reopen(dirfd, flags);
}

static int read_tag(int dirfd, const char *name, uint64_t *ret_tag)
{
	struct origin origin;
	int known = origin_read(dirfd, name, &origin);

	*ret_tag = known > 0 ? origin.partial_tag : 0;
	return known < 0 && known != -EBADMSG ? known : 0;
}

static int load(struct merged *merged, const struct sides *sides, uint64_t tag)
{
	struct stat st;
	int error = sys_fstat(merged->upper_fd, &st);

	if (error) {
		return error;
	}
	merged->size = st.st_size;
	error = sides->links.root_fd < 0
			? -EBADMSG
			: partial_load(&merged->partial, sides->links.root_fd,
				       st.st_ino, tag, st.st_size);
	if (error || !partial_absent(&merged->partial)) {
		return error;
	}
	merged->base_fd = partial_open_base(&merged->partial, &sides->base, 1);
	if (merged->base_fd == -ESTALE) {
		merged->base_fd = -1;
	}
	return merged->base_fd < -1 ? merged->base_fd : 0;
}

int merged_open(struct merged *merged, const struct sides *sides, int dirfd,
		const char *name)
{
	uint64_t tag;
	uint64_t now;
	int error = read_tag(dirfd, name, &tag);

	if (error || !tag) {
		return error;
	}
	merged->upper_fd = open_data(dirfd, name);
	if (merged->upper_fd < 0) {
		return merged->upper_fd;
	}
	error = load(merged, sides, tag);
	if (error == -EBADMSG && !read_tag(dirfd, name, &now) && !now) {
		merged_close(merged); /* it has become whole */
		return 0;
	}
	return error ? error : 1;
}

void merged_close(struct merged *merged)
{
	partial_release(&merged->partial);
	auto_close_fd(&merged->upper_fd);
	auto_close_fd(&merged->base_fd);
	*merged = (struct merged)MERGED_INIT;
}

static ssize_t read_merged(const struct merged *merged, char *data, size_t size,
			   off_t off)
{
	return partial_pread(&merged->partial, merged->upper_fd,
			     merged->base_fd, data, size, off);
}

/* Whether the same bytes lie in both from `off` to `stop`: 1, 0 or -errno. */
static int range_equal(const struct merged *merged, int other, off_t off,
		       off_t stop, char *pieces)
{
	while (off < stop) {
		size_t size = stop - off < PIECE_BYTES ? (size_t)(stop - off)
						       : PIECE_BYTES;
		ssize_t n = read_merged(merged, pieces, size, off);
		ssize_t m = fdio_pread(other, pieces + PIECE_BYTES, size, off);

		if (n < 0 || m < 0) {
			return (int)(n < 0 ? n : m);
		}
		if (n != m || memcmp(pieces, pieces + PIECE_BYTES, (size_t)n)) {
			return 0;
		}
		if ((size_t)n < size) {
			return 1;
		}
		off += n;
	}
	return 1;
}

/* What is the base's needs no look where `other` is that very file. */
static int compare_runs(const struct merged *merged, int other, bool is_base,
			char *pieces)
{
	off_t off = 0;
	int equal = 1;

	while (off < merged->size && equal > 0) {
		bool base;
		off_t stop =
			partial_run(&merged->partial, off, merged->size, &base);

		if (!base || !is_base) {
			equal = range_equal(merged, other, off, stop, pieces);
		}
		off = stop;
	}
	return equal;
}

int merged_equals(const struct merged *merged, int dirfd, const char *name)
{
	AUTO_FD other = open_data(dirfd, name);
	AUTO_FREE char *pieces = malloc(2 * PIECE_BYTES);
	struct stat st;
	bool is_base;
	int equal;

	if (other < 0 || !pieces) {
		return other < 0 ? other : -ENOMEM;
	}
	equal = sys_fstat(other, &st);
	if (equal) {
		return equal;
	}
	if (st.st_size != merged->size) {
		return 0;
	}
	is_base = !partial_check_base(&merged->partial, other);
	equal = compare_runs(merged, other, is_base, pieces);
	/* What can't be known counts as changed; "base moved" is told, too. */
	return equal == -ESTALE ? 0 : equal;
}

/* ---------------------------------------------------------------- whole */

static int copy_range(const struct merged *merged, int to, off_t off,
		      off_t stop, char *piece)
{
	while (off < stop) {
		size_t size = stop - off < PIECE_BYTES ? (size_t)(stop - off)
						       : PIECE_BYTES;
		ssize_t n = read_merged(merged, piece, size, off);
		ssize_t m = n < 0 ? n : fdio_pwrite(to, piece, (size_t)n, off);

		if (m < n || n < 0) {
			return m < 0 ? (int)m : -ENOSPC;
		}
		if (n == 0) {
			break;
		}
		off += n;
	}
	return 0;
}

/* Holes stay holes. */
static int copy_content(const struct merged *merged, int to)
{
	AUTO_FREE char *piece = malloc(PIECE_BYTES);
	off_t off = 0;
	int error = sys_ftruncate(to, 0);

	error = error ? error : sys_ftruncate(to, merged->size);
	if (!piece) {
		return -ENOMEM;
	}
	while (!error && off < merged->size) {
		off_t stop;

		off = partial_seek(&merged->partial, merged->upper_fd,
				   merged->base_fd, off, SEEK_DATA);
		if (off < 0) {
			return off == -ENXIO ? 0 : (int)off;
		}
		stop = partial_seek(&merged->partial, merged->upper_fd,
				    merged->base_fd, off, SEEK_HOLE);
		error = stop < 0 ? (int)stop
				 : copy_range(merged, to, off, stop, piece);
		off = stop;
	}
	return error;
}

static int copy_xattr(int to, int from, const char *attr)
{
	char value[XATTR_SIZE_MAX];
	ssize_t n =
		strcmp(attr, ORIGIN_ATTR) == 0
			? -ENODATA
			: sys_getxattrat(from, "", attr, value, sizeof(value));
	int error = n < 0 ? (int)n
			  : sys_setxattrat(to, "", attr, value, (size_t)n, 0);

	/* What this user may not see or set is left out. */
	return error == -ENODATA || error == -EPERM || error == -EOPNOTSUPP
		       ? 0
		       : error;
}

/* By their names in the layer: who gets the copy takes it for the file. */
static int copy_xattrs(int to, int from)
{
	char list[XATTR_LIST_MAX];
	ssize_t size = sys_listxattrat(from, "", list, sizeof(list));
	int error = 0;

	if (size < 0) {
		return size == -EOPNOTSUPP ? 0 : (int)size;
	}
	for (ssize_t at = 0; at < size && !error;
	     at += (ssize_t)strlen(list + at) + 1) {
		error = copy_xattr(to, from, list + at);
	}
	return error;
}

static int copy_attributes(int to, int from, const struct stat *st)
{
	const struct timespec times[2] = {st->st_atim, st->st_mtim};
	int error = geteuid() == 0
			    ? sys_fchownat(to, "", st->st_uid, st->st_gid)
			    : 0;

	error = error ? error : copy_xattrs(to, from);
	error = error ? error : sys_fchmodat(to, "", st->st_mode & 07777);
	return error ? error : sys_utimensat(to, "", times);
}

/* Beside the upper, where there is room for what the agent writes. */
static int open_nameless(const struct sides *sides)
{
	const int flags = O_TMPFILE | O_RDWR;
	int fd = sys_openat(sides->upper.root_fd, ".", flags, 0600);

	return fd == -EROFS || fd == -EOPNOTSUPP || fd == -EACCES
		       ? sys_openat(AT_FDCWD, "/tmp", flags, 0600)
		       : fd;
}

/* 1: of one moment; 0: it was changed meanwhile. */
static int copy_once(const struct sides *sides, int fd, int to)
{
	AUTO_MERGED merged = MERGED_INIT;
	struct origin id;
	struct stat before;
	struct stat after;
	int error = sys_fstat(fd, &before);

	error = error ? error : merged_open(&merged, sides, fd, "");
	if (error <= 0) {
		return error; /* 0: whole by now */
	}
	error = copy_content(&merged, to);
	error = error ? error : copy_attributes(to, fd, &before);
	error = error ? error : sys_fstat(fd, &after);
	if (error) {
		return error;
	}
	origin_from_stat(&id, &before);
	return origin_matches(&id, &after);
}

static int copy_whole(const struct sides *sides, int fd)
{
	AUTO_FD to = open_nameless(sides);
	int done = 0;

	if (to < 0) {
		return to;
	}
	for (int i = 0; i < COPY_ATTEMPTS && !done; i++) {
		done = copy_once(sides, fd, to);
	}
	return done < 0 ? done : done ? TAKE_FD(to) : -EAGAIN;
}

int merged_whole(const struct sides *sides, int fd)
{
	AUTO_FD taken = fd;
	struct stat st;
	uint64_t tag = 0;
	int error = fd < 0 ? fd : sys_fstat(fd, &st);

	if (!error && S_ISREG(st.st_mode)) {
		error = read_tag(fd, "", &tag);
	}
	if (error || !tag) {
		return error ? error : TAKE_FD(taken);
	}
	error = copy_whole(sides, fd);
	if (error == -EAGAIN && !read_tag(fd, "", &tag) && !tag) {
		return TAKE_FD(taken);
	}
	return error;
}
