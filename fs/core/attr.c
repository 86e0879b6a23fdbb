#include "attr.h"

#include <string.h>
#include <sys/xattr.h>

#include "blocks.h"
#include "charge.h"
#include "copyup.h"
#include "elsewhere.h"
#include "file.h"
#include "links.h"
#include "place.h"
#include "record.h"
#include "subdirs.h"
#include "sys.h"
#include "watch.h"
#include "whiteout.h"
#include "xattr.h"

/* Takes the locks that a node's place needs. */
static void lock_place(struct node *node)
{
	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
}

static void unlock_place(struct node *node)
{
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
}

/* On the disk whose space the view takes. */
static int data_fd_of(const struct view *view)
{
	return view_is_writable(view) ? view->work_fd : view->lowers[0].root_fd;
}

static int stat_list_root(struct fs *fs, struct stat *ret_st)
{
	int error = sys_fstat(data_fd_of(fs->views[0]), ret_st);

	if (error) {
		return error;
	}
	ret_st->st_mode = S_IFDIR | 0555;
	ret_st->st_ino = 1;
	ret_st->st_nlink = 2 + fs->view_count;
	ret_st->st_size = 0;
	ret_st->st_blocks = 0;
	return 0;
}

static int getattr_locked(struct node *node, struct stat *ret_st)
{
	AUTO_PLACE place;
	struct stat st;
	int error = place_of(node, &place);

	error = error ? error : sys_fstatat(place.dir->fd, place.name, &st);
	if (error) {
		return error;
	}
	if (node_in_upper(node)) {
		charge_settle_locked(node, &st);
	}
	if (S_ISCHR(node->type) && S_ISREG(st.st_mode)) {
		whiteout_show_stat(&st);
	}
	if ((st.st_mode & S_IFMT) != node->type) {
		/* The base was changed: the name is another file by now. */
		return -ESTALE;
	}
	if (node->link_key && !node->removed) {
		error = links_read_count(node->view, node->link_key,
					 &st.st_nlink);
		if (error < 0) {
			return error;
		}
	}
	st.st_ino = node->ino;
	blocks_show_stat(node, &st);
	if (node->data_at && !node_in_upper(node)) {
		st.st_blocks = node->data_at->blocks;
	}
	if (node_is_dir(node)) {
		st.st_nlink = node->removed              ? 0
			      : subdirs_are_merged(node) ? subdirs_links(node)
							 : st.st_nlink;
	} else if (node->removed && !node_in_upper(node) && st.st_nlink) {
		st.st_nlink--;
	}
	*ret_st = st;
	return 0;
}

int op_getattr(struct fs *fs, struct node *node, struct stat *ret_st)
{
	int error;

	if (fs_is_list_root(fs, node)) {
		return stat_list_root(fs, ret_st);
	}
	lock_place(node);
	error = getattr_locked(node, ret_st);
	unlock_place(node);
	if (!error && S_ISREG(node->type) && file_saw_change(node, ret_st)) {
		changes_report(&fs->changes, node->id);
	}
	/* Asked by number, there is no name to be missing: the kernel looks
	 * the path up again. */
	return error == -ENOENT ? -ESTALE : error;
}

bool attr_is_stable(struct node *node)
{
	bool stable;

	if (!node->view || node_in_upper(node)) {
		return true;
	}
	/* A directory's times change with its entries. */
	if (node_is_dir(node)) {
		return watch_is_complete(node);
	}
	lock_take(&node->lock);
	/* Another name of the file may be in a folder that nobody watches. */
	stable = !node->link_key && watch_is_complete(node->parent);
	lock_drop(&node->lock);
	return stable;
}

static int change_owner(const struct place *place,
			const struct attr_change *change)
{
	uid_t uid = change->flags & ATTR_UID ? change->uid : (uid_t)-1;
	gid_t gid = change->flags & ATTR_GID ? change->gid : (gid_t)-1;

	return sys_fchownat(place->dir->fd, place->name, uid, gid);
}

