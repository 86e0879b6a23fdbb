#include "create.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "charge.h"
#include "copyup.h"
#include "dirlist.h"
#include "file.h"
#include "making.h"
#include "masks.h"
#include "place.h"
#include "record.h"
#include "subdirs.h"
#include "sys.h"
#include "whiteout.h"

/* Where the data is, and by which number `name` in `dirfd` is known. */
static int report_number(struct fs *fs, int dirfd, const char *name,
			 struct found *found)
{
	int error;

	found->dev = found->st.st_dev;
	found->ino = found->st.st_ino;
	error = numbers_tell_apart(&fs->numbers, dirfd, name, &found->st);
	found->st.st_ino = fs_map_ino(fs, found->dev, found->st.st_ino);
	return error;
}

/* The node for what was just made. */
static int intern_made(const struct making *making, int dirfd,
		       struct entry *ret_entry)
{
	struct node *parent = making->parent;
	struct found found = {.in_upper = true, .has_upper_name = true};
	int error = making->fd >= 0
			    ? sys_fstat(making->fd, &found.st)
			    : sys_fstatat(dirfd, making->name, &found.st);

	if (error) {
		return error;
	}
	if (making_is_whiteout(making)) {
		whiteout_show_stat(&found.st);
	}
	error = report_number(parent->view->fs,
			      making->fd >= 0 ? making->fd : dirfd,
			      making->fd >= 0 ? "" : making->name, &found);
	error = error ? error
		      : lookup_intern(parent, making->name, &found, ret_entry);
	if (!error) {
		charge_made(parent->view, &found.st);
	}
	return error;
}

/* On the record; the entry is the answer, and tells what was made. */
static int make_recorded(struct making *making, enum journal_op op, int dirfd,
			 struct entry *ret_entry)
{
	struct recording recording;
	int interned = 0;
	int error = record_begin(&recording, &(struct record_change){
						     .op = op,
						     .caller = making->caller,
						     .parent = making->parent,
						     .name = making->name,
						     .bytes = -1,
					     });

	error = error ? error : making_run(making, dirfd);
	if (!error && S_ISDIR(making->mode)) {
		subdirs_changed(making->parent, 1);
	}
	if (!error) {
		interned = intern_made(making, dirfd, ret_entry);
	}
	if (!error && !interned) {
		record_after(&recording, &ret_entry->st);
	}
	error = record_end(&recording, error);
	return error ? error : interned;
}

static int make_locked(struct making *making, enum journal_op op,
		       struct entry *ret_entry)
{
	AUTO_FDREF *dir = NULL;
	int error =
		making->parent->removed
			? -ENOENT
			: view_dir_fd(making->parent, VIEW_SLOT_UPPER, &dir);

	error = error ? error : masks_check_new(making->parent, making->name);
	error = error ? error : make_recorded(making, op, dir->fd, ret_entry);
	dirlist_changed(making->parent);
	if (!error) {
		charge_settle_dir_locked(making->parent, dir->fd);
	}
	return error;
}

static int make(struct fs *fs, struct making *making, enum journal_op op,
		struct entry *ret_entry)
{
	AUTO_CLAIM claim = CLAIM_INIT;
	struct node *parent = making->parent;
	int error;

	if (fs_is_list_root(fs, parent)) {
		return -EPERM;
	}
	error = claim_take(&claim, &fs->quota, QUOTA_ENTRY_BYTES, 1);
	error = error ? error : copyup_ensure(fs, parent);
	if (error) {
		return error;
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = make_locked(making, op, ret_entry);
	lock_drop(&parent->lock);
	rwlock_drop(&parent->view->tree);
	return error;
}

int op_create(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	      const struct caller *caller, struct entry *ret_entry)
{
	struct making making = {
		.parent = parent,
		.name = name,
		.mode = S_IFREG | (mode & 07777),
		.caller = caller,
		.fd = -1,
	};
	int error = make(fs, &making, JOURNAL_CREATE, ret_entry);

	if (!error) {
		file_adopt_created(ret_entry->node, TAKE_FD(making.fd));
	}
	auto_close_fd(&making.fd);
	return error;
}

int op_mknod(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	     dev_t rdev, const struct caller *caller, struct entry *ret_entry)
{
	struct making making = {
		.parent = parent,
		.name = name,
		.mode = mode,
		.rdev = rdev,
		.caller = caller,
		.fd = -1,
	};
	int error;

	error = make(fs, &making, JOURNAL_MKNOD, ret_entry);
	auto_close_fd(&making.fd);
	return error;
}

int op_mkdir(struct fs *fs, struct node *parent, const char *name, mode_t mode,
	     const struct caller *caller, struct entry *ret_entry)
{
	struct making making = {
		.parent = parent,
		.name = name,
		.mode = S_IFDIR | (mode & 07777),
		.caller = caller,
		.fd = -1,
	};

	return make(fs, &making, JOURNAL_MKDIR, ret_entry);
}

int op_symlink(struct fs *fs, struct node *parent, const char *name,
	       const char *target, const struct caller *caller,
	       struct entry *ret_entry)
{
	struct making making = {
		.parent = parent,
		.name = name,
		.mode = S_IFLNK | 0777,
		.target = target,
		.caller = caller,
		.fd = -1,
	};

