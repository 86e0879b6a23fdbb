#include "file.h"

#include <fcntl.h>

#include "blocks.h"
#include "charge.h"
#include "copyup.h"
#include "elsewhere.h"
#include "place.h"
#include "record.h"
#include "sys.h"

/* In one call from the kernel. */
#define COPY_RANGE_MAX_BYTES (256 * 1024 * 1024)

/* Tells two states of a base file apart. Never 0, which means "not seen". */
static uint64_t change_of(const struct stat *st)
{
	uint64_t change = (uint64_t)st->st_ino * 31 + (uint64_t)st->st_size;

	change = change * 31 + (uint64_t)st->st_mtim.tv_sec;
	change = change * 31 + (uint64_t)st->st_mtim.tv_nsec;
	change = change * 31 + (uint64_t)st->st_ctim.tv_sec;
	change = change * 31 + (uint64_t)st->st_ctim.tv_nsec;
	return change | 1;
}

/* Opens a base file, and makes sure that it is still the node's: somebody may
 * have put another one under its name. */
static int open_base_locked(const struct node *node, const struct place *place)
{
	/* Reading the base must not change its access times. A file that
	 * became a FIFO must not block us. */
	AUTO_FD fd = place_open(place, O_RDONLY | O_NOATIME | O_NONBLOCK);
	struct stat st;
	int error;

	if (fd == -EPERM) {
		fd = place_open(place, O_RDONLY | O_NONBLOCK);
	}
	if (fd < 0) {
		return fd == -ELOOP || fd == -ENXIO ? -ESTALE : fd;
	}
	error = sys_fstat(fd, &st);
	if (error) {
		return error;
	}
	return node_is_keyed_by(node, st.st_dev, st.st_ino) &&
			       S_ISREG(st.st_mode)
		       ? TAKE_FD(fd)
		       : -ESTALE;
}

/* Opens the node's data. Tree (shared) and node locked. */
static int open_data_locked(struct node *node, bool writable,
			    struct fdref **ret_ref)
{
	AUTO_PLACE place = {0};
	int error = place_of(node, &place);
	int fd;

	if (error) {
		return error;
	}
	if (node_in_upper(node)) {
		fd = place_open(&place, writable ? O_RDWR : O_RDONLY);
	} else if (writable) {
		return -EROFS; /* a bug of ours: copy-up comes first */
	} else if (node->data_at) {
		fd = elsewhere_open(node->view, node->data_at);
	} else {
		fd = open_base_locked(node, &place);
	}
	if (fd < 0) {
		return fd;
	}
	*ret_ref = fdref_new(fd, writable);
	return *ret_ref ? 0 : -ENOMEM;
}

enum file_slot {
	SLOT_READ,
	SLOT_WRITE
};

static struct fdcache *cache_of(const struct node *node)
{
	return &node->view->fs->file_fds;
}

static void cache_insert_locked(struct node *node, struct fdref *ref)
{
	fdcache_insert(cache_of(node), node->id,
		       ref->writable ? SLOT_WRITE : SLOT_READ, ref);
	node->has_cached_fds = true;
}

void file_forget_fds(struct node *node)
{
	if (node->has_cached_fds) {
		fdcache_drop(cache_of(node), node->id, SLOT_READ);
		fdcache_drop(cache_of(node), node->id, SLOT_WRITE);
		node->has_cached_fds = false;
	}
}

/* One that is open already, or NULL. */
static struct fdref *known_fd_locked(struct node *node, bool writable)
{
	struct fdref *ref;

	if (node->data && (!writable || node->data->writable)) {
		return fdref_get(node->data);
	}
	if (!node->has_cached_fds) {
		return NULL;
	}
	ref = fdcache_find(cache_of(node), node->id, SLOT_WRITE);
	return ref || writable
		       ? ref
		       : fdcache_find(cache_of(node), node->id, SLOT_READ);
}

struct fdref *file_open_fd_locked(struct node *node)
{
	return known_fd_locked(node, false);
}

/* Where the data is now. */
struct data {
	struct fdref *ref;
	struct blocks *blocks; /* see blocks.h; NULL: all of it is there */
};

