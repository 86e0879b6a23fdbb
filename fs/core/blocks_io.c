#include <string.h>

#include "blocks_state.h"
#include "charge.h"
#include "err.h"
#include "fdio.h"
#include "log.h"
#include "sys.h"

/* ------------------------------------------------------------ enter, leave */

static void drop_lock(struct blocks_io *io)
{
	rwlock_drop(&io->blocks->lock);
	io->blocks = NULL;
}

/* Gives up what was taken. */
static int fail(struct blocks_io *io, int error)
{
	error = blocks_report(io->blocks, error);
	fdref_put(io->base);
	fdref_put(io->map);
	drop_lock(io);
	return error;
}

/* Whether there is anything to do here; then with the lock. */
static bool enter(struct blocks_io *io, struct node *node,
		  struct blocks *blocks, int fd, bool exclusive)
{
	*io = (struct blocks_io){
		.node = node, .fd = fd, .exclusive = exclusive};
	if (!blocks_is_partial(blocks)) {
		return false;
	}
	io->blocks = blocks;
	if (exclusive) {
		rwlock_take_exclusive(&blocks->lock);
	} else {
		rwlock_take_shared(&blocks->lock);
	}
	if (blocks_flag(&blocks->whole)) {
		drop_lock(io);
		return false;
	}
	return true;
}

int blocks_enter_read(struct blocks_io *io, struct node *node,
		      struct blocks *blocks, int fd, off_t off, off_t size)
{
	int error = 0;

	if (!enter(io, node, blocks, fd, false)) {
		return 0;
	}
	if (blocks->is_broken) {
		return fail(io, -EBADMSG);
	}
	if (partial_needs_base(&blocks->partial, off, size)) {
		error = blocks_base_fd(node, blocks, &io->base);
	}
	return error ? fail(io, error) : 0;
}

static int map_of(const struct blocks_io *io)
{
	return io->map ? io->map->fd : -1;
}

/* A step that the last one could not finish comes first. */
static int ready_map(struct blocks_io *io)
{
	struct partial *partial = &io->blocks->partial;
	int error = blocks_map_fd(io->node, io->blocks, &io->map);

	return error || partial_is_cut(partial)
		       ? error
		       : partial_cut(partial, map_of(io), INT64_MAX);
}

/* Copies what the base has of the block that `off` lies in. */
static int fill_block(struct blocks_io *io, off_t off)
{
	struct partial *partial = &io->blocks->partial;
	off_t start = off / PARTIAL_BLOCK_BYTES * PARTIAL_BLOCK_BYTES;
	size_t size = partial_base_bytes(partial, off);
	char data[PARTIAL_BLOCK_BYTES];
	int error =
		io->base ? 0 : blocks_base_fd(io->node, io->blocks, &io->base);
	ssize_t n;

	if (error) {
		return error;
	}
	n = partial_pread(partial, io->fd, io->base->fd, data, size, start);
	if (n < 0) {
		return (int)n;
	}
	n = fdio_pwrite(io->fd, data, size, start);
	if (n < (ssize_t)size) {
		return n < 0 ? (int)n : -ENOSPC;
	}
	return partial_set(partial, map_of(io), start, (off_t)size);
}

/* To programs nothing has changed yet, or a change failed. */
static void restore_times(const struct blocks_io *io)
{
	const struct timespec times[2] = {io->before.st_atim,
					  io->before.st_mtim};
	int error = sys_utimensat(io->fd, "", times);

	if (error) {
		log_info("times of upper inode %llu not kept: %s",
			 (unsigned long long)io->blocks->ino, err_name(error));
	}
}

/* Of the first and the last block something is to stay. */
static int fill_ends(struct blocks_io *io, off_t off, off_t size)
{
	struct partial *partial = &io->blocks->partial;
	off_t end = off + size;
	int error = 0;

	if (off % PARTIAL_BLOCK_BYTES && partial_is_absent(partial, off)) {
		error = fill_block(io, off);
	}
	if (!error && end % PARTIAL_BLOCK_BYTES &&
	    partial_is_absent(partial, end) &&
	    (off_t)partial_base_bytes(partial, end) >
		    end % PARTIAL_BLOCK_BYTES) {
		error = fill_block(io, end);
	}
	return error;
}

