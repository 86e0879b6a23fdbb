#include "copyup.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "blocks.h"
#include "charge.h"
#include "copyup_data.h"
#include "err.h"
#include "file.h"
#include "links.h"
#include "log.h"
#include "lookup.h"
#include "origin.h"
#include "path.h"
#include "place.h"
#include "sys.h"
#include "xattr.h"

#define LINK_TARGET_BYTES (PATH_MAX + 1)

/* Its loss is part of every change of the data, truncation included. */
#define CAPABILITY_ATTR "security.capability"

/* Looks at what is to be copied. */
static int stat_source(struct copy *copy)
{
	int fd = copy->from.dir->fd;
	int error = sys_fstatat(fd, copy->from.name, &copy->st);

	if (error) {
		return error;
	}
	origin_from_stat(&copy->origin, &copy->st);
	if (copy->node) {
		/* Only what was added to the disk's number. */
		copy->origin.number_variant =
			numbers_variant(copy->node->ino ^ copy->st.st_ino);
	}
	return origin_add_birth(&copy->origin, fd, copy->from.name);
}

static int copy_one_xattr(const struct copy *copy, const char *attr)
{
	char value[XATTR_SIZE_MAX];
	ssize_t n = sys_getxattrat(copy->from.dir->fd, copy->from.name, attr,
				   value, sizeof(value));
	int error;

	if (n < 0) {
		return n == -ENODATA ? 0 : (int)n;
	}
	error = sys_setxattrat(copy->to_fd, copy->temp, attr, value, (size_t)n,
			       0);
	/* security.* and trusted.* take privileges that we may not have;
	 * refusing the whole change for them would help nobody. */
	if (error == -EPERM || error == -EOPNOTSUPP) {
		log_info("copy-up without attribute '%s': %s", attr,
			 err_name(error));
		return 0;
	}
	return error;
}

static int copy_xattrs(const struct copy *copy)
{
	char list[XATTR_LIST_MAX];
	ssize_t size = sys_listxattrat(copy->from.dir->fd, copy->from.name,
				       list, sizeof(list));
	ssize_t at = 0;

	if (size == -EOPNOTSUPP) {
		return 0;
	}
	if (size < 0) {
		return (int)size;
	}
	while (at < size) {
		bool left_out = xattr_is_private(list + at) ||
				(copy->truncate &&
				 strcmp(list + at, CAPABILITY_ATTR) == 0);
		int error = left_out ? 0 : copy_one_xattr(copy, list + at);

		if (error) {
			return error;
		}
		at += (ssize_t)strlen(list + at) + 1;
	}
	return 0;
}

/* The base's identity. A disk without attributes goes without. */
static int write_origin(const struct copy *copy)
{
	struct stat st;
	int error;

	if (S_ISREG(copy->st.st_mode) || S_ISDIR(copy->st.st_mode)) {
		error = origin_write(copy->to_fd, copy->temp, &copy->origin);
		return error == -EOPNOTSUPP || error == -EPERM ? 0 : error;
	}
	error = sys_fstatat(copy->to_fd, copy->temp, &st);
	return error ? error
		     : links_write_origin(copy->node->view, st.st_ino,
					  &copy->origin);
}

/* Everything but the data. Owner before mode (chown clears bits), attributes
 * before a mode that may forbid writing them, times last. */
static int copy_attributes(const struct copy *copy)
{
	const struct stat *st = &copy->st;
	struct timespec times[2] = {st->st_atim, st->st_mtim};
	int error =
		sys_fchownat(copy->to_fd, copy->temp, st->st_uid, st->st_gid);

	if (copy->truncate) {
		times[1].tv_nsec = UTIME_NOW;
	}
	if (error == -EPERM) {
		/* An ordinary user's copy of another's file is the user's. */
		error = 0;
	}
	error = error ? error : copy_xattrs(copy);
	error = error ? error : write_origin(copy);
	if (!error && !S_ISLNK(st->st_mode)) {
		error = sys_fchmodat(copy->to_fd, copy->temp,
				     st->st_mode & 07777);
	}
	return error ? error : sys_utimensat(copy->to_fd, copy->temp, times);
}

static int make_symlink(const struct copy *copy)
{
	char target[LINK_TARGET_BYTES];
	ssize_t n = sys_readlinkat(copy->from.dir->fd, copy->from.name, target,
				   sizeof(target));

	if (n < 0) {
		return (int)n;
	}
	if (n == sizeof(target)) {
		return -ENAMETOOLONG;
	}
	target[n] = '\0';
	return sys_symlinkat(target, copy->to_fd, copy->temp);
}