static void data_release(struct data *data)
{
	fdref_put(data->ref);
}
#define AUTO_DATA AUTO(data_release) struct data

/* Both at one moment: before its copy-up a file has neither. */
static void note_blocks_locked(struct node *node, struct data *data)
{
	/* acquire: pairs with blocks_give_locked */
	data->blocks =
		atomic_load_explicit(&node->partial, memory_order_acquire);
}

/* A reference to a descriptor that holds the data now. */
static int data_fd(struct node *node, bool writable, struct data *ret_data)
{
	int error = 0;

	lock_take(&node->lock);
	ret_data->ref = known_fd_locked(node, writable);
	note_blocks_locked(node, ret_data);
	lock_drop(&node->lock);
	if (ret_data->ref) {
		return 0;
	}
	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	error = open_data_locked(node, writable, &ret_data->ref);
	note_blocks_locked(node, ret_data);
	if (!error) {
		cache_insert_locked(node, ret_data->ref);
	}
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
	return error == -ENOENT ? -ESTALE : error;
}

/* A writable one, after copy-up. */
static int writable_fd(struct fs *fs, struct node *node, struct data *ret_data)
{
	int error = copyup_ensure(fs, node);

	return error ? error : data_fd(node, true, ret_data);
}

void file_switch_data_locked(struct node *node, int fd,
			     const struct stat *source)
{
	struct fdref *ref = fdref_new(fd, true);

	file_forget_fds(node);
	if (ref) {
		cache_insert_locked(node, ref);
	}
	fdref_put(node->data);
	node->data = node->open_count ? fdref_get(ref) : NULL;
	fdref_put(ref);
	if (change_of(source) != node->seen_change) {
		/* The kernel may have pages of an older state. */
		node->seen_change = 0;
	}
}

bool file_saw_change(struct node *node, const struct stat *st)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);
	uint64_t seen = node->seen_change;

	(void)held;
	if (node_in_upper(node)) {
		return false;
	}
	node->seen_change = change_of(st);
	return seen && seen != node->seen_change;
}

void file_adopt_created(struct node *node, int fd)
{
	AUTO_FDREF *ref = fdref_new(fd, true);

	lock_take(&node->lock);
	if (ref) {
		cache_insert_locked(node, ref);
	}
	if (node->view->fs->keep_created) {
		fdref_put(node->data);
		node->data = fdref_get(ref);
		node->open_count++;
	}
	node->seen_change = 1;
	lock_drop(&node->lock);
}

/* Whether cached pages still hold, for a node whose data is open. */
static int check_cache_locked(struct node *node, bool *ret_keep_cache)
{
	struct stat st;
	int error;

	if (node_in_upper(node)) {
		/* Only this mount changes it; 0: see file_switch_data. */
		*ret_keep_cache = node->seen_change != 0;
		node->seen_change = 1;
		return 0;
	}
	error = sys_fstat(node->data->fd, &st);
	if (error) {
		return error;
	}
	if ((st.st_mode & S_IFMT) != node->type) {
		return -ESTALE;
	}
	*ret_keep_cache = node->seen_change == change_of(&st);
	node->seen_change = change_of(&st);
	return 0;
}

static int open_locked(struct node *node, bool *ret_keep_cache)
{
	/* A base file may be another by now, or replaced under its name. */
	bool reuse = node->data && node_in_upper(node);
	struct fdref *ref;
	int error;

	if (!reuse) {
		error = open_data_locked(node, false, &ref);
		if (error) {
			return error;
		}
		fdref_put(node->data);
		node->data = ref;
	}
	error = check_cache_locked(node, ret_keep_cache);
	if (!error) {
		node->open_count++;
	} else if (!node->open_count) {
		fdref_put(node->data);
		node->data = NULL;
	}
	return error;
}

