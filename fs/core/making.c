#include "making.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>

#include "charge.h"
#include "hiding.h"
#include "lookup.h"
#include "sys.h"
#include "whiteout.h"

#define DEFAULT_ACL_ATTR "system.posix_acl_default"

static int make_whiteout(int dirfd, const char *name, mode_t permissions)
{
	AUTO_FD fd = sys_openat(dirfd, name, O_WRONLY | O_CREAT | O_EXCL,
				permissions);

	return fd < 0 ? fd : whiteout_show(dirfd, name);
}

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
		return making_is_whiteout(making)
			       ? make_whiteout(dirfd, name, permissions)
			       : sys_mknodat(dirfd, name, making->mode,
					     making->rdev);
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

	scope = caller_enter_creating(making->parent->view->fs, making->caller);
	error = make_at(making, dirfd, making->name);
	caller_leave(&scope);
	if (error) {
		return error;
	}
	error = finish_dir(making, dirfd, making->name);
	if (error && S_ISDIR(making->mode)) {
		/* It must not be there if it can't hide the base's. */
		(void)!sys_unlinkat(dirfd, making->name, AT_REMOVEDIR);
	}
	return error;
}

/* The folder in which an entry is prepared, and its name there. */
struct workshop {
	int fd; /* owned if it is a folder of its own, else the work folder */
	bool own;
	char folder[VIEW_TEMP_BYTES]; /* in the work folder */
	const char *name;
	char temp[VIEW_TEMP_BYTES];
};

static void workshop_release(const struct view *view, struct workshop *shop)
{
	if (shop->own) {
		auto_close_fd(&shop->fd);
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(view->work_fd, shop->folder, AT_REMOVEDIR);
	}
}

/* A folder that has the default ACL of the new entry's parent, so that the
 * disk applies it as it would there. */