/* Prepares the copy under its temporary name. */
static int make_copy(struct copy *copy)
{
	mode_t type = copy->st.st_mode & S_IFMT;
	int error;

	view_temp_name(copy->node->view, copy->temp);
	if (S_ISREG(type)) {
		error = copyup_data_make(copy);
	} else if (S_ISDIR(type)) {
		error = sys_mkdirat(copy->to_fd, copy->temp, 0700);
	} else if (S_ISLNK(type)) {
		error = make_symlink(copy);
	} else {
		error = sys_mknodat(copy->to_fd, copy->temp, type | 0600,
				    copy->st.st_rdev);
	}
	return error ? error : copy_attributes(copy);
}

static void discard_copy(const struct copy *copy)
{
	if (*copy->temp && sys_unlinkat(copy->to_fd, copy->temp, 0) &&
	    sys_unlinkat(copy->to_fd, copy->temp, AT_REMOVEDIR)) {
		/* Never made, or removed with the work folder. */
		return;
	}
}

/* To a program nothing was created, so the parent's times stay. The copy-up is
 * done by then: that they can't be set back is no reason to say otherwise. */
static void restore_times(int dirfd, const struct stat *before)
{
	struct timespec times[2] = {before->st_atim, before->st_mtim};
	int error = sys_utimensat(dirfd, "", times);

	if (error) {
		log_info("times of a directory not kept: %s", err_name(error));
	}
}

/* Puts the prepared copy at its name in the upper. */
static int place_copy(const struct copy *copy)
{
	struct node *node = copy->node;
	AUTO_FDREF *parent = NULL;
	struct stat st;
	int error = view_dir_fd(node->parent, VIEW_SLOT_UPPER, &parent);

	error = error ? error : sys_fstat(parent->fd, &st);
	error = error ? error
		      : sys_renameat2(copy->to_fd, copy->temp, parent->fd,
				      node->name, RENAME_NOREPLACE);
	if (!error) {
		restore_times(parent->fd, &st);
		charge_settle_dir_locked(node->parent, parent->fd);
	}
	return error;
}

/* Gives a file of the links folder the name, too. */
static int link_name(struct node *dir, const char *key, const char *name)
{
	AUTO_FDREF *upper = NULL;
	struct stat st;
	int error = view_dir_fd(dir, VIEW_SLOT_UPPER, &upper);

	error = error ? error : sys_fstat(upper->fd, &st);
	error = error ? error
		      : sys_linkat(dir->view->links->fd, key, upper->fd, name);
	if (!error) {
		restore_times(upper->fd, &st);
		charge_settle_dir_locked(dir, upper->fd);
	}
	return error;
}

/* The same for a file with several names: it goes to the links folder, from
 * where it serves all of them, and the upper gets the name that was used, so
 * that other readers of it find the copy. That name may be gone by now. */
static int place_linked(const struct copy *copy)
{
	struct node *node = copy->node;
	int error = links_add_copy(node->view, copy->temp, node->link_key,
				   copy->st.st_nlink);

	if (error) {
		return error;
	}
	if (node_in_upper(node->parent) && !node->name_gone) {
		error = link_name(node->parent, node->link_key, node->name);
	}
	if (error && error != -EEXIST) {
		log_info("'%s' has no name in the upper yet: %s",
			 node->link_key, err_name(error));
	}
	return 0;
}

static void set_in_upper(struct node *node)
{
	/* release: pairs with node_in_upper */
	atomic_store_explicit(&node->in_upper, true, memory_order_release);
}

/* The node has no name left, so the copy gets none either. */
static int keep_nameless(const struct copy *copy)
{
	struct node *node = copy->node;
	int fd = sys_openat(copy->to_fd, copy->temp, O_PATH | O_NOFOLLOW, 0);
	struct fdref *pinned;

	if (fd < 0) {
		return fd;
	}
	pinned = fdref_new(fd, false);
	if (!pinned) {
		return -ENOMEM;
	}
	fdref_put(node->pinned);
	node->pinned = pinned;
	discard_copy(copy);
	blocks_drop_map(node->view, copy->blocks);
	return 0;
}

/* Copies up `dir`, whose parent is in the upper, or which was removed while in
 * use. Tree lock held, shared. */
static int copyup_dir(struct node *dir)
{
	AUTO_UNLOCK struct lock *outer = lock_taken(&dir->parent->lock);
	AUTO_UNLOCK struct lock *inner = lock_taken(&dir->lock);
	struct copy copy = {.node = dir, .to_fd = dir->view->work_fd, .fd = -1};
	struct stat st;
	int error;

	(void)outer;
	(void)inner;
	if (node_in_upper(dir)) {
		return 0;
	}
	error = place_of(dir, &copy.from);
	error = error ? error : stat_source(&copy);
	error = error ? error : make_copy(&copy);
	error = error ? error : sys_fstatat(copy.to_fd, copy.temp, &st);
	if (!error) {
		error = dir->removed ? keep_nameless(&copy) : place_copy(&copy);
	}
	if (error) {
		discard_copy(&copy);
	} else {
		set_in_upper(dir);
		charge_copied_locked(dir, &st);
	}
	place_release(&copy.from);
	return error;
}

