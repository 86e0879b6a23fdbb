#include "watch.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/inotify.h>

#include "err.h"
#include "log.h"
#include "sys.h"

#define WATCH_MASK                                                             \
	(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |     \
	 IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR | IN_EXCL_UNLINK)

#define WATCHES_MIN 256

/* Not in <linux/magic.h> of Debian 12. */
#define BCACHEFS_MAGIC 0xca451a4e
#define ZFS_MAGIC      0x2fc12fc1

/* Disks on which every change is made through this kernel, and seen. */
static const uint32_t local_disks[] = {
	EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC,
	F2FS_SUPER_MAGIC, BCACHEFS_MAGIC,  ZFS_MAGIC,
};

/* The user's watches are for all that the user runs: one daemon takes no more
 * than this part of them. */
#define WATCHES_SHARE 16

/* How many the user may have; a small number where the kernel does not say. */
static size_t user_watches(void)
{
	AUTO_FD fd = sys_openat(
		AT_FDCWD, "/proc/sys/fs/inotify/max_user_watches", O_RDONLY, 0);
	char text[32] = "";

	if (fd < 0 || sys_read(fd, text, sizeof(text) - 1) <= 0) {
		return WATCHES_MIN * WATCHES_SHARE;
	}
	return strtoul(text, NULL, 10);
}

int watches_init(struct watches *watches)
{
	*watches = (struct watches){
		.fd = sys_inotify_init(),
		.closing_fd = -1,
		.limit = user_watches() / WATCHES_SHARE,
	};
	lock_init(&watches->lock, LOCK_RANK_TABLE, 1);
	return watches->fd < 0 ? watches->fd : 0;
}

static void *close_watches(void *data)
{
	sys_close(*(const int *)data);
	return NULL;
}

void watches_stop(struct watches *watches)
{
	watches->closing_fd = take_fd(&watches->fd);
	if (watches->closing_fd >= 0 &&
	    pthread_create(&watches->closing, NULL, close_watches,
			   &watches->closing_fd)) {
		watches->fd = take_fd(&watches->closing_fd);
	}
}

void watches_release(struct watches *watches)
{
	if (watches->closing_fd >= 0) {
		pthread_join(watches->closing, NULL);
	}
	if (watches->fd >= 0) {
		sys_close(watches->fd);
	}
	free(watches->ids);
	lock_release(&watches->lock);
}

/* The kernel counts watch descriptors up from 1 and does not use one again
 * soon, so a table indexed by them would only grow: a hash with open
 * addressing, tombstones being entries without an id. */
static struct watch_entry *find_slot(const struct watches *watches, int number)
{
	size_t at = (size_t)number & watches->mask;

	while (watches->ids[at].number && watches->ids[at].number != number) {
		at = (at + 1) & watches->mask;
	}
	return &watches->ids[at];
}

/* Makes the table fit the entries in use, at most half full. */
static int rebuild_locked(struct watches *watches)
{
	struct watches next = {.mask = WATCHES_MIN - 1};

	while (next.mask + 1 < (watches->used + 1) * 4) {
		next.mask = next.mask * 2 + 1;
	}
	next.ids = calloc(next.mask + 1, sizeof(*next.ids));
	if (!next.ids) {
		return -ENOMEM;
	}
	for (size_t i = 0; watches->ids && i <= watches->mask; i++) {
		if (watches->ids[i].id) {
			*find_slot(&next, watches->ids[i].number) =
				watches->ids[i];
		}
	}
	free(watches->ids);
	watches->ids = next.ids;
	watches->mask = next.mask;
	watches->filled = watches->used;
	return 0;
}

/* Remembers whose watch it is; *ret_before is whose it was. */
static int set_id(struct watches *watches, int number, uint64_t id,
		  uint64_t *ret_before)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&watches->lock);
	struct watch_entry *entry;

	(void)held;
	if (!watches->ids || watches->filled * 2 > watches->mask) {
		int error = rebuild_locked(watches);

		if (error) {
			return error;
		}
	}
	entry = find_slot(watches, number);
	*ret_before = entry->id;
	watches->filled += !entry->number;
	watches->used += (id != 0) - (entry->id != 0);
	*entry = (struct watch_entry){.number = number, .id = id};
	return 0;
}

uint64_t watch_find(struct watches *watches, int number)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&watches->lock);

	(void)held;
	return watches->ids ? find_slot(watches, number)->id : 0;
}

void watch_ended(struct watches *watches, int number)
{
	uint64_t before;

	if (set_id(watches, number, 0, &before)) {
		log_warn("watch %d not forgotten: %s", number,
			 err_name(ENOMEM));
	}
}

static bool is_local_disk(int fd)
{
	uint32_t type;

	if (sys_fs_type(fd, &type)) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(local_disks); i++) {
		if (type == local_disks[i]) {
			return true;
		}
	}
	return false;
}