static int open_own(struct view *view, struct workshop *shop, const void *acl,
		    size_t size)
{
	int error;

	view_temp_name(view, shop->folder);
	error = sys_mkdirat(view->work_fd, shop->folder, 0700);
	if (error) {
		return error;
	}
	shop->own = true;
	shop->name = "entry";
	error = sys_setxattrat(view->work_fd, shop->folder, DEFAULT_ACL_ATTR,
			       acl, size, 0);
	shop->fd = error ? -1
			 : sys_openat(view->work_fd, shop->folder,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (shop->fd >= 0) {
		return 0;
	}
	error = error ? error : shop->fd;
	workshop_release(view, shop);
	return error;
}

static int workshop_open(struct view *view, int parent_fd,
			 struct workshop *shop)
{
	char acl[XATTR_SIZE_MAX];
	ssize_t n = sys_getxattrat(parent_fd, "", DEFAULT_ACL_ATTR, acl,
				   sizeof(acl));

	*shop = (struct workshop){.fd = view->work_fd, .name = shop->temp};
	view_temp_name(view, shop->temp);
	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	return n < 0 ? (int)n : open_own(view, shop, acl, (size_t)n);
}

/* Owner and group as the parent's rules have them for a new entry. Chown
 * clears set-id bits, which are put back; the rest of the mode is as made. */
static int set_owner(const struct making *making, int parent_fd,
		     const struct workshop *shop)
{
	const struct fs *fs = making->parent->view->fs;
	gid_t gid = fs->switch_ids ? making->caller->gid : fs->gid;
	uid_t uid = fs->switch_ids ? making->caller->uid : fs->uid;
	struct stat parent;
	struct stat st;
	int error = sys_fstat(parent_fd, &parent);

	error = error ? error : sys_fstatat(shop->fd, shop->name, &st);
	if (error) {
		return error;
	}
	if (parent.st_mode & S_ISGID) {
		gid = parent.st_gid;
		st.st_mode |= S_ISDIR(st.st_mode) ? S_ISGID : 0;
	}
	error = sys_fchownat(shop->fd, shop->name, uid, gid);
	if (error == -EPERM) {
		/* As on a disk: not a member of the group is no failure. */
		error = 0;
	}
	return error || S_ISLNK(st.st_mode)
		       ? error
		       : sys_fchmodat(shop->fd, shop->name, st.st_mode & 07777);
}

static int make_in_workshop(struct making *making, struct workshop *shop)
{
	struct caller_scope scope;
	int error;

	/* As the daemon, whose folder it is, but with the caller's umask. */
	scope = caller_enter_umask(making->caller);
	error = make_at(making, shop->fd, shop->name);
	caller_leave(&scope);
	return error;
}

/* Puts the prepared entry in its place: over nothing, or over a whiteout. */
static int put_in_place(const struct making *making, int dirfd,
			const struct workshop *shop, bool over_whiteout)
{
	int error;

	if (!over_whiteout) {
		return sys_renameat2(shop->fd, shop->name, dirfd, making->name,
				     RENAME_NOREPLACE);
	}
	if (!S_ISDIR(making->mode)) {
		return sys_renameat2(shop->fd, shop->name, dirfd, making->name,
				     0);
	}
	error = sys_renameat2(shop->fd, shop->name, dirfd, making->name,
			      RENAME_EXCHANGE);
	return error ? error : sys_unlinkat(shop->fd, shop->name, 0);
}

static int make_prepared(struct making *making, int dirfd, bool over_whiteout)
{
	struct view *view = making->parent->view;
	struct workshop shop;
	int error = workshop_open(view, dirfd, &shop);

	if (error) {
		return error;
	}
	error = make_in_workshop(making, &shop);
	error = error ? error : set_owner(making, dirfd, &shop);
	error = error ? error : finish_dir(making, shop.fd, shop.name);
	error = error ? error
		      : put_in_place(making, dirfd, &shop, over_whiteout);
	if (error) {
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(shop.fd, shop.name,
				    S_ISDIR(making->mode) ? AT_REMOVEDIR : 0);
	}
	workshop_release(view, &shop);
	return error;
}

bool making_is_whiteout(const struct making *making)
{
	return S_ISCHR(making->mode) && making->rdev == 0;
}

int making_check_name(struct node *parent, int dirfd, const char *name)
{
	struct stat st;
	int lower_has = lookup_lower_has(parent, name);
	int error;

	if (lower_has <= 0) {
		return lower_has;
	}
	error = making_has_whiteout(parent->view, dirfd, name);
	if (error >= 0) {
		return error ? 1 : -EEXIST;
	}
	if (error == -ENOENT && parent->view->has_foreign_marks &&
	    !whiteout_stat(dirfd, name, true, &st)) {
		return 0; /* hidden by a mark beside it, which does no harm */
	}
	return error == -ENOENT ? -EEXIST : error;
}

int making_has_whiteout(const struct view *view, int dirfd, const char *name)
{
	struct stat st;
	int error = sys_fstatat(dirfd, name, &st);

	if (!error && view->has_foreign_marks) {
		error = whiteout_stat(dirfd, name, true, &st);
	}
	return error ? error : hiding_is(view, dirfd, name, &st);
}

static int make_new(struct making *making, int dirfd)
{
	int error = making_is_whiteout(making) ? -EACCES
					       : make_directly(making, dirfd);

	/* The caller may write here by a group that the daemon isn't told of:
	 * the kernel has checked that. */
	return error == -EACCES ? make_prepared(making, dirfd, false) : error;
}

int making_run(struct making *making, int dirfd)
{
	int whiteout = making_check_name(making->parent, dirfd, making->name);
	int error = whiteout ? whiteout : make_new(making, dirfd);

	if (!whiteout && error == -EEXIST) {
		/* A whiteout over nothing: the base has lost the name. */
		whiteout = making_has_whiteout(making->parent->view, dirfd,
					       making->name);
		error = whiteout < 0 ? whiteout : -EEXIST;
	}
	if (whiteout > 0) {
		error = make_prepared(making, dirfd, true);
		charge_entries(making->parent->view, error ? 0 : -1);
	}
	return error;
}
