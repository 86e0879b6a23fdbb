#include "ops.h"

#include <fcntl.h>

#include "attr.h"
#include "copyup.h"
#include "create.h"
#include "file.h"
#include "path.h"
#include "record.h"

static void do_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *node = ops_node(req, ino);
	bool keep_cache = false;
	int error;

	if (!node) {
		return;
	}
	if (!server->ask_open) {
		/* The kernel asks no more, for the whole connection. */
		node_put(&server->fs.nodes, node);
		ops_reply(req, -ENOSYS);
		return;
	}
	error = op_open(&server->fs, node, info->flags, &caller, &keep_cache);
	if (error) {
		ops_reply(req, error);
	} else {
		info->keep_cache = keep_cache;
		/* On failure the kernel sends no RELEASE for it. */
		if (fuse_reply_open(req, info)) {
			op_release(node);
		}
	}
	node_put(&server->fs.nodes, node);
}

static void do_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *info)
{
	struct node *node = ops_node(req, ino);

	(void)info;
	if (!node) {
		return;
	}
	op_release(node);
	ops_put(req, node);
	ops_reply(req, 0);
}

/* Replies to a request that made a file and opened it. */
static void reply_created(fuse_req_t req, int error, struct entry *entry,
			  struct fuse_file_info *info)
{
	struct nodes *nodes = &ops_server(req)->fs.nodes;
	struct fuse_entry_param param;

	if (error) {
		ops_reply(req, error);
		return;
	}
	ops_fill_entry(req, entry, &param);
	node_add_lookup(nodes, entry->node);
	if (fuse_reply_create(req, &param, info)) {
		op_release(entry->node);
		node_forget(nodes, entry->node, 1);
	}
	node_put(nodes, entry->node);
}

/* The name appeared (in the base) since the kernel looked: without O_EXCL,
 * creating means opening. */
static int open_existing(fuse_req_t req, struct node *parent, const char *name,
			 struct fuse_file_info *info, struct entry *ret_entry)
{
	struct caller caller = ops_caller(req);
	struct fs *fs = &ops_server(req)->fs;
	bool keep_cache = false;
	int error;

	if (info->flags & O_EXCL) {
		return -EEXIST;
	}
	error = op_lookup(fs, parent, name, ret_entry, NULL);
	if (error) {
		return error;
	}
	error = op_open(fs, ret_entry->node, info->flags, &caller, &keep_cache);
	if (error) {
		node_put(&fs->nodes, ret_entry->node);
	}
	info->keep_cache = keep_cache;
	return error;
}

static void do_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		      mode_t mode, struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *dir = ops_node(req, parent);
	struct entry entry;
	int error;

	if (!dir) {
		return;
	}
	error = path_component_check(name);
	if (!error) {
		error = node_is_dir(dir) ? op_create(&server->fs, dir, name,
						     mode, &caller, &entry)
					 : -ENOTDIR;
	}
	info->keep_cache = 1;
	if (error == -EEXIST) {
		error = open_existing(req, dir, name, info, &entry);
	}
	reply_created(req, error, &entry, info);
	node_put(&server->fs.nodes, dir);
}

static void do_tmpfile(fuse_req_t req, fuse_ino_t parent, mode_t mode,
		       struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *dir = ops_node(req, parent);
	struct entry entry;
	int error;

	if (!dir) {
		return;
	}
	error = op_tmpfile(&server->fs, dir, mode, &caller, &entry);
	info->keep_cache = 1;
	reply_created(req, error, &entry, info);
	node_put(&server->fs.nodes, dir);
}

static void do_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *info)
{
	struct server *server = ops_server(req);
	struct node *node = ops_node(req, ino);
	AUTO_FREE char *data = NULL;
	ssize_t n;

	(void)info;
	if (!node) {
		return;
	}
	record_user(node, fuse_req_ctx(req)->pid);
	data = malloc(size);
	n = data ? op_read(node, data, size, off) : -ENOMEM;
	node_put(&server->fs.nodes, node);
	if (n < 0) {
		ops_reply(req, (int)n);
	} else {
		fuse_reply_buf(req, data, (size_t)n);
	}
}

static void do_write(fuse_req_t req, fuse_ino_t ino, const char *data,
		     size_t size, off_t off, struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *node = ops_node(req, ino);
	ssize_t n;

	if (!node) {
		return;
	}
	record_user(node, caller.pid);
	if (info->writepage) {
		/* Pages of a map: the kernel names no caller, and has cleared
		 * set-id bits when the page was made writable. */
		caller.uid = server->fs.uid;
		caller.gid = server->fs.gid;
	}
	n = op_write(&server->fs, node, data, size, off, &caller);
	node_put(&server->fs.nodes, node);
	if (n < 0) {
		ops_reply(req, (int)n);
	} else {
		fuse_reply_write(req, (size_t)n);
	}
}

static void do_fsync(fuse_req_t req, fuse_ino_t ino, int data_only,
		     struct fuse_file_info *info)
{
	struct node *node = ops_node(req, ino);
	int error;

	(void)info;
	if (!node) {
		return;
	}
	error = op_fsync(node, data_only);
	ops_put(req, node);
	ops_reply(req, error);
}

static void do_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off,
			 off_t size, struct fuse_file_info *info)
{
	struct caller caller = ops_caller(req);
	struct node *node = ops_node(req, ino);
	int error;

	(void)info;
	if (!node) {
		return;
	}
	error = op_fallocate(&ops_server(req)->fs, node, mode, off, size,
			     &caller);
	ops_put(req, node);
	ops_reply(req, error);
}

static void do_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *info)
{
	struct node *node = ops_node(req, ino);
	off_t result;

	(void)info;
	if (!node) {
		return;
	}
	result = op_lseek(node, off, whence);
	ops_put(req, node);
	if (result < 0) {
		ops_reply(req, (int)result);
	} else {
		fuse_reply_lseek(req, result);
	}
}

static void do_copy_file_range(fuse_req_t req, fuse_ino_t from_ino,
			       off_t from_off, struct fuse_file_info *from_info,
			       fuse_ino_t to_ino, off_t to_off,
			       struct fuse_file_info *to_info, size_t size,
			       int flags)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *from = ops_node(req, from_ino);
	struct node *to = from ? ops_node(req, to_ino) : NULL;
	ssize_t n;

	(void)from_info;
	(void)to_info;
	if (to) {
		n = flags ? -EINVAL
			  : op_copy_file_range(&server->fs, from, from_off, to,
					       to_off, size, &caller);
		if (n < 0) {
			ops_reply(req, (int)n);
		} else {
			fuse_reply_write(req, (size_t)n);
		}
	}
	node_put(&server->fs.nodes, from);
	node_put(&server->fs.nodes, to);
}

void ops_add_file(struct fuse_lowlevel_ops *ops)
{
	/* No flush: nothing is held back until close, and the kernel stops
	 * asking after the first ENOSYS. No locks: one mount has one kernel,
	 * which keeps them right by itself. */
	ops->open = do_open;
	ops->release = do_release;
	ops->create = do_create;
	ops->tmpfile = do_tmpfile;
	ops->read = do_read;
	ops->write = do_write;
	ops->fsync = do_fsync;
	ops->fallocate = do_fallocate;
	ops->lseek = do_lseek;
	ops->copy_file_range = do_copy_file_range;
}
