#include "partial.h"

#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "partial_format.h"
#include "sys.h"

#define BITS_OF_WORD 64
#define PIECE_BYTES  4096

static_assert(PARTIAL_BLOCK_BYTES == 1 << PARTIAL_BLOCK_LOG2, "block size");

/* ------------------------------------------------------------------- bits */

static size_t blocks_of(off_t bytes)
{
	return (size_t)((bytes + PARTIAL_BLOCK_BYTES - 1) >>
			PARTIAL_BLOCK_LOG2);
}

/* Whole words, so that they can be searched as such. */
static size_t bit_bytes(const struct partial *partial)
{
	return (blocks_of((off_t)partial->base.size_bytes) + BITS_OF_WORD - 1) /
	       BITS_OF_WORD * sizeof(uint64_t);
}

static uint64_t word_at(const struct partial *partial, size_t block)
{
	uint64_t word;

	memcpy(&word, partial->bits + block / BITS_OF_WORD * sizeof(uint64_t),
	       sizeof(word));
	return le64toh(word);
}

static bool is_set(const struct partial *partial, size_t block)
{
	return word_at(partial, block) >> block % BITS_OF_WORD & 1;
}

/* The first block from `block` on, below `end`, whose bit is `value`; `end`
 * where there is none. */
static size_t next_with(const struct partial *partial, size_t block, size_t end,
			bool value)
{
	while (block < end) {
		uint64_t word = word_at(partial, block);

		word = (value ? word : ~word) >> block % BITS_OF_WORD;
		if (word) {
			block += (size_t)__builtin_ctzll(word);
			return block < end ? block : end;
		}
		block = (block / BITS_OF_WORD + 1) * BITS_OF_WORD;
	}
	return end;
}

static size_t count_absent(const struct partial *partial)
{
	size_t end = blocks_of(partial->limit);
	size_t set = 0;

	for (size_t block = 0; block < end; block += BITS_OF_WORD) {
		uint64_t word = word_at(partial, block);

		if (end - block < BITS_OF_WORD) {
			word &= (UINT64_C(1) << (end - block)) - 1;
		}
		set += (size_t)__builtin_popcountll(word);
	}
	return end - set;
}

size_t partial_absent(const struct partial *partial)
{
	return partial->absent;
}

uint64_t partial_absent_blocks(const struct partial *partial)
{
	size_t all = blocks_of((off_t)partial->base.size_bytes);

	return all ? (uint64_t)((double)partial->base_blocks *
				(double)partial->absent / (double)all)
		   : 0;
}

off_t partial_run(const struct partial *partial, off_t off, off_t stop,
		  bool *ret_base)
{
	size_t block = (size_t)(off >> PARTIAL_BLOCK_LOG2);
	off_t limit = stop < partial->limit ? stop : partial->limit;
	size_t next;

	*ret_base = false;
	if (off >= limit) {
		return stop;
	}
	*ret_base = !is_set(partial, block);
	next = next_with(partial, block, blocks_of(limit), *ret_base);
	if (next < blocks_of(limit)) {
		return (off_t)next << PARTIAL_BLOCK_LOG2;
	}
	/* What is behind the limit is the upper's, too. */
	return *ret_base ? limit : stop;
}

bool partial_needs_base(const struct partial *partial, off_t off, off_t size)
{
	bool base;

	/* Behind a run of the upper's there is one of the base's, or none. */
	return partial_run(partial, off, off + size, &base) < off + size ||
	       base;
}

bool partial_is_absent(const struct partial *partial, off_t off)
{
	size_t block = (size_t)(off >> PARTIAL_BLOCK_LOG2);

	return block < blocks_of(partial->limit) && !is_set(partial, block);
}

size_t partial_base_bytes(const struct partial *partial, off_t off)
{
	off_t left = partial->limit -
		     off / PARTIAL_BLOCK_BYTES * PARTIAL_BLOCK_BYTES;

	return (size_t)(left < PARTIAL_BLOCK_BYTES ? left
						   : PARTIAL_BLOCK_BYTES);
}

/* ---------------------------------------------------------------- the map */

void partial_name(ino_t ino, char ret_name[PARTIAL_NAME_BYTES])
{
	snprintf(ret_name, PARTIAL_NAME_BYTES, "p%" PRIx64, (uint64_t)ino);
}

int partial_new_tag(uint64_t *ret_tag)
{
	uint32_t tag;
	int error = sys_random(&tag, sizeof(tag));

	if (!error) {
		*ret_tag = tag ? tag : 1;
	}
	return error;
}

