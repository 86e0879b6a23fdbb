#include "content.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "merged.h"
#include "sys.h"

/* Files are read in pieces: whole if they are small, since memory that big
 * would cost more than the reading. */
#define PIECE_MIN_BYTES 4096
#define PIECE_MAX_BYTES 262144

/* Above this a file is known by samples: reading gigabytes only to see whether
 * they were renamed takes longer than anybody waits. */
#define HASH_WHOLE_MAX_BYTES (64L * 1024 * 1024)
#define N_SAMPLES            64

int content_open_old(const struct sides *sides, const struct change *change)
{
	return layer_open_path(&sides->base, change_old_path(change),
			       O_PATH | O_NOFOLLOW);
}

int content_open_new(const struct sides *sides, const struct change *change)
{
	int fd = content_open_stored(sides, change);

	return change->place == PLACE_BASE ? fd : merged_whole(sides, fd);
}

int content_open_stored(const struct sides *sides, const struct change *change)
{
	const struct layer *layer = change->place == PLACE_BASE ? &sides->base
				    : change->place == PLACE_LINKS
					    ? &sides->links
					    : &sides->upper;

	return layer_open_path(
		layer, change->place_path ? change->place_path : change->path,
		O_PATH | O_NOFOLLOW);
}

/* O_NONBLOCK: a FIFO may have taken the file's place a moment ago. */
static int open_entry(int dirfd, const char *name, int more_flags)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | more_flags;

	return *name ? sys_openat(dirfd, name, flags | O_NOFOLLOW, 0)
		     : sys_reopen(dirfd, flags);
}

/* A regular file that is read in pieces. */
struct source {
	int fd;
	off_t size; /* when it was opened */
	size_t piece_bytes;
};

#define SOURCE_INIT                                                            \
	{                                                                      \
		.fd = -1                                                       \
	}

static void close_source(struct source *source)
{
	auto_close_fd(&source->fd);
}

static int open_source(struct source *source, int dirfd, const char *name)
{
	struct stat st;
	AUTO_FD fd = open_entry(dirfd, name, O_NOATIME);
	int error;

	if (fd == -EPERM) {
		/* That needs the owner. */
		fd = open_entry(dirfd, name, 0);
	}
	if (fd < 0) {
		return fd == -ELOOP ? -ESTALE : fd;
	}
	error = sys_fstat(fd, &st);
	if (error) {
		return error;
	}
	if (!S_ISREG(st.st_mode)) {
		return -ESTALE;
	}
	source->size = st.st_size;
	source->piece_bytes = st.st_size < PIECE_MIN_BYTES ? PIECE_MIN_BYTES
			      : st.st_size < PIECE_MAX_BYTES
				      ? (size_t)st.st_size + 1
				      : PIECE_MAX_BYTES;
	source->fd = TAKE_FD(fd);
	return 0;
}

/* Reads up to `size` bytes, fewer where the file ends: by what it was when it
 * was opened, which saves the call that would only tell so. Bytes or -errno. */
static ssize_t read_piece(const struct source *source, char *piece, size_t size,
			  off_t off)
{
	size_t got = 0;

	while (got < size) {
		ssize_t n = sys_pread(source->fd, piece + got, size - got,
				      off + (off_t)got);

		if (n < 0) {
			return n;
		}
		got += (size_t)n;
		if (n == 0 || off + (off_t)got == source->size) {
			break;
		}
	}
	return (ssize_t)got;
}

/* Where the next data is at or after `off`; the size where only a hole is left,
 * and `off` where the disk does not say. */
static off_t find_data(const struct source *source, off_t off)
{
	off_t data = sys_lseek(source->fd, off, SEEK_DATA);

	return data >= 0 ? data : data == -ENXIO ? source->size : off;
}

/* Compares from `off` on: what both have holes for is equal. */
static int compare_pieces(const struct source *a, const struct source *b,
			  char *pieces)
{
	size_t size = a->piece_bytes;
	off_t off = 0;

	for (;;) {
		char *b_piece = pieces + size;
		ssize_t a_got;
		ssize_t b_got;

		if (a->size > (off_t)size) {
			off_t data = find_data(a, off);
			off_t b_data = data > off ? find_data(b, off) : off;

			off = data < b_data ? data : b_data;
		}
		a_got = read_piece(a, pieces, size, off);
		b_got = read_piece(b, b_piece, size, off);
		if (a_got < 0 || b_got < 0) {
			return (int)(a_got < 0 ? a_got : b_got);
		}
		if (a_got != b_got ||
		    memcmp(pieces, b_piece, (size_t)a_got) != 0) {
			return 0;
		}
		if ((size_t)a_got < size) {
			return 1;
		}
		off += a_got;
	}
}

