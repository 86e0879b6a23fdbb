#include "blocks.h"

#include <stdatomic.h>
#include <string.h>

#include "buf.h"
#include "charge.h"
#include "err.h"
#include "fdio.h"
#include "links.h"
#include "log.h"
#include "partial.h"
#include "place.h"
#include "sys.h"

/* Descriptors kept for bases and maps, of the 20 000 that a user may have;
 * beyond, copies are whole. */
#define HELD_MAX 2048

struct blocks {
	struct rwlock lock;
	/* Nothing of it is the base's any more; never false again. */
	atomic_bool whole;
	atomic_bool has_map;        /* false: nobody will look for it */
	atomic_bool is_told;        /* the base's change is in the log */
	atomic_bool is_synced;      /* somebody relies on what is on the disk */
	atomic_ulong absent_blocks; /* of 512 bytes, as shown */
	_Atomic int64_t map_blocks; /* as charged */
	bool is_broken;             /* set before the node has it */
	const struct view *view;    /* while parked */
	struct blocks *next;        /* guarded by: fs->parked_lock */
	ino_t ino;
	struct partial partial; /* guarded by: lock */
	struct fdref *base; /* guarded by: the node's lock; NULL: not open */
	struct fdref *map;  /* the same */
};

/* A flag that only ever changes once; what it stands for has its lock. */
static bool is(const atomic_bool *flag)
{
	/* acquire: what was done before it was set is seen, too */
	return atomic_load_explicit((atomic_bool *)flag, memory_order_acquire);
}

static void set(atomic_bool *flag, bool value)
{
	/* release: pairs with is() */
	atomic_store_explicit(flag, value, memory_order_release);
}

static struct blocks *partial_of(struct node *node)
{
	/* acquire: pairs with blocks_give_locked */
	return atomic_load_explicit(&node->partial, memory_order_acquire);
}

bool blocks_is_partial(const struct blocks *blocks)
{
	return blocks && !is(&blocks->whole);
}

/* ------------------------------------------------------------ descriptors */

bool blocks_may_hold(struct fs *fs)
{
	/* relaxed: a bound that may be missed by a few */
	return atomic_load_explicit(&fs->held_fds, memory_order_relaxed) <
	       HELD_MAX;
}

static void count_held(struct fs *fs, int more)
{
	atomic_fetch_add_explicit(&fs->held_fds, more, memory_order_relaxed);
}

/* Takes `fd` over. */
static int hold(struct fs *fs, struct fdref **slot, int fd)
{
	*slot = fdref_new(fd, false);
	if (!*slot) {
		return -ENOMEM;
	}
	count_held(fs, 1);
	return 0;
}

static void release_held(struct fs *fs, struct fdref **slot)
{
	if (*slot) {
		count_held(fs, -1);
	}
	fdref_put(*slot);
	*slot = NULL;
}

static struct fdref *held_fd(struct node *node, struct fdref *const *slot)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);

	(void)held;
	return fdref_get(*slot);
}

/* A reference to what is open in the slot, else to `fd`, which is taken over
 * and kept, if there is room. */
static int keep_fd(struct node *node, struct fdref **slot, int fd,
		   struct fdref **ret_ref)
{
	struct fs *fs = node->view->fs;
	struct fdref *ref = fdref_new(fd, false);

	if (!ref) {
		return -ENOMEM;
	}
	lock_take(&node->lock);
	if (!*slot && blocks_may_hold(fs)) {
		*slot = fdref_get(ref);
		count_held(fs, 1);
	}
	lock_drop(&node->lock);
	*ret_ref = ref;
	return 0;
}

static int base_fd(struct node *node, struct blocks *blocks,
		   struct fdref **ret_ref)
{
	const struct view *view = node->view;
	int fd;

	*ret_ref = held_fd(node, &blocks->base);
	if (*ret_ref) {
		return 0;
	}
	fd = partial_open_base(&blocks->partial, view->lowers,
			       view->lower_count);
	return fd < 0 ? fd : keep_fd(node, &blocks->base, fd, ret_ref);
}

static int map_fd(struct node *node, struct blocks *blocks,
		  struct fdref **ret_ref)
{
	int fd;

	*ret_ref = held_fd(node, &blocks->map);
	if (*ret_ref || !is(&blocks->has_map)) {
		return 0;
	}
	fd = partial_open(node->view->links->fd, blocks->ino);
	return fd < 0 ? fd : keep_fd(node, &blocks->map, fd, ret_ref);
}

/* What the caller is told of the base's change, or of a broken map. */
static int report(struct blocks *blocks, int error)
{
	AUTO_BUF path = BUF_INIT;

	if (error != -ESTALE && error != -EBADMSG) {
		return error;
	}
	if (!is(&blocks->is_told)) {
		set(&blocks->is_told, true);
		buf_add_quoted(&path, blocks->partial.path
					      ? blocks->partial.path
					      : "");
		log_warn("%s: EIO for the rest of upper inode %llu, base '%s'",
			 error == -ESTALE ? "the base has changed"
					  : "there is no usable map",
			 (unsigned long long)blocks->ino,
			 buf_error(&path) ? "" : path.data);
	}
	return -EIO;
}