int partial_init(struct partial *partial, const struct origin *base,
		 uint64_t base_blocks, unsigned int layer, char *path)
{
	*partial = (struct partial){
		.base = *base,
		.base_blocks = base_blocks,
		.layer = layer,
		.path = path,
		.limit = (off_t)base->size_bytes,
	};
	partial->bits = calloc(1, bit_bytes(partial) + 1);
	if (!partial->bits || strlen(path) > PARTIAL_PATH_MAX) {
		int error = partial->bits ? -ENAMETOOLONG : -ENOMEM;

		partial_release(partial);
		return error;
	}
	partial->absent = blocks_of(partial->limit);
	return 0;
}

void partial_release(struct partial *partial)
{
	free(partial->path);
	free(partial->bits);
	partial->path = NULL;
	partial->bits = NULL;
}

static uint64_t checksum(const struct partial_header *header, const char *path,
			 size_t path_bytes)
{
	return XXH3_64bits_withSeed(
		path, path_bytes,
		XXH3_64bits(header, offsetof(struct partial_header, checksum)));
}

static void fill_limit(struct partial_header *header, off_t limit)
{
	header->limit_bytes = htole64((uint64_t)limit);
	header->limit_check = ~header->limit_bytes;
}

static void fill_header(struct partial_header *header,
			const struct partial *partial)
{
	const struct origin *base = &partial->base;
	size_t path_bytes = strlen(partial->path);

	*header = (struct partial_header){
		.magic = PARTIAL_MAGIC,
		.version = htole32(PARTIAL_VERSION),
		.tag = htole32((uint32_t)base->partial_tag),
		.dev = htole64(base->dev),
		.ino = htole64(base->ino),
		.size_bytes = htole64(base->size_bytes),
		.mtime_ns = htole64(base->mtime_ns),
		.ctime_ns = htole64(base->ctime_ns),
		.birth_ns = htole64(base->birth_ns),
		.blocks = htole64(partial->base_blocks),
		.layer = htole32(partial->layer),
		.path_bytes = htole32((uint32_t)path_bytes),
	};
	header->checksum = htole64(checksum(header, partial->path, path_bytes));
	fill_limit(header, partial->limit);
}

/* All of it, or an error. */
static int write_at(int fd, const void *data, size_t size, off_t off)
{
	ssize_t n = fdio_pwrite(fd, data, size, off);

	return n < 0 ? (int)n : (size_t)n < size ? -ENOSPC : 0;
}

static int write_map(const struct partial *partial, int fd)
{
	char data[sizeof(struct partial_header) + PARTIAL_PATH_MAX];
	size_t path_bytes = strlen(partial->path);
	struct partial_header header;
	int error;

	fill_header(&header, partial);
	memcpy(data, &header, sizeof(header));
	memcpy(data + sizeof(header), partial->path, path_bytes);
	error = write_at(fd, data, sizeof(header) + path_bytes, 0);
	return error ? error
		     : sys_ftruncate(fd, PARTIAL_BITS_OFF +
						 (off_t)bit_bytes(partial));
}

int partial_create(const struct partial *partial, int links_fd, ino_t ino)
{
	char name[PARTIAL_NAME_BYTES];
	AUTO_FD fd = -1;
	int error;

	partial_name(ino, name);
	/* One left over, of a file that had this number before. */
	error = sys_unlinkat(links_fd, name, 0);
	if (error && error != -ENOENT) {
		return error;
	}
	fd = sys_openat(links_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
			0600);
	if (fd < 0) {
		return fd;
	}
	error = write_map(partial, fd);
	if (error) {
		(void)!sys_unlinkat(links_fd, name, 0);
		return error;
	}
	return TAKE_FD(fd);
}

/* `data` holds the header and what follows it. */
static int parse_header(struct partial *partial, const char *data, size_t size)
{
	struct partial_header header;
	size_t path_bytes;

	if (size < sizeof(header)) {
		return -EBADMSG;
	}
	memcpy(&header, data, sizeof(header));
	path_bytes = le32toh(header.path_bytes);
	if (memcmp(header.magic, PARTIAL_MAGIC, sizeof(header.magic)) != 0 ||
	    le32toh(header.version) != PARTIAL_VERSION ||
	    path_bytes > PARTIAL_PATH_MAX ||
	    path_bytes > size - sizeof(header) ||
	    le64toh(header.checksum) !=
		    checksum(&header, data + sizeof(header), path_bytes) ||
	    header.limit_check != ~header.limit_bytes ||
	    le64toh(header.limit_bytes) > le64toh(header.size_bytes) ||
	    le64toh(header.size_bytes) > PARTIAL_MAX_BYTES) {
		return -EBADMSG;
	}
	partial->base = (struct origin){
		.dev = le64toh(header.dev),
		.ino = le64toh(header.ino),
		.size_bytes = le64toh(header.size_bytes),
		.mtime_ns = le64toh(header.mtime_ns),
		.ctime_ns = le64toh(header.ctime_ns),
		.birth_ns = le64toh(header.birth_ns),
		.partial_tag = le32toh(header.tag),
	};
	partial->base_blocks = le64toh(header.blocks);
	partial->layer = le32toh(header.layer);
	partial->limit = (off_t)le64toh(header.limit_bytes);
	partial->path = strndup(data + sizeof(header), path_bytes);
	return partial->path ? 0 : -ENOMEM;
}

