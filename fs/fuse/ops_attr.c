#include "ops.h"

#include <limits.h>

#include "attr.h"

static void reply_attr(fuse_req_t req, int error, struct node *node,
		       struct stat *st)
{
	double timeout = ops_timeout(attr_is_stable(node));

	ops_show_stat(req, st);
	ops_put(req, node);
	if (error) {
		ops_reply(req, error);
	} else {
		fuse_reply_attr(req, st, timeout);
	}
}

static void do_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *info)
{
	struct node *node = ops_node(req, ino);
	struct stat st = {0};
	int error;

	(void)info;
	if (!node) {
		return;
	}
	error = op_getattr(&ops_server(req)->fs, node, &st);
	reply_attr(req, error, node, &st);
}

static struct timespec decode_time(int valid, int set, int now,
				   const struct timespec *given)
{
	struct timespec time = *given;

	if (valid & now) {
		time.tv_nsec = UTIME_NOW;
	} else if (!(valid & set)) {
		time.tv_nsec = UTIME_OMIT;
	}
	return time;
}

static struct attr_change decode_change(const struct ids *ids,
					const struct stat *st, int valid)
{
	struct attr_change change = {
		.mode = st->st_mode,
		.uid = ids_on_disk(&ids->users, st->st_uid),
		.gid = ids_on_disk(&ids->groups, st->st_gid),
		.size = st->st_size,
	};

	change.flags |= valid & FUSE_SET_ATTR_MODE ? ATTR_MODE : 0;
	change.flags |= valid & FUSE_SET_ATTR_UID ? ATTR_UID : 0;
	change.flags |= valid & FUSE_SET_ATTR_GID ? ATTR_GID : 0;
	change.flags |= valid & FUSE_SET_ATTR_SIZE ? ATTR_SIZE : 0;
	change.times[0] = decode_time(valid, FUSE_SET_ATTR_ATIME,
				      FUSE_SET_ATTR_ATIME_NOW, &st->st_atim);
	change.times[1] = decode_time(valid, FUSE_SET_ATTR_MTIME,
				      FUSE_SET_ATTR_MTIME_NOW, &st->st_mtim);
	if (change.times[0].tv_nsec != UTIME_OMIT ||
	    change.times[1].tv_nsec != UTIME_OMIT) {
		change.flags |= ATTR_TIMES;
	}
	return change;
}

static void do_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st,
		       int valid, struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct node *node = ops_node(req, ino);
	struct attr_change change =
		decode_change(&ops_server(req)->ids, st, valid);
	struct stat result = {0};
	int error;

	(void)info;
	if (!node) {
		return;
	}
	error = op_setattr(&ops_server(req)->fs, node, &change, &caller,
			   &result);
	reply_attr(req, error, node, &result);
}

static void do_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = ops_node(req, ino);
	char target[PATH_MAX + 1];
	ssize_t n;

	if (!node) {
		return;
	}
	n = op_readlink(node, target, sizeof(target));
	ops_put(req, node);
	if (n < 0 || n == sizeof(target)) {
		ops_reply(req, n < 0 ? (int)n : -ENAMETOOLONG);
		return;
	}
	target[n] = '\0';
	fuse_reply_readlink(req, target);
}

static void do_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = ops_node(req, ino);
	struct statvfs st;
	int error;

	if (!node) {
		return;
	}
	error = op_statfs(&ops_server(req)->fs, node, &st);
	ops_put(req, node);
	if (error) {
		ops_reply(req, error);
	} else {
		fuse_reply_statfs(req, &st);
	}
}

/* The answer to a question for a value or a list, or for its size. */
static void reply_value(fuse_req_t req, ssize_t n, const char *value,
			size_t size)
{
	if (n < 0) {
		ops_reply(req, (int)n);
	} else if (size == 0) {
		fuse_reply_xattr(req, (size_t)n);
	} else {
		fuse_reply_buf(req, value, (size_t)n);
	}
}

static void do_getxattr(fuse_req_t req, fuse_ino_t ino, const char *attr,
			size_t size)
{
	struct node *node = ops_node(req, ino);
	AUTO_FREE char *value = NULL;
	ssize_t n;

	if (!node) {
		return;
	}
	value = malloc(size ? size : 1);
	n = value ? op_getxattr(node, attr, value, size) : -ENOMEM;
	ops_put(req, node);
	reply_value(req, n, value, size);
}

static void do_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct node *node = ops_node(req, ino);
	AUTO_FREE char *list = NULL;
	ssize_t n;

	if (!node) {
		return;
	}
	list = malloc(size ? size : 1);
	n = list ? op_listxattr(node, list, size) : -ENOMEM;
	ops_put(req, node);
	reply_value(req, n, list, size);
}

static void do_setxattr(fuse_req_t req, fuse_ino_t ino, const char *attr,
			const char *value, size_t size, int flags)
{
	struct caller caller = ops_caller(req);
	struct node *node = ops_node(req, ino);
	int error;

	if (!node) {
		return;
	}
	error = op_setxattr(&ops_server(req)->fs, node, attr, value, size,
			    flags, &caller);
	ops_put(req, node);
	ops_reply(req, error);
}

static void do_removexattr(fuse_req_t req, fuse_ino_t ino, const char *attr)
{
	struct caller caller = ops_caller(req);
	struct node *node = ops_node(req, ino);
	int error;

	if (!node) {
		return;
	}
	error = op_removexattr(&ops_server(req)->fs, node, attr, &caller);
	ops_put(req, node);
	ops_reply(req, error);
}

void ops_add_attr(struct fuse_lowlevel_ops *ops)
{
	ops->getattr = do_getattr;
	ops->setattr = do_setattr;
	ops->readlink = do_readlink;
	ops->statfs = do_statfs;
	ops->getxattr = do_getxattr;
	ops->listxattr = do_listxattr;
	ops->setxattr = do_setxattr;
	ops->removexattr = do_removexattr;
}