/* ---------------------------------------------------------------- life */

static struct blocks *allocate(ino_t ino)
{
	struct blocks *blocks = calloc(1, sizeof(*blocks));

	if (blocks) {
		blocks->ino = ino;
		rwlock_init(&blocks->lock, LOCK_RANK_BLOCKS);
	}
	return blocks;
}

void blocks_free(struct fs *fs, struct blocks *blocks)
{
	if (!blocks) {
		return;
	}
	release_held(fs, &blocks->base);
	release_held(fs, &blocks->map);
	partial_release(&blocks->partial);
	rwlock_release(&blocks->lock);
	free(blocks);
}

/* For stat; the lock is held, or nobody has it yet. */
static void note_absent(struct blocks *blocks)
{
	/* relaxed: a number to show */
	atomic_store_explicit(&blocks->absent_blocks,
			      partial_absent_blocks(&blocks->partial),
			      memory_order_relaxed);
}

static int make_map(struct view *view, struct blocks *blocks)
{
	char name[PARTIAL_NAME_BYTES];
	int fd = partial_create(&blocks->partial, view->links->fd, blocks->ino);
	struct stat st;
	int error;

	if (fd < 0) {
		return fd;
	}
	set(&blocks->has_map, true);
	error = hold(view->fs, &blocks->map, fd);
	partial_name(blocks->ino, name);
	charge_link_entry(view, name, 1);
	charge_links_folder(view);
	if (!error && !sys_fstat(fd, &st)) {
		atomic_init(&blocks->map_blocks, st.st_blocks);
	}
	return error;
}

static int open_source(struct view *view, struct blocks *blocks,
		       const struct blocks_source *source)
{
	char *path = strdup(source->path ? source->path : "");
	int error = hold(view->fs, &blocks->base, source->fd);

	if (error || !path) {
		free(path);
		return -ENOMEM;
	}
	error = partial_init(&blocks->partial, &source->origin,
			     source->disk_blocks, source->layer, path);
	return error == -ENAMETOOLONG ? -EOPNOTSUPP : error;
}

int blocks_new(struct view *view, const struct blocks_source *source, ino_t ino,
	       struct blocks **ret_blocks)
{
	struct blocks *blocks = allocate(ino);
	int error;

	if (!blocks) {
		sys_close(source->fd);
		return -ENOMEM;
	}
	error = open_source(view, blocks, source);
	if (!error && source->path) {
		error = make_map(view, blocks);
	}
	if (error) {
		blocks_drop_map(view, blocks);
		blocks_free(view->fs, blocks);
		return error;
	}
	note_absent(blocks);
	*ret_blocks = blocks;
	return 0;
}

/* A map that stays is left over, and means nothing. */
static void remove_map(struct view *view, ino_t ino)
{
	int error = links_forget_map(view, ino);

	if (error) {
		log_info("map of upper inode %llu left over: %s",
			 (unsigned long long)ino, err_name(error));
	}
	charge_links_folder(view);
}

void blocks_drop_map(struct view *view, struct blocks *blocks)
{
	/* relaxed: whoever is first removes it */
	if (blocks && atomic_exchange_explicit(&blocks->has_map, false,
					       memory_order_relaxed)) {
		remove_map(view, blocks->ino);
	}
}

void blocks_show_stat(struct node *node, struct stat *st)
{
	struct blocks *blocks = partial_of(node);

	if (blocks_is_partial(blocks)) {
		st->st_blocks += (blkcnt_t)atomic_load_explicit(
			&blocks->absent_blocks, memory_order_relaxed);
	}
}

/* ---------------------------------------------------------------- lookup */

/* The tag as it is now: the file may have become whole a moment ago. */
static uint64_t tag_now(struct node *node)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);
	AUTO_PLACE place = {0};
	struct origin origin;

	(void)held;
	return place_of(node, &place) || origin_read(place.dir->fd, place.name,
						     &origin) != 1
		       ? 0
		       : origin.partial_tag;
}

void blocks_give_locked(struct node *node, struct blocks *blocks)
{
	/* release: pairs with partial_of */
	atomic_store_explicit(&node->partial, blocks, memory_order_release);
}

void blocks_park(struct node *node)
{
	struct blocks *blocks = partial_of(node);
	struct fs *fs = node->view ? node->view->fs : NULL;

	if (!blocks_is_partial(blocks) || blocks->is_broken || !blocks->base ||
	    !is(&blocks->has_map)) {
		return;
	}
	blocks_give_locked(node, NULL);
	blocks->view = node->view;
	lock_take(&fs->parked_lock);
	blocks->next = fs->parked;
	fs->parked = blocks;
	lock_drop(&fs->parked_lock);
}