	return make(fs, &making, JOURNAL_SYMLINK, ret_entry);
}

static int tmpfile_locked(struct node *parent, mode_t mode,
			  const struct caller *caller, int *ret_fd)
{
	AUTO_FDREF *dir = NULL;
	struct caller_scope scope;
	int error = parent->removed
			    ? -ENOENT
			    : view_dir_fd(parent, VIEW_SLOT_UPPER, &dir);

	if (error) {
		return error;
	}
	scope = caller_enter_creating(parent->view->fs, caller);
	*ret_fd = sys_openat(dir->fd, ".", O_RDWR | O_TMPFILE, mode & 07777);
	caller_leave(&scope);
	return *ret_fd < 0 ? *ret_fd : 0;
}

/* A node that has no name: it lives behind `pinned`. */
static int intern_nameless(struct node *parent, int fd, struct entry *ret_entry)
{
	struct found found = {.in_upper = true};
	AUTO_FD path_fd = sys_reopen(fd, O_PATH);
	struct fdref *pinned;
	int error = path_fd < 0 ? path_fd : sys_fstat(fd, &found.st);

	if (error) {
		return error;
	}
	pinned = fdref_new(TAKE_FD(path_fd), false);
	if (!pinned) {
		return -ENOMEM;
	}
	error = report_number(parent->view->fs, fd, "", &found);
	error = error ? error : lookup_intern(parent, "", &found, ret_entry);
	if (error) {
		fdref_put(pinned);
		return error;
	}
	lock_take(&ret_entry->node->lock);
	ret_entry->node->removed = true;
	ret_entry->node->pinned = pinned;
	charge_made(parent->view, &found.st);
	charge_unlinked_locked(ret_entry->node);
	lock_drop(&ret_entry->node->lock);
	return 0;
}

static int tmpfile_recorded(struct node *parent, mode_t mode,
			    const struct caller *caller, int *ret_fd,
			    struct entry *ret_entry)
{
	struct recording recording;
	int error = record_begin(&recording, &(struct record_change){
						     .op = JOURNAL_TMPFILE,
						     .caller = caller,
						     .parent = parent,
						     .name = "",
						     .bytes = -1,
					     });