int op_open(struct fs *fs, struct node *node, int flags,
	    const struct caller *caller, bool *ret_keep_cache)
{
	int error = 0;

	if (!node->view || !S_ISREG(node->type)) {
		return node_is_dir(node) ? -EISDIR : -ENXIO;
	}
	if (flags & O_TRUNC) {
		error = file_truncate(fs, node, 0, caller);
	}
	if (error) {
		return error;
	}
	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	error = open_locked(node, ret_keep_cache);
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
	return error == -ENOENT ? -ESTALE : error;
}

void op_release(struct node *node)
{
	struct fdref *last = NULL;

	lock_take(&node->lock);
	if (node->open_count && --node->open_count == 0) {
		last = TAKE_PTR(node->data);
	}
	lock_drop(&node->lock);
	fdref_put(last);
}

ssize_t op_read(struct node *node, void *data, size_t size, off_t off)
{
	AUTO_DATA from = {0};
	struct blocks_io io;
	ssize_t n = data_fd(node, false, &from);

	n = n ? n
	      : blocks_enter_read(&io, node, from.blocks, from.ref->fd, off,
				  (off_t)size);
	if (n) {
		return n;
	}
	n = blocks_read(&io, data, size, off);
	blocks_leave(&io);
	return n;
}

ssize_t op_write(struct fs *fs, struct node *node, const void *data,
		 size_t size, off_t off, const struct caller *caller)
{
	AUTO_CLAIM claim = CLAIM_INIT;
	AUTO_DATA to = {0};
	struct recording recording;
	struct blocks_io io;
	ssize_t n = writable_fd(fs, node, &to);

	n = n ? n : charge_claim_write(&claim, node, to.ref->fd, off, &size);
	if (n) {
		return n;
	}
	/* Begun without the file's lock: who the caller is may wait for a page
	 * of his that we are to write. */
	n = record_begin_write(&recording, node, caller, off, size);
	n = n ? n
	      : blocks_enter_change(&io, node, to.blocks, to.ref->fd, off,
				    (off_t)size);
	if (!n) {
		struct caller_scope scope = caller_enter(fs, caller);

		n = blocks_write(&io, data, size, off);
		caller_leave(&scope);
		blocks_leave(&io);
	}
	charge_settle_fd(node, to.ref->fd);
	return record_end_bytes(&recording, n);
}

int op_fsync(struct node *node, bool data_only)
{
	AUTO_DATA data = {0};
	struct blocks_io io;
	int error;

	/* The base is not ours to sync, and nothing of it is dirty. */
	if (!node->view || !node_in_upper(node)) {
		return 0;
	}
	error = data_fd(node, false, &data);
	error = error ? error
		      : blocks_enter_read(&io, node, data.blocks, data.ref->fd,
					  0, 0);
	if (error) {
		return error;
	}
	error = blocks_sync(&io, data_only);
	blocks_leave(&io);
	/* Only now the disk has blocks for keeping track of the data. */
	charge_settle_fd(node, data.ref->fd);
	return error;
}

#define FALLOCATE_MODES (FALLOC_FL_KEEP_SIZE | BLOCKS_MAKES_ZEROS)

int op_fallocate(struct fs *fs, struct node *node, int mode, off_t off,
		 off_t size, const struct caller *caller)
{
	AUTO_CLAIM claim = CLAIM_INIT;
	AUTO_DATA data = {0};
	struct recording recording;
	struct blocks_io io;
	int error = writable_fd(fs, node, &data);

	/* The kernel asks for no other; they would move blocks of the base. */
	if (!error && mode & ~FALLOCATE_MODES &&
	    blocks_is_partial(data.blocks)) {
		return -EOPNOTSUPP;
	}
	if (!error && !(mode & FALLOC_FL_PUNCH_HOLE)) {
		error = charge_claim_range(&claim, node, data.ref->fd, off,
					   size);
	}
	if (error) {
		return error;
	}
	error = record_begin_node(&recording, &(struct record_change){
						      .op = JOURNAL_FALLOCATE,
						      .caller = caller,
						      .node = node,
						      .offset = off,
						      .bytes = size,
					      });
	error = error ? error
		      : blocks_enter_change(
				&io, node, data.blocks, data.ref->fd, off,
				mode & BLOCKS_MAKES_ZEROS ? size : 0);
	if (!error) {
		struct caller_scope scope = caller_enter(fs, caller);

		error = blocks_fallocate(&io, mode, off, size);
		caller_leave(&scope);
		blocks_leave(&io);
	}
	charge_settle_fd(node, data.ref->fd);
	return record_end(&recording, error);
}

