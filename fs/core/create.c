#include "create.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "attr.h"
#include "copyup.h"
#include "dirlist.h"
#include "file.h"
#include "path.h"
#include "place.h"
#include "sys.h"
#include "whiteout.h"

/* What to make, under any name in any directory. */
struct making {
	struct node *parent;
	const char *name;
	mode_t mode; /* with the type */
	dev_t rdev;
	const char *target;
	const struct caller *caller;
	int fd; /* of a regular file, once made; -1 before */
};

static int make_at(struct making *making, int dirfd, const char *name)
{
	mode_t permissions = making->mode & 07777;

	switch (making->mode & S_IFMT) {
	case S_IFREG:
		making->fd = sys_openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL,
					permissions);
		return making->fd < 0 ? making->fd : 0;
	case S_IFDIR:
		return sys_mkdirat(dirfd, name, permissions);
	case S_IFLNK:
		return sys_symlinkat(making->target, dirfd, name);
	default:
		return sys_mknodat(dirfd, name, making->mode, making->rdev);
	}
}

/* A new directory hides what the base has, or gets later, under its name. */
static int finish_dir(const struct making *making, int dirfd, const char *name)
{
	int error;

	if (!S_ISDIR(making->mode) || !making->parent->lowers) {
		return 0;
	}
	error = whiteout_set_opaque(dirfd, name);
	return error == -EOPNOTSUPP &&
			       !lookup_lower_has(making->parent, making->name)
		       ? 0
		       : error;
}

static int make_directly(struct making *making, int dirfd)
{
	struct caller_scope scope;
	int error;

	scope = caller_enter(making->parent->view->fs, making->caller);
	error = make_at(making, dirfd, making->name);
	caller_leave(&scope);
	return error ? error : finish_dir(making, dirfd, making->name);
}

/* Owner and group as the directory's rules have them for a new entry. */
static int set_owner(const struct making *making, int parent_fd, int work_fd,
		     const char *temp)
{
	const struct fs *fs = making->parent->view->fs;
	gid_t gid = fs->switch_ids ? making->caller->gid : fs->gid;
	uid_t uid = fs->switch_ids ? making->caller->uid : fs->uid;
	mode_t mode = making->mode & 07777;
	bool set_gid;
	struct stat st;
	int error = sys_fstat(parent_fd, &st);

	if (error) {
		return error;
	}
	set_gid = st.st_mode & S_ISGID;
	gid = set_gid ? st.st_gid : gid;
	if (uid != fs->uid || gid != fs->gid) {
		error = sys_fchownat(work_fd, temp, uid, gid);
	}
	if (error || S_ISLNK(making->mode)) {
		/* As on a disk: not a member of the group is no failure. */
		return error == -EPERM ? 0 : error;
	}
	if (S_ISDIR(making->mode) && set_gid) {
		mode |= S_ISGID;
	}
	return sys_fchmodat(work_fd, temp, mode);
}

/* Moves the prepared file over the whiteout. */
static int replace_whiteout(const struct making *making, int dirfd,
			    const char *temp)
{
	int work_fd = making->parent->view->work_fd;
	int error;

	if (!S_ISDIR(making->mode)) {
		return sys_renameat2(work_fd, temp, dirfd, making->name, 0);
	}
	error = sys_renameat2(work_fd, temp, dirfd, making->name,
			      RENAME_EXCHANGE);
	return error ? error : sys_unlinkat(work_fd, temp, 0);
}

static int make_over_whiteout(struct making *making, int dirfd)
{
	struct view *view = making->parent->view;
	char temp[VIEW_TEMP_BYTES];
	int error;

	view_temp_name(view, temp);
	error = make_at(making, view->work_fd, temp);
	if (error) {
		return error;
	}
	error = set_owner(making, dirfd, view->work_fd, temp);
	error = error ? error : finish_dir(making, view->work_fd, temp);
	error = error ? error : replace_whiteout(making, dirfd, temp);
	if (error && sys_unlinkat(view->work_fd, temp,
				  S_ISDIR(making->mode) ? AT_REMOVEDIR : 0)) {
		return error; /* the next start empties the work folder */
	}
	return error;
}

static bool is_whiteout(const struct making *making)
{
	return S_ISCHR(making->mode) && making->rdev == 0;
}

/* A whiteout for a program's own layer (whiteout.h), put where there is
 * nothing or, with `flags` 0, a whiteout of ours. */
static int make_whiteout(const struct making *making, int dirfd,
			 unsigned int flags)
{
	struct view *view = making->parent->view;
	char temp[VIEW_TEMP_BYTES];
	AUTO_FD fd = -1;
	int error;

	view_temp_name(view, temp);
	fd = sys_openat(view->work_fd, temp, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0) {
		return fd;
	}
	error = whiteout_show(view->work_fd, temp);
	error = error ? error : set_owner(making, dirfd, view->work_fd, temp);
	error = error ? error
		      : sys_renameat2(view->work_fd, temp, dirfd, making->name,
				      flags);
	if (error && sys_unlinkat(view->work_fd, temp, 0)) {
		return error; /* the next start empties the work folder */
	}
	return error;
}

/* What is at `name` already: a whiteout to be replaced (1), nothing (0), or
 * -EEXIST, be it in the upper or, since the kernel looked, in the base. */
static int check_name(struct node *parent, int dirfd, const char *name)
{
	struct stat st;
	int lower_has = lookup_lower_has(parent, name);
	int error;

	if (lower_has <= 0) {
		return lower_has; /* what the upper has, creating will say */
	}
	error = sys_fstatat(dirfd, name, &st);
	if (!error) {
		return whiteout_is(&st) ? 1 : -EEXIST;
	}
	return error == -ENOENT ? -EEXIST : error;
}

