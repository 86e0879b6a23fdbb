#include "content.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "sys.h"

/* Files are read in pieces: whole if they are small, since memory that big
 * would cost more than the reading. */
#define PIECE_MIN_BYTES 4096
#define PIECE_MAX_BYTES 262144

int content_open_old(const struct sides *sides, const struct change *change)
{
	return layer_open_path(&sides->base, change_old_path(change),
			       O_PATH | O_NOFOLLOW);
}

int content_open_new(const struct sides *sides, const struct change *change)
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

/* The descriptor, and the size to read it with; or -errno. */
static int open_file(int dirfd, const char *name, size_t *ret_piece_bytes)
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
	*ret_piece_bytes = st.st_size < PIECE_MIN_BYTES ? PIECE_MIN_BYTES
			   : st.st_size < PIECE_MAX_BYTES
				   ? (size_t)st.st_size + 1
				   : PIECE_MAX_BYTES;
	return TAKE_FD(fd);
}

/* Reads a whole piece unless the file ends. Bytes read or -errno. */
static ssize_t read_piece(int fd, char *piece, size_t piece_bytes, off_t off)
{
	size_t got = 0;

	while (got < piece_bytes) {
		ssize_t n = sys_pread(fd, piece + got, piece_bytes - got,
				      off + (off_t)got);

		if (n < 0) {
			return n;
		}
		if (n == 0) {
			break;
		}
		got += (size_t)n;
	}
	return (ssize_t)got;
}

int content_files_equal(int a_dirfd, const char *a_name, int b_dirfd,
			const char *b_name)
{
	size_t piece_bytes = PIECE_MIN_BYTES;
	AUTO_FD a = open_file(a_dirfd, a_name, &piece_bytes);
	AUTO_FD b = open_file(b_dirfd, b_name, &piece_bytes);
	AUTO_FREE char *pieces = malloc(2 * piece_bytes);
	off_t off = 0;

	if (!pieces) {
		return -ENOMEM;
	}
	if (a < 0 || b < 0) {
		return a < 0 ? a : b;
	}
	for (;;) {
		char *b_piece = pieces + piece_bytes;
		ssize_t a_got = read_piece(a, pieces, piece_bytes, off);
		ssize_t b_got = read_piece(b, b_piece, piece_bytes, off);

		if (a_got < 0 || b_got < 0) {
			return (int)(a_got < 0 ? a_got : b_got);
		}
		if (a_got != b_got ||
		    memcmp(pieces, b_piece, (size_t)a_got) != 0) {
			return 0;
		}
		if ((size_t)a_got < piece_bytes) {
			return 1;
		}
		off += a_got;
	}
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
	AUTO_FD fd = -1;
	size_t piece_bytes = PIECE_MIN_BYTES;
	struct stat st;
	int error;

	if (kind == KIND_LINK) {
		return load_link(dirfd, name, buf);
	}
	fd = open_file(dirfd, name, &piece_bytes);
	if (fd < 0) {
		return fd;
	}
	error = sys_fstat(fd, &st);
	if (error) {
		return error;
	}
	if ((size_t)st.st_size > CONTENT_MAX_LOAD_BYTES) {
		return -EFBIG;
	}
	return fdio_read_all(fd, buf, CONTENT_MAX_LOAD_BYTES);
}

static int hash_file(int fd, size_t piece_bytes, XXH3_state_t *state)
{
	AUTO_FREE char *piece = malloc(piece_bytes);
	off_t off = 0;
	ssize_t got;

	if (!piece) {
		return -ENOMEM;
	}
	do {
		got = read_piece(fd, piece, piece_bytes, off);
		if (got < 0) {
			return (int)got;
		}
		XXH3_128bits_update(state, piece, (size_t)got);
		off += got;
	} while ((size_t)got == piece_bytes);
	return 0;
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
	AUTO_FD fd = -1;
	size_t piece_bytes = PIECE_MIN_BYTES;
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
		fd = open_file(dirfd, name, &piece_bytes);
		error = fd < 0 ? fd : hash_file(fd, piece_bytes, state);
	}
	if (error) {
		return error;
	}
	hash = XXH3_128bits_digest(state);
	ret_hash->low = hash.low64;
	ret_hash->high = hash.high64;
	return 0;
}