static bool is_full(struct watches *watches)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&watches->lock);

	(void)held;
	return watches->used >= watches->limit;
}

static int watch_lower(struct node *dir, unsigned int i)
{
	struct watches *watches = &dir->view->fs->watches;
	struct lower *lower = &dir->lowers->at[i];
	AUTO_FDREF *ref = NULL;
	uint64_t before;
	int number;
	int error = view_dir_fd(dir, VIEW_SLOT_LOWER(i), &ref);

	if (error) {
		return error;
	}
	if (!is_local_disk(ref->fd)) {
		return -EOPNOTSUPP;
	}
	if (is_full(watches)) {
		return -ENOSPC;
	}
	number = sys_inotify_add(watches->fd, ref->fd, WATCH_MASK);
	if (number < 0) {
		return number;
	}
	error = set_id(watches, number, dir->id, &before);
	if (error || (before && before != dir->id)) {
		/* One directory in two places: it can have one watch only. */
		return error ? error : -EBUSY;
	}
	lower->watch = number;
	return 0;
}

void watch_dir(struct node *dir)
{
	struct fs *fs = dir->view->fs;
	bool complete = true;

	if (!dir->lowers || dir->watch_tried || fs->watches.fd < 0) {
		return;
	}
	dir->watch_tried = true;
	for (unsigned int i = 0; i < dir->lowers->count; i++) {
		int error = watch_lower(dir, i);

		if (error) {
			log_debug("node %llu not watched: %s",
				  (unsigned long long)dir->id, err_name(error));
			complete = false;
		}
	}
	/* release: pairs with watch_is_complete */
	atomic_store_explicit(&dir->watched, complete, memory_order_release);
}

bool watch_is_complete(const struct node *dir)
{
	/* acquire: the watches were set before */
	return !dir->lowers ||
	       atomic_load_explicit(&((struct node *)dir)->watched,
				    memory_order_acquire);
}

void watch_forget(struct node *dir)
{
	struct watches *watches = &dir->view->fs->watches;

	for (unsigned int i = 0; dir->lowers && i < dir->lowers->count; i++) {
		int number = dir->lowers->at[i].watch;

		/* Another node may have the same directory by now. */
		if (number && watch_find(watches, number) == dir->id) {
			sys_inotify_remove(watches->fd, number);
			watch_ended(watches, number);
		}
	}
}

static void forget_base_locked(struct node *dir)
{
	watch_forget(dir);
	for (unsigned int i = 0; i < dir->lowers->count; i++) {
		dir->lowers->at[i].watch = 0;
		fdcache_drop(&dir->view->fs->dir_fds, dir->id,
			     VIEW_SLOT_LOWER(i));
	}
	dir->watch_tried = false;
	/* release: pairs with watch_is_complete */
	atomic_store_explicit(&dir->watched, false, memory_order_release);
	dir->version++;
}

void watch_base_replaced(struct node *dir, uint64_t ino)
{
	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	if (dir->lowers) {
		forget_base_locked(dir);
		dir->ino = ino ? ino : dir->ino;
	}
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
}

void changes_init(struct changes *changes)
{
	*changes = (struct changes){.event_fd = sys_eventfd()};
	lock_init(&changes->lock, LOCK_RANK_QUEUE, 0);
}

void changes_release(struct changes *changes)
{
	if (changes->event_fd >= 0) {
		sys_close(changes->event_fd);
	}
	free(changes->ids);
	lock_release(&changes->lock);
}

static void add_id_locked(struct changes *changes, uint64_t id)
{
	size_t capacity = changes->capacity ? changes->capacity * 2 : 16;

	if (changes->count == changes->capacity) {
		uint64_t *ids =
			reallocarray(changes->ids, capacity, sizeof(*ids));
		if (!ids) {
			return;
		}
		changes->ids = ids;
		changes->capacity = capacity;
	}
	changes->ids[changes->count++] = id;
}

void changes_report(struct changes *changes, uint64_t id)
{
	const uint64_t one = 1;

	if (changes->event_fd < 0) {
		return;
	}
	lock_take(&changes->lock);
	add_id_locked(changes, id);
	lock_drop(&changes->lock);
	if (sys_write(changes->event_fd, &one, sizeof(one)) < 0) {
		log_debug("change of node %llu not passed on",
			  (unsigned long long)id);
	}
}

uint64_t *changes_take(struct changes *changes, size_t *ret_count)
{
	uint64_t *ids;
	uint64_t count;

	/* Before the ids, so that a report after them is seen again. */
	if (sys_read(changes->event_fd, &count, sizeof(count)) < 0) {
		log_debug("no event for changes");
	}
	lock_take(&changes->lock);
	ids = TAKE_PTR(changes->ids);
	*ret_count = changes->count;
	changes->count = 0;
	changes->capacity = 0;
	lock_drop(&changes->lock);
	return ids;
}
