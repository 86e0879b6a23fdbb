#include "ops.h"

#include "create.h"
#include "masks.h"
#include "path.h"
#include "rename.h"
#include "unlink.h"

/* The node of a directory in which `name` is used; NULL: replied. The kernel
 * checks names, but the daemon does not depend on it. */
static struct node *named_parent(fuse_req_t req, fuse_ino_t parent,
				 const char *name)
{
	struct node *node;
	int error = path_component_check(name);

	if (error) {
		ops_reply(req, error);
		return NULL;
	}
	node = ops_node(req, parent);
	if (node && !node_is_dir(node)) {
		ops_put(req, node);
		ops_reply(req, -ENOTDIR);
		return NULL;
	}
	return node;
}

static void do_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *node = named_parent(req, parent, name);
	struct fuse_entry_param missing = {.ino = 0};
	struct entry entry;
	enum missing why;
	int error;

	if (!node) {
		return;
	}
	error = op_lookup(&ops_server(req)->fs, node, name, &entry, &why);
	if (error == -ENOENT && why == MISSING_MASKED) {
		struct caller caller = ops_caller(req);

		masks_record(node, name, &caller);
	}
	ops_put(req, node);
	if (error == -ENOENT && why != MISSING_MASKED) {
		/* Node 0: the kernel remembers that there is nothing. */
		missing.entry_timeout = ops_timeout(why == MISSING_STABLE);
		fuse_reply_entry(req, &missing);
	} else {
		ops_reply_entry(req, error, &entry);
	}
}

static void do_forget(fuse_req_t req, fuse_ino_t ino, uint64_t count)
{
	struct nodes *nodes = &ops_server(req)->fs.nodes;
	struct node *node = nodes_get(nodes, ino);

	if (node) {
		node_forget(nodes, node, count);
		node_put(nodes, node);
	}
	fuse_reply_none(req);
}

static void do_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	struct nodes *nodes = &ops_server(req)->fs.nodes;

	for (size_t i = 0; i < count; i++) {
		struct node *node = nodes_get(nodes, forgets[i].ino);

		if (node) {
			node_forget(nodes, node, forgets[i].nlookup);
			node_put(nodes, node);
		}
	}
	fuse_reply_none(req);
}

static void do_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t rdev)
{
	struct caller caller = ops_caller(req);
	struct node *node = named_parent(req, parent, name);
	struct entry entry;
	int error;

	if (!node) {
		return;
	}
	error = op_mknod(&ops_server(req)->fs, node, name, mode, rdev, &caller,
			 &entry);
	ops_put(req, node);
	ops_reply_entry(req, error, &entry);
}

static void do_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	struct caller caller = ops_caller(req);
	struct node *node = named_parent(req, parent, name);
	struct entry entry;
	int error;

	if (!node) {
		return;
	}
	error = op_mkdir(&ops_server(req)->fs, node, name, mode, &caller,
			 &entry);
	ops_put(req, node);
	ops_reply_entry(req, error, &entry);
}

static void do_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	struct caller caller = ops_caller(req);
	struct node *node = named_parent(req, parent, name);
	struct entry entry;
	int error;

	if (!node) {
		return;
	}
	error = op_symlink(&ops_server(req)->fs, node, name, target, &caller,
			   &entry);
	ops_put(req, node);
	ops_reply_entry(req, error, &entry);
}

static void do_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		    const char *name)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *dir = named_parent(req, parent, name);
	struct node *node = dir ? ops_node(req, ino) : NULL;
	struct entry entry;
	int error;

	if (node) {
		error = op_link(&server->fs, node, dir, name, &caller, &entry);
		ops_reply_entry(req, error, &entry);
	}
	/* A reply ends the request: only the server is still there. */
	node_put(&server->fs.nodes, node);
	node_put(&server->fs.nodes, dir);
}

static void do_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = ops_caller(req);
	struct node *node = named_parent(req, parent, name);
	int error;

	if (!node) {
		return;
	}
	error = op_unlink(&ops_server(req)->fs, node, name, &caller);
	ops_put(req, node);
	ops_reply(req, error);
}

static void do_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = ops_caller(req);
	struct node *node = named_parent(req, parent, name);
	int error;

	if (!node) {
		return;
	}
	error = op_rmdir(&ops_server(req)->fs, node, name, &caller);
	ops_put(req, node);
	ops_reply(req, error);
}

static void do_rename(fuse_req_t req, fuse_ino_t from_parent, const char *from,
		      fuse_ino_t to_parent, const char *to, unsigned int flags)
{
	struct caller caller = ops_caller(req);
	struct server *server = ops_server(req);
	struct node *from_dir = named_parent(req, from_parent, from);
	struct node *to_dir;
	int error;

	if (!from_dir) {
		return;
	}
	to_dir = named_parent(req, to_parent, to);
	if (to_dir) {
		error = op_rename(&server->fs, from_dir, from, to_dir, to,
				  flags, &caller);
		ops_reply(req, error);
	}
	node_put(&server->fs.nodes, from_dir);
	node_put(&server->fs.nodes, to_dir);
}

void ops_add_names(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = do_lookup;
	ops->forget = do_forget;
	ops->forget_multi = do_forget_multi;
	ops->mknod = do_mknod;
	ops->mkdir = do_mkdir;
	ops->symlink = do_symlink;
	ops->link = do_link;
	ops->unlink = do_unlink;
	ops->rmdir = do_rmdir;
	ops->rename = do_rename;
}