static int make_in(struct making *making, int dirfd)
{
	struct stat st;
	int whiteout = check_name(making->parent, dirfd, making->name);
	int error = whiteout;

	if (!whiteout) {
		error = is_whiteout(making)
				? make_whiteout(making, dirfd, RENAME_NOREPLACE)
				: make_directly(making, dirfd);
	}
	/* A whiteout over nothing: the base has lost the name. */
	if (error == -EEXIST && !sys_fstatat(dirfd, making->name, &st) &&
	    whiteout_is(&st)) {
		whiteout = 1;
	}
	if (whiteout <= 0) {
		return error;
	}
	return is_whiteout(making) ? make_whiteout(making, dirfd, 0)
				   : make_over_whiteout(making, dirfd);
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
	if (is_whiteout(making)) {
		whiteout_show_stat(&found.st);
	}
	found.dev = found.st.st_dev;
	found.ino = found.st.st_ino;
	found.st.st_ino = fs_map_ino(parent->view->fs, found.dev, found.ino);
	return lookup_intern(parent, making->name, &found, ret_entry);
}

static int make_locked(struct making *making, struct entry *ret_entry)
{
	AUTO_FDREF *dir = NULL;
	int error =
		making->parent->removed
			? -ENOENT
			: view_dir_fd(making->parent, VIEW_SLOT_UPPER, &dir);

	error = error ? error : make_in(making, dir->fd);
	dirlist_changed(making->parent);
	return error ? error : intern_made(making, dir->fd, ret_entry);
}

static int make(struct fs *fs, struct making *making, struct entry *ret_entry)
{
	struct node *parent = making->parent;
	int error;

	if (fs_is_list_root(fs, parent)) {
		return -EPERM;
	}
	error = copyup_ensure(fs, parent, COPYUP_ALL);
	if (error) {
		return error;
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = make_locked(making, ret_entry);
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
	int error = make(fs, &making, ret_entry);

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

	error = make(fs, &making, ret_entry);
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

	return make(fs, &making, ret_entry);
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

	return make(fs, &making, ret_entry);
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
	scope = caller_enter(parent->view->fs, caller);
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
	found.dev = found.st.st_dev;
	found.ino = found.st.st_ino;
	found.st.st_ino = fs_map_ino(parent->view->fs, found.dev, found.ino);
	error = lookup_intern(parent, "", &found, ret_entry);
	if (error) {
		fdref_put(pinned);
		return error;
	}
	lock_take(&ret_entry->node->lock);
	ret_entry->node->removed = true;
	ret_entry->node->pinned = pinned;
	lock_drop(&ret_entry->node->lock);
	return 0;
}

int op_tmpfile(struct fs *fs, struct node *parent, mode_t mode,
	       const struct caller *caller, struct entry *ret_entry)
{
	AUTO_FD fd = -1;
	int error = fs_is_list_root(fs, parent)
			    ? -EPERM
			    : copyup_ensure(fs, parent, COPYUP_ALL);

	if (error) {
		return error;
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = tmpfile_locked(parent, mode, caller, &fd);
	error = error ? error : intern_nameless(parent, fd, ret_entry);
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
	return error ? error : sys_renameat2(work_fd, temp, dirfd, name, 0);
}

static int link_at(const struct place *place, struct node *parent,
		   const char *name)
{
	AUTO_FDREF *dir = NULL;
	struct stat st;
	int error = parent->removed
			    ? -ENOENT
			    : view_dir_fd(parent, VIEW_SLOT_UPPER, &dir);
	int whiteout = error ? error : check_name(parent, dir->fd, name);

	if (!whiteout) {
		error = link_place(place, dir->fd, name);
		whiteout = error;
	}
	if (whiteout == -EEXIST && !sys_fstatat(dir->fd, name, &st) &&
	    whiteout_is(&st)) {
		whiteout = 1;
	}
	return whiteout > 0 ? link_over_whiteout(place, parent, dir->fd, name)
			    : whiteout;
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

/* The tree lock is held exclusively, so names stand still. */
static int link_locked(struct node *node, struct node *parent, char **name)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);
	AUTO_PLACE place = {0};
	int error = place_of(node, &place);

	(void)held;
	error = error ? error : link_at(&place, parent, *name);
	error = error ? error : count_link(node);
	if (error) {
		return error;
	}
	/* The newest name is the one that will be there the longest: git and
	 * others link a finished file into place and unlink the first name. */
	node_move_nofail(&node->view->fs->nodes, node, parent, TAKE_PTR(*name));
	node->removed = false;
	fdref_put(node->pinned);
	node->pinned = NULL;
	return 0;
}

int op_link(struct fs *fs, struct node *node, struct node *parent,
	    const char *name, struct entry *ret_entry)
{
	AUTO_FREE char *copy = strdup(name);
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
	error = copyup_ensure(fs, node, COPYUP_ALL);
	error = error ? error : copyup_ensure(fs, parent, COPYUP_ALL);
	if (error) {
		return error;
	}
	rwlock_take_exclusive(&node->view->tree);
	error = link_locked(node, parent, &copy);
	dirlist_changed(parent);
	rwlock_drop(&node->view->tree);
	error = error ? error : op_getattr(fs, node, &ret_entry->st);
	if (!error) {
		ret_entry->node = node_get(node);
		ret_entry->stable = true;
	}
	return error;
}