static int change_at(struct node *node, const struct attr_change *change)
{
	AUTO_PLACE place;
	int error = place_of(node, &place);

	if (!error && change->flags & (ATTR_UID | ATTR_GID)) {
		error = change_owner(&place, change);
	}
	if (!error && change->flags & ATTR_MODE) {
		error = S_ISLNK(node->type)
				? -EOPNOTSUPP
				: sys_fchmodat(place.dir->fd, place.name,
					       change->mode & 07777);
	}
	if (!error && change->flags & ATTR_TIMES) {
		error = sys_utimensat(place.dir->fd, place.name, change->times);
	}
	return error;
}

/* One record for what comes in one request: the kernel sends what one system
 * call changes, and of that the first is what the call was made for. */
static enum journal_op op_of(const struct attr_change *change)
{
	if (change->flags & (ATTR_UID | ATTR_GID)) {
		return JOURNAL_CHOWN;
	}
	return change->flags & ATTR_MODE ? JOURNAL_CHMOD : JOURNAL_UTIMENS;
}

/* What is left but the size, on the record; and how the node is then. */
static int change_locked(struct node *node, const struct attr_change *change,
			 const struct caller *caller, struct stat *ret_st)
{
	struct recording recording;
	int error;

	if (!(change->flags & ~(unsigned int)ATTR_SIZE)) {
		return getattr_locked(node, ret_st);
	}
	error = record_begin(&recording, &(struct record_change){
						 .op = op_of(change),
						 .caller = caller,
						 .node = node,
						 .bytes = -1,
					 });
	error = error ? error : change_at(node, change);
	error = error ? error : getattr_locked(node, ret_st);
	if (!error) {
		record_after(&recording, ret_st);
	}
	return record_end(&recording, error);
}

int op_setattr(struct fs *fs, struct node *node,
	       const struct attr_change *change, const struct caller *caller,
	       struct stat *ret_st)
{
	int error;

	if (fs_is_list_root(fs, node)) {
		return -EPERM;
	}
	error = change->flags & ATTR_SIZE
			? file_truncate(fs, node, change->size, caller)
			: copyup_ensure(fs, node);
	if (error) {
		return error;
	}
	lock_place(node);
	error = change_locked(node, change, caller, ret_st);
	unlock_place(node);
	return error;
}

int op_statfs(struct fs *fs, struct node *node, struct statvfs *ret_st)
{
	const struct view *view = node->view ? node->view : fs->views[0];
	struct statvfs st;
	int error = sys_fstatvfs(data_fd_of(view), &st);

	if (!error) {
		quota_show(&fs->quota, &st);
		*ret_st = st;
	}
	return error;
}

#define ACL_PREFIX "system.posix_acl_"

/* ACLs of a view that is to have none are as on a disk without. */
static bool is_unwanted_acl(const struct node *node, const char *attr)
{
	return node->view && node->view->no_acl &&
	       strncmp(attr, ACL_PREFIX, strlen(ACL_PREFIX)) == 0;
}

ssize_t op_getxattr(struct node *node, const char *attr, void *value,
		    size_t size)
{
	char disk_name[XATTR_NAME_BYTES];
	AUTO_PLACE place = {0};
	ssize_t n = xattr_to_disk(attr, disk_name);

	if (n || !node->view) {
		return n ? n : -ENODATA;
	}
	if (is_unwanted_acl(node, attr)) {
		return -EOPNOTSUPP;
	}
	lock_place(node);
	n = place_of(node, &place);
	if (!n) {
		n = sys_getxattrat(place.dir->fd, place.name, disk_name, value,
				   size);
	}
	unlock_place(node);
	return n;
}

/* The whole list as on disk, filtered; *ret_list is the caller's to free. */
static ssize_t list_filtered(const struct place *place, char **ret_list)
{
	for (;;) {
		ssize_t size =
			sys_listxattrat(place->dir->fd, place->name, NULL, 0);
		AUTO_FREE char *list = NULL;
		ssize_t n;

		if (size <= 0) {
			return size;
		}
		list = malloc((size_t)size);
		if (!list) {
			return -ENOMEM;
		}
		n = sys_listxattrat(place->dir->fd, place->name, list,
				    (size_t)size);
		if (n == -ERANGE) {
			continue; /* one was added in between */
		}
		if (n > 0) {
			n = (ssize_t)xattr_filter_list(list, (size_t)n);
			*ret_list = TAKE_PTR(list);
		}
		return n;
	}
}

