#include "blocks.h"

#include <string.h>

#include "blocks_state.h"
#include "buf.h"
#include "charge.h"
#include "err.h"
#include "links.h"
#include "log.h"
#include "sys.h"

/* Descriptors kept for bases and maps, of the 20 000 that a user may have;
 * beyond, copies are whole. */
#define HELD_MAX 2048

static struct blocks *partial_of(struct node *node)
{
	/* acquire: pairs with blocks_give_locked */
	return atomic_load_explicit(&node->partial, memory_order_acquire);
}

bool blocks_is_partial(const struct blocks *blocks)
{
	return blocks && !blocks_flag(&blocks->whole);
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

void blocks_release_held(struct fs *fs, struct fdref **slot)
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

int blocks_base_fd(struct node *node, struct blocks *blocks,
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

int blocks_map_fd(struct node *node, struct blocks *blocks,
		  struct fdref **ret_ref)
{
	int fd;

	*ret_ref = held_fd(node, &blocks->map);
	if (*ret_ref || !blocks_flag(&blocks->has_map)) {
		return 0;
	}
	fd = partial_open(node->view->links->fd, blocks->ino);
	if (fd == -EBADMSG && !blocks_flag(&blocks->has_map)) {
		return 0; /* the last name has gone meanwhile */
	}
	return fd < 0 ? fd : keep_fd(node, &blocks->map, fd, ret_ref);
}

/* What the caller is told of the base's change, or of a broken map. */
int blocks_report(struct blocks *blocks, int error)
{
	AUTO_BUF path = BUF_INIT;

	if (error != -ESTALE && error != -EBADMSG) {
		return error;
	}
	if (!blocks_flag(&blocks->is_told)) {
		blocks_set_flag(&blocks->is_told, true);
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
	blocks_release_held(fs, &blocks->base);
	blocks_release_held(fs, &blocks->map);
	partial_release(&blocks->partial);
	rwlock_release(&blocks->lock);
	free(blocks);
}

/* For stat; the lock is held, or nobody has it yet. */
void blocks_note_absent(struct blocks *blocks)
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
	blocks_set_flag(&blocks->has_map, true);
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
	blocks_note_absent(blocks);
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
	/* Whoever is first removes it. release: who finds it missing must see
	 * that it is to be. */
	if (blocks && atomic_exchange_explicit(&blocks->has_map, false,
					       memory_order_acq_rel)) {
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
	    !blocks_flag(&blocks->has_map)) {
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

	blocks_set_flag(&blocks->has_map, true);
	blocks_set_flag(&blocks->is_synced, true);
	if (!error) {
		blocks_note_absent(blocks);
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