/* Only what the sparse map has. */
static int read_bits(struct partial *partial, int fd)
{
	const size_t size = bit_bytes(partial);
	size_t at = 0;

	partial->bits = calloc(1, size + 1);
	if (!partial->bits) {
		return -ENOMEM;
	}
	while (at < size) {
		off_t off =
			sys_lseek(fd, PARTIAL_BITS_OFF + (off_t)at, SEEK_DATA);
		size_t piece;
		ssize_t n;

		if (off < 0) {
			return off == -ENXIO ? 0 : (int)off;
		}
		at = (size_t)(off - PARTIAL_BITS_OFF);
		if (at >= size) {
			break;
		}
		piece = size - at < PIECE_BYTES ? size - at : PIECE_BYTES;
		n = fdio_pread(fd, partial->bits + at, piece, off);
		if (n < 0) {
			return (int)n;
		}
		if ((size_t)n < piece) {
			return -EBADMSG;
		}
		at += piece;
	}
	return 0;
}

static int read_map(struct partial *partial, int fd, uint64_t tag, off_t size)
{
	char data[sizeof(struct partial_header) + PARTIAL_PATH_MAX];
	struct stat st;
	int error = sys_fstat(fd, &st);
	ssize_t n;

	if (error || !S_ISREG(st.st_mode)) {
		return error ? error : -EBADMSG;
	}
	n = fdio_pread(fd, data, sizeof(data), 0);
	error = n < 0 ? (int)n : parse_header(partial, data, (size_t)n);
	if (error) {
		return error;
	}
	if (partial->base.partial_tag != tag ||
	    (uint64_t)st.st_size <
		    PARTIAL_BITS_OFF + (uint64_t)bit_bytes(partial)) {
		return -EBADMSG;
	}
	if (partial->limit > size) {
		partial->limit = size;
		partial->limit_unsaved = true;
	}
	error = read_bits(partial, fd);
	if (!error) {
		partial->absent = count_absent(partial);
	}
	return error;
}

static int open_map(int links_fd, ino_t ino, int flags)
{
	char name[PARTIAL_NAME_BYTES];
	int fd;

	partial_name(ino, name);
	fd = sys_openat(links_fd, name, flags | O_NOFOLLOW | O_NONBLOCK, 0);
	return fd == -ENOENT || fd == -ELOOP || fd == -ENXIO ? -EBADMSG : fd;
}

int partial_load(struct partial *partial, int links_fd, ino_t ino, uint64_t tag,
		 off_t size)
{
	AUTO_FD fd = open_map(links_fd, ino, O_RDONLY);

	*partial = (struct partial){0};
	return fd < 0 ? fd : read_map(partial, fd, tag, size);
}

int partial_open(int links_fd, ino_t ino)
{
	return open_map(links_fd, ino, O_RDWR);
}

/* Puts bytes of the map, that have more bits set, in place of what is there. */
static int write_piece(struct partial *partial, int map_fd, size_t at,
		       const uint8_t *piece, size_t size)
{
	int error = map_fd < 0 ? 0
			       : write_at(map_fd, piece, size,
					  PARTIAL_BITS_OFF + (off_t)at);

	for (size_t i = 0; i < size && !error; i++) {
		uint8_t more = piece[i] & (uint8_t)~partial->bits[at + i];

		partial->absent -= (size_t)__builtin_popcount(more);
		partial->bits[at + i] = piece[i];
	}
	return error;
}

static int set_blocks(struct partial *partial, int map_fd, size_t first,
		      size_t end)
{
	uint8_t piece[PIECE_BYTES];
	int error = 0;

	while (first < end && !error) {
		size_t at = first / 8;
		size_t stop = at * 8 + sizeof(piece) * 8;

		stop = stop < end ? stop : end;
		memcpy(piece, partial->bits + at, (stop + 7) / 8 - at);
		for (size_t block = first; block < stop; block++) {
			piece[block / 8 - at] |= (uint8_t)(1U << block % 8);
		}
		error = write_piece(partial, map_fd, at, piece,
				    (stop + 7) / 8 - at);
		first = stop;
	}
	return error;
}

