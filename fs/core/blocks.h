/*
 * blocks.h - partial files: copied up block by block (store/partial.h).
 *
 * A node whose upper file is, or was, partial has a `struct blocks` for as long
 * as it lives. Once the last block is there the file is whole: its origin loses
 * the tag, the map goes, and input and output pass by here.
 *
 * A change of a range:
 *   1. blocks that it covers in part are filled from the base, and noted;
 *   2. the upper file is changed;
 *   3. the blocks that it covers whole are noted.
 * Killed in between, the range has its old bytes, or some of the new ones, as
 * on a disk. A reader never meets a block half filled: 1 to 3 are one exclusive
 * section of the file's lock, unless all blocks of the range are there.
 *
 * The base's descriptor is kept, so that a file that is renamed or removed in
 * the base goes on working. Where its content was changed, what was not copied
 * is gone: EIO for those blocks, and a line in the log. What is there stays.
 *
 * Locks: blocks->lock (rank BLOCKS) is taken by blocks_enter_* and held until
 * blocks_leave, over the file's own input and output and no other's. The
 * caller holds no lock but, at most, a copy-up's.
 */
#ifndef FS_CORE_BLOCKS_H
#define FS_CORE_BLOCKS_H

#include <fcntl.h>

#include "origin.h"
#include "view.h"

struct blocks;

/* What a copy-up knows of the base's file. */
struct blocks_source {
	int fd;               /* for reading; taken over, also on failure */
	struct origin origin; /* with a tag */
	uint64_t disk_blocks; /* st_blocks */
	unsigned int layer;
	/* Beneath the layer's root; NULL: the node has no name left. */
	const char *path;
};

/* Whether there may be one more file whose base is held open. */
bool blocks_may_hold(struct fs *fs);

/* For the copy with the inode `ino`, of which nothing is there yet. Makes its
 * map. -EOPNOTSUPP: not in this way. */
int blocks_new(struct view *view, const struct blocks_source *source, ino_t ino,
	       struct blocks **ret_blocks) MUST_CHECK;
/* The copy has no name, and never gets one. Takes NULL. */
void blocks_drop_map(struct view *view, struct blocks *blocks);
/* Takes NULL. */
void blocks_free(struct fs *fs, struct blocks *blocks);

/* The node's data is `blocks` from now on (taken over). The caller holds the
 * node's lock. */
void blocks_give_locked(struct node *node, struct blocks *blocks);
/* A node whose origin has `tag`, if it is not known as partial yet; `ino` and
 * `size` are the upper file's. The caller holds the tree lock, and not the
 * node's. A map that is broken makes the
 * file's data so; -ENOMEM, -EMFILE, ...: try again. */
int blocks_attach(struct node *node, uint64_t tag, ino_t ino,
		  off_t size) MUST_CHECK;

/*
 * The kernel may forget a node, and look its file up again, while the base's
 * file has another name by now: what holds that one open is parked, for
 * blocks_attach to find. The caller holds the table's lock, and the last
 * reference.
 */
void blocks_park(struct node *node);
/* No other thread runs. */
void blocks_release_parked(struct fs *fs);

/* The last name of a partial file is gone; `node` may be NULL. */
void blocks_unlinked(struct view *view, struct node *node, ino_t ino);

/* Adds the space that the rest takes in the base to st_blocks. */
void blocks_show_stat(struct node *node, struct stat *st);

/* Input and output of one request. */
struct blocks_io {
	struct node *node;
	int fd; /* of the upper; borrowed */
	/* private */
	struct blocks *blocks; /* NULL: the file is whole */
	bool exclusive;
	struct stat before; /* exclusive: of the upper */
	struct fdref *base;
	struct fdref *map;
};

bool blocks_is_partial(const struct blocks *blocks);

/*
 * `blocks` is what the node had when `fd` was its data, or NULL. On success
 * blocks_leave follows. -EIO: the base has changed, or the map is broken.
 */
int blocks_enter_read(struct blocks_io *io, struct node *node,
		      struct blocks *blocks, int fd, off_t off,
		      off_t size) MUST_CHECK;
int blocks_enter_change(struct blocks_io *io, struct node *node,
			struct blocks *blocks, int fd, off_t off,
			off_t size) MUST_CHECK;
int blocks_enter_truncate(struct blocks_io *io, struct node *node,
			  struct blocks *blocks, int fd, off_t size) MUST_CHECK;
/* As the daemon itself, not as a caller. */
void blocks_leave(struct blocks_io *io);

ssize_t blocks_read(const struct blocks_io *io, void *data, size_t size,
		    off_t off) MUST_CHECK;
off_t blocks_seek(const struct blocks_io *io, off_t off, int whence) MUST_CHECK;
int blocks_sync(const struct blocks_io *io, bool data_only) MUST_CHECK;

/* Steps 2 and 3. As the caller. blocks_write: all of it, or what was written
 * before an error, or the error. */
ssize_t blocks_write(struct blocks_io *io, const void *data, size_t size,
		     off_t off) MUST_CHECK;
/* Of these modes the range is a change of blocks_enter_change, of others none
 * (size 0). An error may come when a part was done, as on a disk. */
#define BLOCKS_MAKES_ZEROS (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)
int blocks_fallocate(struct blocks_io *io, int mode, off_t off,
		     off_t size) MUST_CHECK;
/* After the upper was truncated. */
int blocks_truncated(struct blocks_io *io, off_t size) MUST_CHECK;

#endif