/* Step 1. */
static int fill_edges(struct blocks_io *io, off_t off, off_t size)
{
	int error = sys_fstat(io->fd, &io->before);
	size_t absent = partial_absent(&io->blocks->partial);

	if (error || size <= 0) {
		return error;
	}
	error = fill_ends(io, off, size);
	if (error || partial_absent(&io->blocks->partial) != absent) {
		restore_times(io);
	}
	return error;
}

/* Nothing is to be noted for the range. */
static bool is_there(const struct blocks *blocks, off_t off, off_t size)
{
	return size > 0 && partial_is_cut(&blocks->partial) &&
	       !partial_needs_base(&blocks->partial, off, size);
}

int blocks_enter_change(struct blocks_io *io, struct node *node,
			struct blocks *blocks, int fd, off_t off, off_t size)
{
	int error;

	if (!enter(io, node, blocks, fd, false)) {
		return 0;
	}
	if (blocks->is_broken) {
		return fail(io, -EBADMSG);
	}
	if (is_there(blocks, off, size)) {
		return 0;
	}
	drop_lock(io);
	if (!enter(io, node, blocks, fd, true)) {
		return 0;
	}
	error = ready_map(io);
	error = error ? error : fill_edges(io, off, size);
	return error ? fail(io, error) : 0;
}

int blocks_enter_truncate(struct blocks_io *io, struct node *node,
			  struct blocks *blocks, int fd, off_t size)
{
	int error;

	if (!enter(io, node, blocks, fd, true)) {
		return 0;
	}
	/* An empty file needs neither map nor base. */
	if (blocks->is_broken) {
		return size ? fail(io, -EBADMSG) : 0;
	}
	error = ready_map(io);
	return error ? fail(io, error) : 0;
}

/* The map has grown. */
static void settle_map(const struct blocks_io *io)
{
	struct quota *quota = &io->node->view->fs->quota;
	struct stat st;
	int64_t before;

	if (!io->map || !quota_counts(quota) || sys_fstat(io->map->fd, &st)) {
		return;
	}
	before = atomic_exchange_explicit(&io->blocks->map_blocks, st.st_blocks,
					  memory_order_relaxed);
	quota_add(quota, (st.st_blocks - before) * CHARGE_BLOCK_BYTES, 0);
}

/* From now on it is an ordinary file of the upper. Who relies on what is on the
 * disk must not find the tag gone and the data not there. */
static int untag(struct blocks_io *io)
{
	struct origin origin;
	int error;

	if (!blocks_flag(&io->blocks->has_map)) {
		return 0;
	}
	error = blocks_flag(&io->blocks->is_synced) ? sys_fdatasync(io->fd) : 0;
	error = error ? error : origin_read(io->fd, "", &origin);
	if (error <= 0) {
		return error ? error : -ENODATA;
	}
	origin.partial_tag = 0;
	return origin_write(io->fd, "", &origin);
}

static void become_whole(struct blocks_io *io)
{
	struct blocks *blocks = io->blocks;
	struct node *node = io->node;
	int error = untag(io);

	if (error) {
		/* The map says so, too. */
		log_info("a file that is whole keeps its map: %s",
			 err_name(error));
		return;
	}
	blocks_drop_map(node->view, blocks);
	blocks_set_flag(&blocks->whole, true);
	lock_take(&node->lock);
	blocks_release_held(node->view->fs, &blocks->base);
	blocks_release_held(node->view->fs, &blocks->map);
	lock_drop(&node->lock);
	partial_release(&blocks->partial);
}

/* Something may have been noted. */
static void note_change(struct blocks_io *io)
{
	settle_map(io);
	blocks_note_absent(io->blocks);
	if (!partial_absent(&io->blocks->partial) &&
	    partial_is_cut(&io->blocks->partial)) {
		become_whole(io);
	}
}

void blocks_leave(struct blocks_io *io)
{
	if (!io->blocks) {
		return;
	}
	if (io->exclusive && !io->blocks->is_broken) {
		note_change(io);
	}
	fdref_put(io->base);
	fdref_put(io->map);
	drop_lock(io);
}