/* Takes it out again; NULL where there is none. Tag 0: any. */
static struct blocks *unpark(const struct view *view, ino_t ino, uint64_t tag)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&view->fs->parked_lock);
	struct blocks **at = &view->fs->parked;
	struct blocks *blocks;

	(void)held;
	while (*at && ((*at)->view != view || (*at)->ino != ino ||
		       (tag && (*at)->partial.base.partial_tag != tag))) {
		at = &(*at)->next;
	}
	blocks = *at;
	if (blocks) {
		*at = blocks->next;
	}
	return blocks;
}

void blocks_release_parked(struct fs *fs)
{
	while (fs->parked) {
		struct blocks *blocks = fs->parked;

		fs->parked = blocks->next;
		blocks_free(fs, blocks);
	}
}

void blocks_unlinked(struct view *view, struct node *node, ino_t ino)
{
	struct blocks *blocks = node ? partial_of(node) : NULL;

	if (blocks) {
		blocks_drop_map(view, blocks);
		return;
	}
	blocks_free(view->fs, unpark(view, ino, 0));
	remove_map(view, ino);
}

static int load(struct node *node, struct blocks *blocks, uint64_t tag,
		off_t size)
{
	const struct view *view = node->view;
	char name[PARTIAL_NAME_BYTES];
	struct stat st;
	int error = partial_load(&blocks->partial, view->links->fd, blocks->ino,
				 tag, size);

	set(&blocks->has_map, true);
	set(&blocks->is_synced, true);
	if (!error) {
		note_absent(blocks);
		partial_name(blocks->ino, name);
		if (!sys_fstatat(view->links->fd, name, &st)) {
			atomic_init(&blocks->map_blocks, st.st_blocks);
		}
	}
	return error;
}

/* Where somebody was faster, theirs stays. */
static void adopt(struct node *node, struct blocks *blocks)
{
	bool is_first;

	lock_take(&node->lock);
	is_first = !partial_of(node);
	if (is_first) {
		blocks_give_locked(node, blocks);
	}
	lock_drop(&node->lock);
	if (!is_first) {
		blocks_free(node->view->fs, blocks);
	}
}

int blocks_attach(struct node *node, uint64_t tag, ino_t ino, off_t size)
{
	struct blocks *blocks;
	int error;

	if (!tag || partial_of(node)) {
		return 0;
	}
	blocks = unpark(node->view, ino, tag);
	if (blocks) {
		adopt(node, blocks);
		return 0;
	}
	blocks = allocate(ino);
	if (!blocks) {
		return -ENOMEM;
	}
	error = load(node, blocks, tag, size);
	if (error && (error != -EBADMSG || tag_now(node) != tag)) {
		blocks_free(node->view->fs, blocks);
		return error == -EBADMSG ? 0 : error;
	}
	if (error) {
		blocks->is_broken = true;
		log_warn("map of upper inode %llu can't be used: %s",
			 (unsigned long long)blocks->ino, err_name(error));
	}
	adopt(node, blocks);
	return 0;
}

/* ------------------------------------------------------------ enter, leave */

static void drop_lock(struct blocks_io *io)
{
	rwlock_drop(&io->blocks->lock);
	io->blocks = NULL;
}

/* Gives up what was taken. */
static int fail(struct blocks_io *io, int error)
{
	error = report(io->blocks, error);
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
	if (is(&blocks->whole)) {
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
		error = base_fd(node, blocks, &io->base);
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
	int error = map_fd(io->node, io->blocks, &io->map);

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
	int error = io->base ? 0 : base_fd(io->node, io->blocks, &io->base);
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

	if (!is(&io->blocks->has_map)) {
		return 0;
	}
	error = is(&io->blocks->is_synced) ? sys_fdatasync(io->fd) : 0;
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
	set(&blocks->whole, true);
	lock_take(&node->lock);
	release_held(node->view->fs, &blocks->base);
	release_held(node->view->fs, &blocks->map);
	lock_drop(&node->lock);
	partial_release(&blocks->partial);
}

/* Something may have been noted. */
static void note_change(struct blocks_io *io)
{
	settle_map(io);
	note_absent(io->blocks);
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
	return n < 0 ? report(io->blocks, (int)n) : n;
}

off_t blocks_seek(const struct blocks_io *io, off_t off, int whence)
{
	off_t found;

	if (!io->blocks) {
		return sys_lseek(io->fd, off, whence);
	}
	found = partial_seek(&io->blocks->partial, io->fd,
			     io->base ? io->base->fd : -1, off, whence);
	return found < 0 ? report(io->blocks, (int)found) : found;
}

int blocks_sync(const struct blocks_io *io, bool data_only)
{
	AUTO_FDREF *map = NULL;
	int error = data_only ? sys_fdatasync(io->fd) : sys_fsync(io->fd);

	if (error || !io->blocks) {
		return error;
	}
	set(&io->blocks->is_synced, true);
	error = map_fd(io->node, io->blocks, &map);
	return error ? report(io->blocks, error)
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