/* Takes the names of ACLs out, in place. Returns the new size. */
static ssize_t leave_out_acls(const struct node *node, char *list, ssize_t size)
{
	ssize_t kept = 0;

	for (ssize_t at = 0; at < size;) {
		size_t len = strlen(list + at) + 1;

		if (!is_unwanted_acl(node, list + at)) {
			memmove(list + kept, list + at, len);
			kept += (ssize_t)len;
		}
		at += (ssize_t)len;
	}
	return kept;
}

ssize_t op_listxattr(struct node *node, char *list, size_t size)
{
	AUTO_PLACE place = {0};
	AUTO_FREE char *filtered = NULL;
	ssize_t n;

	if (!node->view) {
		return 0;
	}
	lock_place(node);
	n = place_of(node, &place);
	n = n ? n : list_filtered(&place, &filtered);
	unlock_place(node);
	n = n > 0 ? leave_out_acls(node, filtered, n) : n;
	if (n <= 0 || size == 0) {
		return n;
	}
	if ((size_t)n > size) {
		return -ERANGE;
	}
	memcpy(list, filtered, (size_t)n);
	return n;
}

/* An attribute may take a block. */
static void settle_at_locked(struct node *node, const struct place *place)
{
	struct stat st;

	if (quota_counts(&node->view->fs->quota) &&
	    !sys_fstatat(place->dir->fd, place->name, &st)) {
		charge_settle_locked(node, &st);
	}
}

static int begin_attr(struct recording *recording, enum journal_op op,
		      struct node *node, const char *attr,
		      const struct caller *caller)
{
	return record_begin(recording, &(struct record_change){
					       .op = op,
					       .caller = caller,
					       .node = node,
					       .name2 = attr,
					       .bytes = -1,
				       });
}

int op_setxattr(struct fs *fs, struct node *node, const char *attr,
		const void *value, size_t size, int flags,
		const struct caller *caller)
{
	char disk_name[XATTR_NAME_BYTES];
	AUTO_CLAIM claim = CLAIM_INIT;
	struct recording recording;
	AUTO_PLACE place = {0};
	int error = xattr_to_disk(attr, disk_name);

	if (error || !node->view) {
		return error ? error : -EPERM;
	}
	if (is_unwanted_acl(node, attr)) {
		return -EOPNOTSUPP;
	}
	error = claim_take(&claim, &fs->quota, QUOTA_ENTRY_BYTES, 0);
	error = error ? error : copyup_ensure(fs, node);
	if (error) {
		return error;
	}
	lock_place(node);
	error = begin_attr(&recording, JOURNAL_SETXATTR, node, attr, caller);
	error = error ? error : place_of(node, &place);
	if (!error) {
		error = sys_setxattrat(place.dir->fd, place.name, disk_name,
				       value, size, flags);
		settle_at_locked(node, &place);
	}
	error = record_end(&recording, error);
	unlock_place(node);
	return error;
}

int op_removexattr(struct fs *fs, struct node *node, const char *attr,
		   const struct caller *caller)
{
	char disk_name[XATTR_NAME_BYTES];
	struct recording recording;
	AUTO_PLACE place = {0};
	ssize_t n = op_getxattr(node, attr, NULL, 0);
	int error;

	/* What is not there needs no copy-up. */
	if (n < 0) {
		return (int)n;
	}
	error = xattr_to_disk(attr, disk_name);
	error = error ? error : copyup_ensure(fs, node);
	if (error) {
		return error;
	}
	lock_place(node);
	error = begin_attr(&recording, JOURNAL_REMOVEXATTR, node, attr, caller);
	error = error ? error : place_of(node, &place);
	if (!error) {
		error = sys_removexattrat(place.dir->fd, place.name, disk_name);
		settle_at_locked(node, &place);
	}
	error = record_end(&recording, error);
	unlock_place(node);
	return error;
}

ssize_t op_readlink(struct node *node, char *target, size_t size)
{
	AUTO_PLACE place = {0};
	ssize_t n;

	if (!node->view) {
		return -EINVAL;
	}
	lock_place(node);
	n = place_of(node, &place);
	if (!n) {
		n = sys_readlinkat(place.dir->fd, place.name, target, size);
	}
	unlock_place(node);
	return n;
}