	error = error ? error : tmpfile_locked(parent, mode, caller, ret_fd);
	error = error ? error : intern_nameless(parent, *ret_fd, ret_entry);
	if (!error) {
		record_after(&recording, &ret_entry->st);
	}
	return record_end(&recording, error);
}

int op_tmpfile(struct fs *fs, struct node *parent, mode_t mode,
	       const struct caller *caller, struct entry *ret_entry)
{
	AUTO_CLAIM claim = CLAIM_INIT;
	AUTO_FD fd = -1;
	int error =
		fs_is_list_root(fs, parent)
			? -EPERM
			: claim_take(&claim, &fs->quota, QUOTA_ENTRY_BYTES, 1);

	error = error ? error : copyup_ensure(fs, parent);

	if (error) {
		return error;
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = tmpfile_recorded(parent, mode, caller, &fd, ret_entry);
	lock_drop(&parent->lock);
	rwlock_drop(&parent->view->tree);
	if (!error) {
		file_adopt_created(ret_entry->node, TAKE_FD(fd));
	}
	return error;
}

static int link_place(const struct place *place, int dirfd, const char *name)
{
	return *place->name
		       ? sys_linkat(place->dir->fd, place->name, dirfd, name)
		       : sys_link_fd(place->dir->fd, dirfd, name);
}

static int link_over_whiteout(const struct place *place, struct node *parent,
			      int dirfd, const char *name)
{
	int work_fd = parent->view->work_fd;
	char temp[VIEW_TEMP_BYTES];
	int error;

	view_temp_name(parent->view, temp);
	error = link_place(place, work_fd, temp);
	if (error) {
		return error;
	}
	error = sys_renameat2(work_fd, temp, dirfd, name, 0);
	if (error) {
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(work_fd, temp, 0);
	}
	return error;
}

static int link_in(const struct place *place, struct node *parent, int dirfd,
		   const char *name)
{
	int whiteout = making_check_name(parent, dirfd, name);
	int error = whiteout ? whiteout : link_place(place, dirfd, name);

	if (!whiteout && error == -EEXIST) {
		whiteout = making_has_whiteout(parent->view, dirfd, name);
		error = whiteout < 0 ? whiteout : -EEXIST;
	}
	if (whiteout > 0) {
		error = link_over_whiteout(place, parent, dirfd, name);
	}
	if (!error) {
		charge_entries(parent->view, whiteout > 0 ? -1 : 0);
		charge_settle_dir_locked(parent, dirfd);
	}
	return error;
}

static int link_at(const struct place *place, struct node *parent,
		   const char *name)
{
	AUTO_FDREF *dir = NULL;
	int error = parent->removed
			    ? -ENOENT
			    : view_dir_fd(parent, VIEW_SLOT_UPPER, &dir);

	error = error ? error : masks_check_new(parent, name);
	return error ? error : link_in(place, parent, dir->fd, name);
}

/* One name more for a file whose names are counted. */
static int count_link(const struct node *node)
{
	nlink_t count;
	int counted = node->link_key ? links_read_count(node->view,
							node->link_key, &count)
				     : 0;

	return counted <= 0 ? counted
			    : links_write_count(node->view, node->link_key,
						count + 1);
}

static int link_recorded(struct node *node, struct node *parent,
			 const char *name, const struct caller *caller)
{
	AUTO_PLACE place = {0};
	struct recording recording;
	int error = record_begin(&recording, &(struct record_change){
						     .op = JOURNAL_LINK,
						     .caller = caller,
						     .node = node,
						     .parent2 = parent,
						     .name2 = name,
						     .bytes = -1,
					     });

	error = error ? error : place_of(node, &place);
	error = error ? error : link_at(&place, parent, name);
	error = error ? error : count_link(node);
	return record_end(&recording, error);
}

/* The tree lock is held exclusively, so names stand still. */
static int link_locked(struct node *node, struct node *parent, char **name,
		       const struct caller *caller)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);
	int error = link_recorded(node, parent, *name, caller);

	(void)held;
	if (error) {
		return error;
	}
	/* The newest name is the one that will be there the longest: git and
	 * others link a finished file into place and unlink the first name. */
	node_move_nofail(&node->view->fs->nodes, node, parent, TAKE_PTR(*name));
	charge_named_locked(node);
	node->removed = false;
	node->name_gone = false;
	fdref_put(node->pinned);
	node->pinned = NULL;
	return 0;
}

int op_link(struct fs *fs, struct node *node, struct node *parent,
	    const char *name, const struct caller *caller,
	    struct entry *ret_entry)
{
	AUTO_FREE char *copy = strdup(name);
	AUTO_CLAIM claim = CLAIM_INIT;
	int error;

	if (!copy) {
		return -ENOMEM;
	}
	if (!node->view || node->view != parent->view) {
		return -EXDEV;
	}
	if (node_is_dir(node)) {
		return -EPERM;
	}
	error = claim_take(&claim, &fs->quota, QUOTA_ENTRY_BYTES, 0);
	error = error ? error : copyup_ensure(fs, node);
	error = error ? error : copyup_ensure(fs, parent);
	if (error) {
		return error;
	}
	rwlock_take_exclusive(&node->view->tree);
	error = link_locked(node, parent, &copy, caller);
	dirlist_changed(parent);
	rwlock_drop(&node->view->tree);
	error = error ? error : op_getattr(fs, node, &ret_entry->st);
	if (!error) {
		ret_entry->node = node_get(node);
		ret_entry->stable = true;
	}
	return error;
}