/* Copies up `dir` and what is above it. Tree lock held, shared. */
static int copyup_dirs(struct node *dir)
{
	if (dir->removed) {
		return copyup_dir(dir);
	}
	while (!node_in_upper(dir)) {
		struct node *top = dir;
		int error;

		while (!node_in_upper(top->parent)) {
			top = top->parent;
		}
		error = copyup_dir(top);
		if (error) {
			return error;
		}
	}
	return 0;
}

/* Where the source is beneath its layer, so that it is found again. */
static int note_path_locked(struct copy *copy)
{
	const struct node *node = copy->node;
	const struct lower *lower;

	if (!S_ISREG(node->type)) {
		return 0;
	}
	lower = &node->parent->lowers->at[node->lower_index];
	copy->layer = lower->layer;
	copy->path = path_join(lower->path, node->name);
	return copy->path ? 0 : -ENOMEM;
}

/* Opens the source at its place, for a copy that goes on without the node's
 * lock: the name is the node's. */
static int open_source_locked(struct copy *copy)
{
	struct place place = {0};
	int error = place_of(copy->node, &place);
	int fd = -1;

	if (!error && !*place.name) {
		copy->from = place;
		return stat_source(copy);
	}
	if (!error) {
		fd = place_open(&place, O_PATH);
		error = fd < 0 ? fd : 0;
	}
	place_release(&place);
	error = error ? error : note_path_locked(copy);
	if (error) {
		auto_close_fd(&fd);
		return error;
	}
	copy->from = (struct place){.dir = fdref_new(fd, false), .name = ""};
	return copy->from.dir ? stat_source(copy) : -ENOMEM;
}

/* Whether that is what the kernel knows as this node: somebody may have put
 * another file at its name in the base. */
static bool is_source(const struct copy *copy)
{
	const struct node *node = copy->node;

	return (copy->st.st_mode & S_IFMT) == node->type &&
	       (!S_ISREG(node->type) || node->removed ||
		node_is_keyed_by(node, copy->st.st_dev, copy->st.st_ino));
}

/* Somebody has taken the file's name away in the base. As on a disk, whoever
 * has it open goes on with it, if only a descriptor of it is left. Where it
 * only has another name, what is written would be lost with the last
 * descriptor, and a local disk would show it there: it must be opened by that
 * name. */
static int use_open_source_locked(struct copy *copy)
{
	struct node *node = copy->node;
	AUTO_FDREF *open = file_open_fd_locked(node);
	struct stat st;
	int error = open ? sys_fstat(open->fd, &st) : -ESTALE;

	if (error || st.st_nlink > 0) {
		return error ? error : -ESTALE;
	}
	place_release(&copy->from);
	free(TAKE_PTR(copy->path));
	fdref_put(node->pinned);
	node->pinned = fdref_get(open);
	node->removed = true;
	copy->from = (struct place){.dir = fdref_get(open), .name = ""};
	return stat_source(copy);
}

static int find_source_locked(struct copy *copy)
{
	int error = open_source_locked(copy);

	if (error == -ENOENT || error == -ELOOP ||
	    (!error && !is_source(copy))) {
		error = use_open_source_locked(copy);
	}
	return error;
}

/* Where to copy from, with the directories above ready. */
static int start_file(struct copy *copy)
{
	struct node *node = copy->node;
	int error = 0;

	rwlock_take_shared(&node->view->tree);
	if (!node->removed) {
		error = copyup_dirs(node->parent);
	}
	lock_take(&node->lock);
	error = error ? error : find_source_locked(copy);
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
	return error;
}

/* Makes the copy the node's data. Tree (shared), parent and node locked. */
static int switch_to_copy(struct copy *copy)
{
	struct node *node = copy->node;
	struct stat st;
	int error = sys_fstatat(copy->to_fd, copy->temp, &st);

	if (!error) {
		error = node->removed    ? keep_nameless(copy)
			: node->link_key ? place_linked(copy)
					 : place_copy(copy);
	}
	if (error) {
		return error;
	}
	node_rekey(&node->view->fs->nodes, node, st.st_dev, st.st_ino);
	if (copy->blocks) {
		blocks_give_locked(node, TAKE_PTR(copy->blocks));
	}
	numbers_take(&node->view->fs->numbers, copy->origin.dev,
		     copy->origin.ino);
	set_in_upper(node);
	charge_copied_locked(node, &st);
	if (copy->fd >= 0) {
		file_switch_data_locked(node, TAKE_FD(copy->fd), &copy->st);
	}
	return 0;
}

