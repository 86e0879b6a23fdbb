#include "unlink.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "blocks.h"
#include "charge.h"
#include "copyup.h"
#include "dirlist.h"
#include "err.h"
#include "hiding.h"
#include "links.h"
#include "log.h"
#include "place.h"
#include "record.h"
#include "subdirs.h"
#include "sys.h"
#include "whiteout.h"

/* Where the data is that `found` describes. */
static int place_found(struct node *parent, const char *name,
		       const struct found *found, struct place *ret_place)
{
	unsigned int slot = found->has_upper_name
				    ? VIEW_SLOT_UPPER
				    : VIEW_SLOT_LOWER(found->lower_index);

	ret_place->name = name;
	if (found->in_upper && !found->has_upper_name) {
		ret_place->name = found->link_key;
		ret_place->dir = fdref_get(parent->view->links);
		return 0;
	}
	return view_dir_fd(parent, slot, &ret_place->dir);
}

/* Opens what will have no name soon, so that it can still be reached. */
static int pin_file_locked(struct node *node, struct node *parent,
			   const char *name, const struct found *found)
{
	AUTO_PLACE place = {0};
	int fd = place_found(parent, name, found, &place);

	fd = fd ? fd : place_open(&place, O_PATH);
	if (fd < 0) {
		return fd;
	}
	node->pinned = fdref_new(fd, false);
	return node->pinned ? 0 : -ENOMEM;
}

static int pin_dir_locked(struct node *node)
{
	AUTO_PLACE place = {0};
	int error = place_of(node, &place);

	if (!error) {
		node->pinned = fdref_get(place.dir);
	}
	return error;
}

/* A file with several links may be at another name; then nothing changes for
 * the node. */
static bool is_at(const struct node *node, const struct node *parent,
		  const char *name)
{
	return !node->removed && node->parent == parent &&
	       strcmp(node->name, name) == 0;
}

/* What is kept beside the upper goes before the file does. */
static int forget_origin(const struct view *view, const struct found *found)
{
	mode_t mode = found->st.st_mode;

	if (!view->has_origins || !found->has_upper_name || S_ISREG(mode) ||
	    S_ISDIR(mode) || found->st.st_nlink > 1) {
		return 0;
	}
	return links_forget_origin(view, found->ino);
}

int unlink_prepare(struct node *parent, const char *name,
		   const struct found *found, struct node **ret_node)
{
	struct nodes *nodes = &parent->view->fs->nodes;
	struct node *node;
	bool here;
	int error = forget_origin(parent->view, found);

	*ret_node = NULL;
	if (error) {
		return error;
	}
	node = lookup_known(parent, name, found);
	if (!node) {
		return 0;
	}
	lock_take(&node->lock);
	here = is_at(node, parent, name);
	if (*found->link_key && found->st.st_nlink > 1) {
		/* It lives on under names that may not be known yet. */
		node->name_gone |= here;
		here = false;
	} else if (*found->link_key) {
		here = true;
	}
	if (here) {
		error = node_is_dir(node)
				? pin_dir_locked(node)
				: pin_file_locked(node, parent, name, found);
	}
	lock_drop(&node->lock);
	if (error || !here) {
		node_put(nodes, node);
		return error;
	}
	*ret_node = node;
	return 0;
}

/* The name is gone by now; a count that can't be written is one too high. */
static void count_removal(const struct view *view, const struct found *found)
{
	int error = links_write_count(view, found->link_key,
				      found->st.st_nlink - 1);

	if (error) {
		log_warn("link count of '%s' not written: %s", found->link_key,
			 err_name(error));
	}
}

/* The file may live on in a node that had another of its names, which went
 * before. */
static void last_name_gone(struct view *view, const struct found *found)
{
	struct node_seed seed = {
		.view = view,
		.type = S_IFREG,
		.dev = found->dev,
		.ino = found->ino,
		.in_upper = true,
	};
	struct node *node = nodes_find(&view->fs->nodes, &seed);

	blocks_unlinked(view, node, found->ino);
	node_put(&view->fs->nodes, node);
}

void unlink_finish(struct view *view, struct node *node,
		   const struct found *found, bool removed)
{
	struct nodes *nodes = &view->fs->nodes;

	bool was_last = S_ISDIR(found->st.st_mode) || found->st.st_nlink <= 1;

	if (removed && *found->link_key) {
		count_removal(view, found);
	}
	if (!node) {
		if (removed && was_last && found->in_upper) {
			charge_gone(view, &found->st);
		}
		if (removed && was_last && found->partial_tag) {
			last_name_gone(view, found);
		}
		return;
	}
	lock_take(&node->lock);
	/* Not pinned any more: it was looked up by another name meanwhile, and
	 * is there now. */
	node->removed = removed && node->pinned;
	if (node->removed && was_last) {
		charge_unlinked_locked(node);
	}
	if (!removed) {
		fdref_put(node->pinned);
		node->pinned = NULL;
	}
	lock_drop(&node->lock);
	/* Without another link the number may be used again by the disk. */
	if (removed && was_last) {
		node_unkey(nodes, node);
	}
	if (removed && was_last && found->partial_tag) {
		blocks_unlinked(view, node, found->ino);
	}
	if (removed) {
		view_forget_dir_fds(node);
	}
	node_put(nodes, node);
}