int content_files_equal(int a_dirfd, const char *a_name, int b_dirfd,
			const char *b_name)
{
	AUTO(close_source) struct source a = SOURCE_INIT;
	AUTO(close_source) struct source b = SOURCE_INIT;
	AUTO_FREE char *pieces = NULL;
	int error = open_source(&a, a_dirfd, a_name);

	error = error ? error : open_source(&b, b_dirfd, b_name);
	if (error || a.size != b.size) {
		return error;
	}
	pieces = malloc(2 * a.piece_bytes);
	return pieces ? compare_pieces(&a, &b, pieces) : -ENOMEM;
}

static int load_link(int dirfd, const char *name, struct buf *buf)
{
	char target[PATH_MAX];
	ssize_t n = sys_readlinkat(dirfd, name, target, sizeof(target));

	if (n < 0) {
		return n == -EINVAL ? -ESTALE : (int)n;
	}
	buf_add(buf, target, (size_t)n);
	return buf_error(buf);
}

int content_links_equal(int a_dirfd, const char *a_name, int b_dirfd,
			const char *b_name)
{
	AUTO_BUF a = BUF_INIT;
	AUTO_BUF b = BUF_INIT;
	int error = load_link(a_dirfd, a_name, &a);

	error = error ? error : load_link(b_dirfd, b_name, &b);
	if (error) {
		return error;
	}
	return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

int content_load(int dirfd, const char *name, enum change_kind kind,
		 struct buf *buf)
{
	AUTO(close_source) struct source source = SOURCE_INIT;
	int error;

	if (kind == KIND_LINK) {
		return load_link(dirfd, name, buf);
	}
	error = open_source(&source, dirfd, name);
	if (error) {
		return error;
	}
	if ((size_t)source.size > CONTENT_MAX_LOAD_BYTES) {
		return -EFBIG;
	}
	return fdio_read_all(source.fd, buf, CONTENT_MAX_LOAD_BYTES);
}

/* Adds the pieces that start at multiples of `step`: all where a piece is as
 * long as that. */
static int hash_pieces(const struct source *source, off_t step,
		       XXH3_state_t *state)
{
	AUTO_FREE char *piece = malloc(source->piece_bytes);
	off_t off = 0;
	ssize_t got;

	if (!piece) {
		return -ENOMEM;
	}
	do {
		got = read_piece(source, piece, source->piece_bytes, off);
		if (got < 0) {
			return (int)got;
		}
		XXH3_128bits_update(state, piece, (size_t)got);
		off += step;
	} while ((size_t)got == source->piece_bytes);
	return 0;
}

static int hash_file(int dirfd, const char *name, XXH3_state_t *state)
{
	AUTO(close_source) struct source source = SOURCE_INIT;
	int error = open_source(&source, dirfd, name);

	if (error) {
		return error;
	}
	return hash_pieces(&source,
			   source.size > HASH_WHOLE_MAX_BYTES
				   ? source.size / N_SAMPLES
				   : (off_t)source.piece_bytes,
			   state);
}

static void free_state(XXH3_state_t **state)
{
	XXH3_freeState(*state);
}

int content_hash(int dirfd, const char *name, enum change_kind kind,
		 struct content_hash *ret_hash)
{
	AUTO(free_state) XXH3_state_t *state = XXH3_createState();
	AUTO_BUF target = BUF_INIT;
	XXH128_hash_t hash;
	int error;

	if (!state) {
		return -ENOMEM;
	}
	XXH3_128bits_reset(state);
	if (kind == KIND_LINK) {
		error = load_link(dirfd, name, &target);
		XXH3_128bits_update(state, target.data, target.len);
	} else {
		error = hash_file(dirfd, name, state);
	}
	if (error) {
		return error;
	}
	hash = XXH3_128bits_digest(state);
	ret_hash->low = hash.low64;
	ret_hash->high = hash.high64;
	return 0;
}