/* The last step, under the locks that keep names still. -EAGAIN: the node is
 * in another directory by now, whose copy-up comes first. */
static int finish_file(struct copy *copy)
{
	struct node *node = copy->node;
	struct nodes *nodes = &node->view->fs->nodes;
	struct node *parent;
	int error = -EAGAIN;

	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	parent = node_get(node->parent);
	lock_drop(&node->lock);
	lock_take(&parent->lock);
	lock_take(&node->lock);
	if (node->parent == parent &&
	    (node->removed || node_in_upper(parent))) {
		error = switch_to_copy(copy);
	}
	lock_drop(&node->lock);
	lock_drop(&parent->lock);
	rwlock_drop(&node->view->tree);
	node_put(nodes, parent);
	return error;
}

/* The node's COPYUP lock is held. 1: the copy is truncated to `size`. */
static int copyup_file(struct node *node, bool truncate, off_t size)
{
	struct copy copy = {
		.node = node,
		.to_fd = node->view->work_fd,
		.fd = -1,
		.size = size,
	};
	AUTO_CLAIM claim = CLAIM_INIT;
	int error = start_file(&copy);

	/* Truncating clears set-id bits: whose call it is, the disk must see.
	 */
	copy.truncate = truncate && !(copy.st.st_mode & (S_ISUID | S_ISGID));
	error = error ? error : copyup_data_claim(&copy, &claim);
	error = error ? error : make_copy(&copy);
	error = error ? error : finish_file(&copy);
	if (error) {
		discard_copy(&copy);
		blocks_drop_map(node->view, copy.blocks);
		blocks_free(node->view->fs, copy.blocks);
	}
	auto_close_fd(&copy.fd);
	place_release(&copy.from);
	free(copy.path);
	return error ? error : copy.truncate;
}

static int copyup_locked(struct node *node, bool truncate, off_t size)
{
	int result;

	do {
		result = node_in_upper(node)
				 ? 0
				 : copyup_file(node, truncate, size);
	} while (result == -EAGAIN);
	return result;
}

static int ensure_file(struct fs *fs, struct node *node, bool truncate,
		       off_t size)
{
	struct lock *lock = &fs->copyup[node->id % FS_COPYUP_LOCKS];
	int result;

	lock_take(lock);
	result = copyup_locked(node, truncate, size);
	lock_drop(lock);
	if (result < 0) {
		log_debug("copy-up of node %llu failed: %s",
			  (unsigned long long)node->id, err_name(result));
	}
	return result;
}

int copyup_ensure(struct fs *fs, struct node *node)
{
	int error;

	if (node_in_upper(node)) {
		return 0;
	}
	if (!view_is_writable(node->view)) {
		return -EROFS;
	}
	if (!node_is_dir(node)) {
		return ensure_file(fs, node, false, 0);
	}
	rwlock_take_shared(&node->view->tree);
	error = copyup_dirs(node);
	rwlock_drop(&node->view->tree);
	return error;
}

int copyup_truncated(struct fs *fs, struct node *node, off_t size)
{
	if (node_in_upper(node)) {
		return 0;
	}
	return view_is_writable(node->view) ? ensure_file(fs, node, true, size)
					    : -EROFS;
}

int copyup_name(struct node *parent, const char *name)
{
	struct found found;
	int error;

	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = lookup_layers(parent, name, &found);
	if (!error && found.in_upper && !found.has_upper_name) {
		error = link_name(parent, found.link_key, name);
	}
	if (!error) {
		found_release(&found);
	}
	lock_drop(&parent->lock);
	rwlock_drop(&parent->view->tree);
	return error;
}

/* "" is the upper's root itself. A root without an origin has not been made
 * yet, or its disk has no attributes: then doing it again does no harm. */
int copyup_root(struct view *view)
{
	struct copy copy = {.to_fd = view->upper.root_fd, .fd = -1};
	struct origin origin;
	int error = origin_read(copy.to_fd, "", &origin);

	if (error) {
		return error < 0 && error != -EBADMSG ? error : 0;
	}
	error = view_dir_fd(view->root, VIEW_SLOT_LOWER(0), &copy.from.dir);
	copy.from.name = "";
	error = error ? error : stat_source(&copy);
	error = error ? error : copy_attributes(&copy);
	place_release(&copy.from);
	return error;
}