off_t op_lseek(struct node *node, off_t off, int whence)
{
	AUTO_DATA data = {0};
	struct blocks_io io;
	off_t found;

	/* The position is the kernel's; only these two are asked of us. */
	if (whence != SEEK_DATA && whence != SEEK_HOLE) {
		return -EINVAL;
	}
	found = off < 0 ? -ENXIO : data_fd(node, false, &data);
	found = found ? found
		      : blocks_enter_read(&io, node, data.blocks, data.ref->fd,
					  off, INT64_MAX - off);
	if (found) {
		return found;
	}
	found = blocks_seek(&io, off, whence);
	blocks_leave(&io);
	return found;
}

ssize_t op_copy_file_range(struct fs *fs, struct node *from, off_t from_off,
			   struct node *to, off_t to_off, size_t size,
			   const struct caller *caller)
{
	AUTO_DATA source = {0};
	AUTO_DATA target = {0};
	AUTO_CLAIM claim = CLAIM_INIT;
	struct recording recording;
	ssize_t n = writable_fd(fs, to, &target);

	n = n ? n : data_fd(from, false, &source);
	if (!n && (blocks_is_partial(source.blocks) ||
		   blocks_is_partial(target.blocks))) {
		return -EOPNOTSUPP; /* the kernel reads and writes, then */
	}
	if (size > COPY_RANGE_MAX_BYTES) {
		size = COPY_RANGE_MAX_BYTES;
	}
	n = n ? n
	      : charge_claim_write(&claim, to, target.ref->fd, to_off, &size);
	if (n) {
		return n;
	}
	n = record_begin_copy(&recording,
			      &(struct record_change){
				      .op = JOURNAL_COPY_RANGE,
				      .caller = caller,
				      .node = to,
				      .offset = to_off,
				      .bytes = (off_t)size,
			      },
			      from);
	if (!n) {
		struct caller_scope scope = caller_enter(fs, caller);

		n = sys_copy_file_range(source.ref->fd, &from_off,
					target.ref->fd, &to_off, size);
		caller_leave(&scope);
		charge_settle_fd(to, target.ref->fd);
	}
	/* Upper and base on two disks: the kernel then copies by itself. */
	n = n == -EXDEV || n == -ENOSYS ? -EOPNOTSUPP : n;
	return record_end_bytes(&recording, n);
}

static int truncate_file(struct fs *fs, struct node *node, off_t size,
			 const struct caller *caller)
{
	AUTO_DATA data = {0};
	struct caller_scope scope;
	struct blocks_io io;
	int result = copyup_truncated(fs, node, size);

	if (result) {
		return result < 0 ? result : 0;
	}
	result = data_fd(node, true, &data);
	result = result ? result
			: blocks_enter_truncate(&io, node, data.blocks,
						data.ref->fd, size);
	if (result) {
		return result;
	}
	scope = caller_enter(fs, caller);
	result = sys_ftruncate(io.fd, size);
	caller_leave(&scope);
	result = result ? result : blocks_truncated(&io, size);
	blocks_leave(&io);
	charge_settle_fd(node, data.ref->fd);
	return result;
}

int file_truncate(struct fs *fs, struct node *node, off_t size,
		  const struct caller *caller)
{
	struct recording recording;
	int error;

	if (!S_ISREG(node->type)) {
		return node_is_dir(node) ? -EISDIR : -EINVAL;
	}
	error = record_begin_node(
		&recording,
		&(struct record_change){
			.op = JOURNAL_TRUNCATE,
			.caller = caller,
			.node = node,
			.bytes = -1,
			.room = size ? JOURNAL_TAKES : JOURNAL_FREES,
		});
	error = error ? error : truncate_file(fs, node, size, caller);
	if (!error) {
		recording.outcome.size_after = size;
	}
	return record_end(&recording, error);
}
