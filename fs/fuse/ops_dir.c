#include "ops.h"

#include <fcntl.h>

#include "dirlist.h"
#include "sys.h"

static void do_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *info)
{
	struct server *server = ops_server(req);
	struct node *dir = ops_node(req, ino);
	uint64_t number;
	int error;

	if (!dir) {
		return;
	}
	error = handles_open(&server->dirs, &number);
	if (error) {
		ops_put(req, dir);
		ops_reply(req, error);
		return;
	}
	info->fh = number;
	info->cache_readdir = dirlist_is_stable(&server->fs, dir);
	info->keep_cache = info->cache_readdir;
	ops_put(req, dir);
	if (fuse_reply_open(req, info)) {
		handles_close(&server->dirs, number);
	}
}

static void do_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *info)
{
	(void)ino;
	handles_close(&ops_server(req)->dirs, info->fh);
	ops_reply(req, 0);
}

/* A reply to READDIR or READDIRPLUS that is being filled. */
struct listing {
	fuse_req_t req;
	struct node *dir;
	bool plus;
	char *data;
	size_t size;
	size_t used;
};

/* Adds one entry; true if it had room. A lookup is counted for each entry
 * with a node that goes to the kernel. */
static bool add_entry(struct listing *listing, const char *name,
		      struct entry *entry, off_t next)
{
	struct nodes *nodes = &ops_server(listing->req)->fs.nodes;
	char *at = listing->data + listing->used;
	size_t left = listing->size - listing->used;
	struct fuse_entry_param param = {.attr = entry->st};
	size_t need;

	if (entry->node) {
		ops_fill_entry(listing->req, entry, &param);
	}
	need = listing->plus ? fuse_add_direntry_plus(listing->req, at, left,
						      name, &param, next)
			     : fuse_add_direntry(listing->req, at, left, name,
						 &entry->st, next);
	if (need > left) {
		return false;
	}
	if (entry->node) {
		node_add_lookup(nodes, entry->node);
	}
	listing->used += need;
	return true;
}

/* What FUSE has for "not known". */
#define UNKNOWN_INO 0xffffffffU

/* Looks an entry up for the listing. 0, or -errno where it is to be left out.
 * One that can't be looked up is listed all the same, so that the others are
 * seen; asked for by itself it says what is wrong. */
static int look_up(const struct listing *listing, const char *name,
		   struct entry *ret_entry)
{
	int error = dirlist_stat(&ops_server(listing->req)->fs, listing->dir,
				 name, listing->plus, ret_entry);

	if (!error || error == -ENOENT || error == -ESTALE ||
	    error == -ENOMEM) {
		return error;
	}
	*ret_entry = (struct entry){.st.st_ino = UNKNOWN_INO};
	return 0;
}

/* Fills from the entry number `index` on. An error after the first entry
 * gives what there is; the next request meets it again. */
static int fill(struct listing *listing, const struct dirlist *list,
		size_t index)
{
	struct nodes *nodes = &ops_server(listing->req)->fs.nodes;

	for (; index < list->count; index++) {
		const char *name = dirlist_name(list, index);
		struct entry entry;
		int error = look_up(listing, name, &entry);
		bool added;

		if (error == -ENOENT || error == -ESTALE) {
			continue;
		}
		if (error) {
			return listing->used ? 0 : error;
		}
		added = add_entry(listing, name, &entry,
				  (off_t)list->entries[index].cookie);
		node_put(nodes, entry.node);
		if (!added) {
			break;
		}
	}
	return 0;
}

static int list_dir(struct listing *listing, struct dir_handle *handle,
		    off_t off)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&handle->lock);
	struct dirlist *list;
	int error;

	(void)held;
	if (off == 0 || !handle->list) {
		error = dirlist_current(&ops_server(listing->req)->fs,
					listing->dir, &list);
		if (error) {
			return error;
		}
		dirlist_put(handle->list);
		handle->list = list;
	}
	return fill(listing, handle->list,
		    dirlist_after(handle->list, (uint64_t)off));
}

static void reply_listing(struct listing *listing, int error)
{
	if (error) {
		ops_reply(listing->req, error);
	} else {
		fuse_reply_buf(listing->req, listing->data, listing->used);
	}
}

static void read_dir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		     const struct fuse_file_info *info, bool plus)
{
	struct server *server = ops_server(req);
	AUTO(handle_auto_put)
	struct dir_handle *handle = handles_get(&server->dirs, info->fh);
	AUTO_FREE char *data = malloc(size);
	struct listing listing = {
		.req = req, .plus = plus, .data = data, .size = size};
	int error = !handle ? -EBADF : !data ? -ENOMEM : off < 0 ? -EINVAL : 0;

	if (error) {
		ops_reply(req, error);
		return;
	}
	listing.dir = ops_node(req, ino);
	if (!listing.dir) {
		return;
	}
	error = list_dir(&listing, handle, off);
	reply_listing(&listing, error);
	node_put(&server->fs.nodes, listing.dir);
}

static void do_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *info)
{
	read_dir(req, ino, size, off, info, false);
}

static void do_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t off, struct fuse_file_info *info)
{
	read_dir(req, ino, size, off, info, true);
}

static int sync_dir(struct node *dir)
{
	AUTO_FDREF *ref = NULL;
	AUTO_FD fd = -1;
	int error;

	if (!dir->view || !node_in_upper(dir)) {
		return 0;
	}
	rwlock_take_shared(&dir->view->tree);
	error = view_dir_fd(dir, VIEW_SLOT_UPPER, &ref);
	rwlock_drop(&dir->view->tree);
	if (error) {
		return error;
	}
	fd = sys_openat(ref->fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? fd : sys_fsync(fd);
}

static void do_fsyncdir(fuse_req_t req, fuse_ino_t ino, int data_only,
			struct fuse_file_info *info)
{
	struct node *dir = ops_node(req, ino);
	int error;

	(void)data_only;
	(void)info;
	if (!dir) {
		return;
	}
	error = sync_dir(dir);
	ops_put(req, dir);
	ops_reply(req, error);
}

void ops_add_dir(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = do_opendir;
	ops->releasedir = do_releasedir;
	ops->readdir = do_readdir;
	ops->readdirplus = do_readdirplus;
	ops->fsyncdir = do_fsyncdir;
}