/* ------------------------------------------------------------ in between */

ssize_t blocks_read(const struct blocks_io *io, void *data, size_t size,
		    off_t off)
{
	ssize_t n;

	if (!io->blocks) {
		return fdio_pread(io->fd, data, size, off);
	}
	n = partial_pread(&io->blocks->partial, io->fd,
			  io->base ? io->base->fd : -1, data, size, off);
	return n < 0 ? blocks_report(io->blocks, (int)n) : n;
}

off_t blocks_seek(const struct blocks_io *io, off_t off, int whence)
{
	off_t found;

	if (!io->blocks) {
		return sys_lseek(io->fd, off, whence);
	}
	found = partial_seek(&io->blocks->partial, io->fd,
			     io->base ? io->base->fd : -1, off, whence);
	return found < 0 ? blocks_report(io->blocks, (int)found) : found;
}

int blocks_sync(const struct blocks_io *io, bool data_only)
{
	AUTO_FDREF *map = NULL;
	int error = data_only ? sys_fdatasync(io->fd) : sys_fsync(io->fd);

	if (error || !io->blocks) {
		return error;
	}
	blocks_set_flag(&io->blocks->is_synced, true);
	error = blocks_map_fd(io->node, io->blocks, &map);
	return error ? blocks_report(io->blocks, error)
	       : map ? sys_fdatasync(map->fd)
		     : 0;
}

/* A block of which only the beginning was written still shows the base's: so
 * nothing of it was written. */
static ssize_t whole_blocks(const struct blocks_io *io, off_t off,
			    ssize_t written)
{
	off_t end = off + written;

	if (!partial_is_absent(&io->blocks->partial, end) ||
	    end % PARTIAL_BLOCK_BYTES == 0) {
		return written;
	}
	written -= end % PARTIAL_BLOCK_BYTES;
	return written > 0 ? written : -ENOSPC;
}

/* Steps 2 and 3 for bytes that all lie on one side. */
static ssize_t write_run(struct blocks_io *io, const char *data, size_t size,
			 off_t off, bool absent)
{
	ssize_t n = fdio_pwrite(io->fd, data, size, off);
	int error;

	if (n <= 0 || !absent) {
		return n;
	}
	error = partial_set(&io->blocks->partial, map_of(io), off, n);
	if (error) {
		return error;
	}
	return (size_t)n < size ? whole_blocks(io, off, n) : n;
}

/* In the order of the bytes, so that what was written before an error can be
 * said by their number. */
static ssize_t write_runs(struct blocks_io *io, const char *data, size_t size,
			  off_t off)
{
	size_t done = 0;

	while (done < size) {
		off_t at = off + (off_t)done;
		bool absent;
		off_t stop = partial_run(&io->blocks->partial, at,
					 off + (off_t)size, &absent);
		ssize_t n = write_run(io, data + done, (size_t)(stop - at), at,
				      absent);

		if (n < 0) {
			return done ? (ssize_t)done : n;
		}
		done += (size_t)n;
		if (n < stop - at) {
			break;
		}
	}
	return (ssize_t)done;
}

ssize_t blocks_write(struct blocks_io *io, const void *data, size_t size,
		     off_t off)
{
	ssize_t n = io->blocks ? write_runs(io, data, size, off)
			       : fdio_pwrite(io->fd, data, size, off);

	if (n < 0 && io->blocks && io->exclusive) {
		restore_times(io);
	}
	return n;
}

int blocks_fallocate(struct blocks_io *io, int mode, off_t off, off_t size)
{
	int error = sys_fallocate(io->fd, mode, off, size);

	if (error || !io->blocks || !io->exclusive ||
	    !(mode & BLOCKS_MAKES_ZEROS)) {
		return error;
	}
	error = partial_set(&io->blocks->partial, map_of(io), off, size);
	if (error) {
		restore_times(io);
	}
	return error;
}

int blocks_truncated(struct blocks_io *io, off_t size)
{
	if (!io->blocks) {
		return 0;
	}
	if (io->blocks->is_broken) {
		/* It is empty: `partial` has nothing in it. */
		become_whole(io);
		return 0;
	}
	return partial_cut(&io->blocks->partial, map_of(io), size);
}
