#include "fdio.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "sys.h"

#define COPY_CHUNK_BYTES (128 * 1024)
#define COPY_RANGE_BYTES (1024 * 1024 * 1024)

int fdio_write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size > 0) {
		ssize_t n = sys_write(fd, at, size);

		if (n < 0) {
			return (int)n;
		}
		if (n == 0) {
			return -EIO;
		}
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

ssize_t fdio_pread(int fd, void *data, size_t size, off_t off)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = sys_pread(fd, (char *)data + done, size - done,
				      off + (off_t)done);

		if (n < 0) {
			return n;
		}
		if (n == 0) {
			break;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

ssize_t fdio_pwrite(int fd, const void *data, size_t size, off_t off)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = sys_pwrite(fd, (const char *)data + done,
				       size - done, off + (off_t)done);

		if (n <= 0) {
			n = n ? n : -EIO;
			return done ? (ssize_t)done : n;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

int fdio_read_all(int fd, struct buf *buf, size_t limit)
{
	for (;;) {
		ssize_t n;
		int error = buf_reserve(buf, COPY_CHUNK_BYTES);

		if (error) {
			return error;
		}
		n = sys_read(fd, buf->data + buf->len, COPY_CHUNK_BYTES);
		if (n < 0) {
			return (int)n;
		}
		if (n == 0) {
			return 0;
		}
		buf->len += (size_t)n;
		buf->data[buf->len] = '\0';
		if (buf->len > limit) {
			return -EFBIG;
		}
	}
}

static int pwrite_all(int fd, const char *data, size_t size, off_t off)
{
	while (size > 0) {
		ssize_t n = sys_pwrite(fd, data, size, off);

		if (n <= 0) {
			return n ? (int)n : -EIO;
		}
		data += n;
		off += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Copies [off, end) through memory; returns the end reached or -errno. */
static off_t copy_by_hand(int to, int from, off_t off, off_t end)
{
	AUTO_FREE char *chunk = malloc(COPY_CHUNK_BYTES);

	if (!chunk) {
		return -ENOMEM;
	}
	while (off < end) {
		size_t want = COPY_CHUNK_BYTES;
		ssize_t n;
		int error;

		if (end - off < COPY_CHUNK_BYTES) {
			want = (size_t)(end - off);
		}
		n = sys_pread(from, chunk, want, off);
		if (n <= 0) {
			return n ? n : off;
		}
		error = pwrite_all(to, chunk, (size_t)n, off);
		if (error) {
			return error;
		}
		off += n;
	}
	return off;
}

/* Copies [off, end); returns the end reached (less where `from` ends early)
 * or -errno. */
static off_t copy_extent(int to, int from, off_t off, off_t end)
{
	off_t from_off = off;
	off_t to_off = off;

	while (from_off < end) {
		off_t left = end - from_off;
		ssize_t n = sys_copy_file_range(from, &from_off, to, &to_off,
						left > COPY_RANGE_BYTES
							? COPY_RANGE_BYTES
							: (size_t)left);

		/* 0 is also what some file systems say instead of refusing. */
		if (n == 0 || n == -EXDEV || n == -EINVAL || n == -ENOSYS ||
		    n == -EOPNOTSUPP || n == -EPERM) {
			return copy_by_hand(to, from, from_off, end);
		}
		if (n < 0) {
			return n;
		}
	}
	return from_off;
}

/* The next extent with data at or after `off`. 0, or -errno; -ENXIO = none. */
static int next_extent(int fd, off_t off, off_t *ret_start, off_t *ret_end)
{
	off_t start = sys_lseek(fd, off, SEEK_DATA);
	off_t end;

	if (start == -EINVAL || start == -EOPNOTSUPP) {
		*ret_start = off;
		*ret_end = INT64_MAX;
		return 0;
	}
	if (start < 0) {
		return (int)start;
	}
	end = sys_lseek(fd, start, SEEK_HOLE);
	if (end < 0) {
		return (int)end;
	}
	*ret_start = start;
	*ret_end = end;
	return 0;
}

int fdio_copy(int to, int from, off_t size)
{
	off_t off = 0;

	if (size == 0 || sys_clone(to, from) == 0) {
		return 0;
	}
	while (off < size) {
		off_t start = 0;
		off_t end = 0;
		int error = next_extent(from, off, &start, &end);

		if (error == -ENXIO || (!error && start >= size)) {
			break;
		}
		if (error) {
			return error;
		}
		if (end > size) {
			end = size;
		}
		off = copy_extent(to, from, start, end);
		if (off < 0) {
			return (int)off;
		}
		if (off < end) {
			return sys_ftruncate(to, off);
		}
	}
	/* A hole at the end has no bytes to write. */
	return sys_ftruncate(to, size);
}

static int write_zeros(int fd, off_t size)
{
	static const char zeros[64 * 1024];
	off_t at = 0;

	while (at < size) {
		off_t left = size - at;
		size_t step = left < (off_t)sizeof(zeros) ? (size_t)left
							  : sizeof(zeros);
		ssize_t n = sys_pwrite(fd, zeros, step, at);

		if (n <= 0) {
			return n ? (int)n : -EIO;
		}
		at += n;
	}
	return 0;
}

int fdio_allocate(int fd, off_t size)
{
	int error;

	sys_write_in_place(fd);
	error = sys_fallocate(fd, 0, 0, size);
	return error == -EOPNOTSUPP ? write_zeros(fd, size) : error;
}

static int replace_file(int dirfd, const char *name, const void *data,
			size_t size, bool durably, bool to_map)
{
	char temp[NAME_MAX + 1];
	AUTO_FD fd = -1;
	int error;

	if (snprintf(temp, sizeof(temp), ".%s.%d", name, (int)getpid()) >=
	    (int)sizeof(temp)) {
		return -ENAMETOOLONG;
	}
	fd = sys_openat(dirfd, temp, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
			0600);
	if (fd < 0) {
		return fd;
	}
	error = to_map ? fdio_allocate(fd, (off_t)size) : 0;
	error = error ? error : fdio_write_all(fd, data, size);
	if (!error && durably) {
		error = sys_fsync(fd);
	}
	if (!error) {
		error = sys_renameat2(dirfd, temp, dirfd, name, 0);
	}
	if (error) {
		(void)!sys_unlinkat(dirfd, temp, 0);
	}
	return error;
}

int fdio_replace_file(int dirfd, const char *name, const void *data,
		      size_t size)
{
	return replace_file(dirfd, name, data, size, true, false);
}

int fdio_replace_file_for_now(int dirfd, const char *name, const void *data,
			      size_t size)
{
	return replace_file(dirfd, name, data, size, false, false);
}

int fdio_replace_mapped_file(int dirfd, const char *name, const void *data,
			     size_t size)
{
	return replace_file(dirfd, name, data, size, false, true);
}