int partial_set(struct partial *partial, int map_fd, off_t off, off_t size)
{
	off_t stop = off + size;
	size_t first = blocks_of(off);
	size_t end = stop >= partial->limit
			     ? blocks_of(partial->limit)
			     : (size_t)(stop >> PARTIAL_BLOCK_LOG2);

	first = next_with(partial, first, end, false);
	return set_blocks(partial, map_fd, first, end);
}

int partial_cut(struct partial *partial, int map_fd, off_t size)
{
	struct partial_header header;
	int error = 0;

	if (size < partial->limit) {
		partial->limit = size;
		partial->absent = count_absent(partial);
		partial->limit_unsaved = true;
	}
	if (partial->limit_unsaved && map_fd >= 0) {
		fill_limit(&header, partial->limit);
		error = write_at(map_fd, &header.limit_bytes,
				 2 * sizeof(header.limit_bytes),
				 offsetof(struct partial_header, limit_bytes));
	}
	partial->limit_unsaved = error;
	return error;
}

bool partial_is_cut(const struct partial *partial)
{
	return !partial->limit_unsaved;
}

/* ------------------------------------------------------------ the base */

int partial_check_base(const struct partial *partial, int base_fd)
{
	const struct origin *then = &partial->base;
	struct origin now;
	struct stat st;
	int error = sys_fstat(base_fd, &st);

	if (error) {
		return error;
	}
	origin_from_stat(&now, &st);
	return S_ISREG(st.st_mode) && now.ino == then->ino &&
			       now.size_bytes == then->size_bytes &&
			       now.mtime_ns == then->mtime_ns
		       ? 0
		       : -ESTALE;
}

int partial_open_base(const struct partial *partial, const struct layer *layers,
		      unsigned int count)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
	struct origin birth = {0};
	AUTO_FD fd = -1;
	int error;

	if (partial->layer >= count) {
		return -ESTALE;
	}
	fd = layer_open_path(&layers[partial->layer], partial->path,
			     flags | O_NOATIME);
	if (fd == -EPERM) {
		fd = layer_open_path(&layers[partial->layer], partial->path,
				     flags);
	}
	if (fd < 0) {
		return fd == -ENOENT || fd == -ELOOP || fd == -ENOTDIR ||
				       fd == -ENXIO
			       ? -ESTALE
			       : fd;
	}
	error = partial_check_base(partial, fd);
	error = error ? error : origin_add_birth(&birth, fd, "");
	if (!error && birth.birth_ns != partial->base.birth_ns) {
		error = -ESTALE;
	}
	return error ? error : TAKE_FD(fd);
}

/* ------------------------------------------------------------ the content */

ssize_t partial_pread(const struct partial *partial, int upper_fd, int base_fd,
		      void *data, size_t size, off_t off)
{
	size_t done = 0;

	while (done < size) {
		off_t at = off + (off_t)done;
		bool base;
		off_t stop = partial_run(partial, at, off + (off_t)size, &base);
		size_t want = (size_t)(stop - at);
		ssize_t n = base && base_fd < 0
				    ? -ESTALE
				    : fdio_pread(base ? base_fd : upper_fd,
						 (char *)data + done, want, at);

		if (n >= 0 && base) {
			int error = partial_check_base(partial, base_fd);

			n = error ? error : (size_t)n < want ? -ESTALE : n;
		}
		/* Fewer bytes would say that the file ends there. */
		if (n < 0) {
			return n;
		}
		done += (size_t)n;
		if ((size_t)n < want) {
			break;
		}
	}
	return (ssize_t)done;
}

off_t partial_seek(const struct partial *partial, int upper_fd, int base_fd,
		   off_t off, int whence)
{
	struct stat st;
	int error = sys_fstat(upper_fd, &st);

	if (error) {
		return error;
	}
	if (off < 0 || off >= st.st_size) {
		return -ENXIO;
	}
	while (off < st.st_size) {
		bool base;
		off_t stop = partial_run(partial, off, st.st_size, &base);
		off_t found = base && base_fd < 0
				      ? -ESTALE
				      : sys_lseek(base ? base_fd : upper_fd,
						  off, whence);

		if (found < 0 && found != -ENXIO) {
			return found;
		}
		/* A file that was cut has holes where there was data. */
		error = base ? partial_check_base(partial, base_fd) : 0;
		if (error) {
			return error;
		}
		if (found >= 0 && found < stop) {
			return found;
		}
		off = stop;
	}
	return whence == SEEK_HOLE ? st.st_size : -ENXIO;
}