/* Puts a whiteout over an upper file, in one step. */
static int replace_by_whiteout(struct view *view, int dirfd, const char *name)
{
	char temp[VIEW_TEMP_BYTES];
	int error;

	view_temp_name(view, temp);
	error = hiding_prepare(view, temp, dirfd);
	if (error) {
		return error;
	}
	error = sys_renameat2(view->work_fd, temp, dirfd, name, 0);
	if (error && sys_unlinkat(view->work_fd, temp, 0)) {
		return error; /* the next start empties the work folder */
	}
	charge_entries(view, error ? 0 : 1);
	return error;
}

/* A whiteout where the upper has nothing. */
static int add_whiteout(struct view *view, int dirfd, const char *name)
{
	int error = hiding_add(view, dirfd, name);

	charge_entries(view, error ? 0 : 1);
	return error;
}

/* Its entries have changed. */
static void settle_parent(struct node *parent)
{
	AUTO_FDREF *dir = NULL;

	if (!view_dir_fd(parent, VIEW_SLOT_UPPER, &dir)) {
		charge_settle_dir_locked(parent, dir->fd);
	}
}

static int remove_file(struct node *parent, const char *name,
		       const struct found *found)
{
	AUTO_FDREF *dir = NULL;
	int whiteout = lookup_lower_has(parent, name);
	int error = view_dir_fd(parent, VIEW_SLOT_UPPER, &dir);

	if (whiteout < 0 || error) {
		return whiteout < 0 ? whiteout : error;
	}
	if (!found->has_upper_name) {
		return add_whiteout(parent->view, dir->fd, name);
	}
	return whiteout ? replace_by_whiteout(parent->view, dir->fd, name)
			: sys_unlinkat(dir->fd, name, 0);
}

/* Removes from the upper, or hides, what was found. */
typedef int remove_fn(struct node *parent, const char *name,
		      const struct found *found);

/* Does so on the record. */
static int remove_recorded(remove_fn *act, enum journal_op op,
			   struct node *parent, const char *name,
			   const struct found *found,
			   const struct caller *caller)
{
	struct recording recording;
	struct node *node = NULL;
	int error = record_begin(&recording, &(struct record_change){
						     .op = op,
						     .caller = caller,
						     .parent = parent,
						     .name = name,
						     .before = &found->st,
						     .bytes = -1,
						     .room = JOURNAL_FREES,
					     });

	error = error ? error : unlink_prepare(parent, name, found, &node);
	if (!error) {
		error = act(parent, name, found);
		settle_parent(parent);
		unlink_finish(parent->view, node, found, !error);
	}
	return record_end(&recording, error);
}

/* -EAGAIN: the file's names are counted, which takes the tree lock
 * exclusively: a count is read and written in two steps. */
static int unlink_locked(struct node *parent, const char *name,
			 const struct caller *caller, bool exclusive)
{
	struct found found;
	int error = lookup_layers(parent, name, &found);

	if (error) {
		return error;
	}
	if (*found.link_key && !exclusive) {
		return -EAGAIN;
	}
	if (S_ISDIR(found.st.st_mode)) {
		found_release(&found);
		return -EISDIR;
	}
	error = remove_recorded(remove_file, JOURNAL_UNLINK, parent, name,
				&found, caller);
	found_release(&found);
	return error;
}

int op_unlink(struct fs *fs, struct node *parent, const char *name,
	      const struct caller *caller)
{
	int error;

	if (fs_is_list_root(fs, parent)) {
		return -EPERM;
	}
	error = copyup_ensure(fs, parent);
	if (error) {
		return error;
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	error = unlink_locked(parent, name, caller, false);
	dirlist_changed(parent);
	lock_drop(&parent->lock);
	rwlock_drop(&parent->view->tree);
	if (error == -EAGAIN) {
		rwlock_take_exclusive(&parent->view->tree);
		error = unlink_locked(parent, name, caller, true);
		dirlist_changed(parent);
		rwlock_drop(&parent->view->tree);
	}
	return error;
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the entries of a directory that has whiteouts only. */
static int remove_entries(struct view *view, int parent_fd, const char *name)
{
	struct dirent *entry;
	DIR *dir;
	int error = sys_opendirat(parent_fd, name, &dir);

	if (error) {
		return error;
	}
	for (;;) {
		error = sys_readdir(dir, &entry);
		if (error || !entry) {
			break;
		}
		if (is_dot(entry->d_name)) {
			continue;
		}
		error = sys_unlinkat(dirfd(dir), entry->d_name, 0);
		if (error) {
			break;
		}
		charge_entries(view, -1);
	}
	closedir(dir);
	return error;
}

int unlink_whiteouts(struct view *view, int dirfd, const char *name)
{
	int error = whiteout_set_opaque(dirfd, name);

	/* On a disk without attributes it can't hide anything, but what has
	 * nothing to hide it from may go. */
	return error && error != -EOPNOTSUPP
		       ? error
		       : remove_entries(view, dirfd, name);
}

/* Removes a directory in the work folder that holds whiteouts only. What
 * fails is left to the next start. */
static void clear_displaced(struct view *view, const char *temp)
{
	int work_fd = view->work_fd;

	if (sys_unlinkat(work_fd, temp, AT_REMOVEDIR) == -ENOTEMPTY &&
	    !remove_entries(view, work_fd, temp)) {
		(void)!sys_unlinkat(work_fd, temp, AT_REMOVEDIR);
	}
}

/* Swaps the directory with a whiteout in the work folder. */
static int exchange_for_whiteout(struct view *view, int dirfd, const char *name,
				 const char *temp)
{
	int error = hiding_prepare(view, temp, dirfd);

	if (error) {
		return error;
	}
	error = sys_renameat2(view->work_fd, temp, dirfd, name,
			      RENAME_EXCHANGE);
	if (error && sys_unlinkat(view->work_fd, temp, 0)) {
		return error;
	}
	charge_entries(view, error ? 0 : 1);
	return error;
}

int unlink_upper_dir(struct view *view, int dirfd, const char *name,
		     bool whiteout)
{
	char temp[VIEW_TEMP_BYTES];
	int error;

	view_temp_name(view, temp);
	if (whiteout) {
		error = exchange_for_whiteout(view, dirfd, name, temp);
	} else {
		error = sys_unlinkat(dirfd, name, AT_REMOVEDIR);
		if (error != -ENOTEMPTY) {
			return error;
		}
		error = sys_renameat2(dirfd, name, view->work_fd, temp, 0);
	}
	if (!error) {
		clear_displaced(view, temp);
	}
	return error;
}

static int remove_dir(struct node *parent, const char *name,
		      const struct found *found)
{
	AUTO_FDREF *dir = NULL;
	int whiteout = lookup_lower_has(parent, name);
	int error = view_dir_fd(parent, VIEW_SLOT_UPPER, &dir);

	if (whiteout < 0 || error) {
		return whiteout < 0 ? whiteout : error;
	}
	return found->in_upper
		       ? unlink_upper_dir(parent->view, dir->fd, name, whiteout)
		       : add_whiteout(parent->view, dir->fd, name);
}

/* The tree lock is held exclusively. */
static int rmdir_known(struct node *parent, const char *name,
		       const struct found *found, struct node *dir,
		       const struct caller *caller)
{
	int empty = dirlist_is_empty(dir);

	if (empty <= 0) {
		return empty ? empty : -ENOTEMPTY;
	}
	return remove_recorded(remove_dir, JOURNAL_RMDIR, parent, name, found,
			       caller);
}

/* *ret_entry has a node if one was found, also on failure. */
static int rmdir_locked(struct node *parent, const char *name,
			const struct caller *caller, struct entry *ret_entry)
{
	struct found found;
	int error = lookup_layers(parent, name, &found);

	if (error) {
		return error;
	}
	if (!S_ISDIR(found.st.st_mode)) {
		return -ENOTDIR;
	}
	error = lookup_intern(parent, name, &found, ret_entry);
	if (!error) {
		error = rmdir_known(parent, name, &found, ret_entry->node,
				    caller);
	}
	found_release(&found);
	return error;
}

int op_rmdir(struct fs *fs, struct node *parent, const char *name,
	     const struct caller *caller)
{
	struct entry entry = {0};
	int error;

	if (fs_is_list_root(fs, parent)) {
		return -EPERM;
	}
	error = copyup_ensure(fs, parent);
	if (error) {
		return error;
	}
	rwlock_take_exclusive(&parent->view->tree);
	error = rmdir_locked(parent, name, caller, &entry);
	dirlist_changed(parent);
	if (!error) {
		subdirs_changed(parent, -1);
	}
	rwlock_drop(&parent->view->tree);
	if (entry.node) {
		lookup_finish(&entry);
		node_put(&fs->nodes, entry.node);
	}
	return error;
}
