#include "lookup.h"

#include <string.h>

#include "attr.h"
#include "blocks.h"
#include "charge.h"
#include "elsewhere.h"
#include "file.h"
#include "hiding.h"
#include "log.h"
#include "masks.h"
#include "merge.h"
#include "origin.h"
#include "redirect.h"
#include "subdirs.h"
#include "sys.h"
#include "watch.h"
#include "whiteout.h"

void found_release(struct found *found)
{
	lowers_free(found->lowers);
	found->lowers = NULL;
	free(found->data_at);
	found->data_at = NULL;
}

/* stat of `name` in one slot of `parent`; -ENOENT also where the directory is
 * not there. */
static int stat_in_slot(struct node *parent, unsigned int slot,
			const char *name, struct stat *st,
			struct fdref **ret_dir)
{
	int error = view_dir_fd(parent, slot, ret_dir);

	return error ? error
		     : whiteout_stat((*ret_dir)->fd, name,
				     parent->view->has_foreign_marks, st);
}

static unsigned int lower_count(const struct node *dir)
{
	return dir->lowers ? dir->lowers->count : 0;
}

/* Whether a directory in the parent's lower `index` says anything about layers
 * further down: a redirect leads to all of them. */
static bool is_lowest(const struct node *parent, unsigned int index)
{
	const struct view *view = parent->view;

	return index + 1 == lower_count(parent) &&
	       (!view->has_foreign_marks ||
		parent->lowers->at[index].layer + 1 == view->lower_count);
}

/* Where to go on below a directory of the lower `index`. 1: with *name, in the
 * next; 0: nowhere. `renamed` keeps what *name then points to. */
static int go_below(struct node *parent, unsigned int index, int dirfd,
		    const char **name, char **renamed, struct lowers **lowers,
		    struct stat *ret_st)
{
	const struct view *view = parent->view;
	AUTO_FREE char *target = NULL;
	int result =
		whiteout_hides_below(dirfd, *name, view->has_foreign_marks);

	if (result) {
		return result < 0 ? result : 0;
	}
	if (!view->has_foreign_marks) {
		return 1;
	}
	result = redirect_read(dirfd, *name, true, &target);
	if (result == REDIRECT_PATH) {
		return merge_resolve(view, parent->lowers->at[index].layer + 1,
				     target, lowers, ret_st);
	}
	if (result == REDIRECT_NAME) {
		free(*renamed);
		*name = *renamed = TAKE_PTR(target);
	}
	return result < 0 ? result : 1;
}

/* Goes down the lowers from `index` and collects the directories that merge
 * under `name`. *ret_st is that of the topmost. */
static int collect_lowers(struct node *parent, unsigned int index,
			  const char *name, struct lowers **lowers,
			  struct stat *ret_st)
{
	AUTO_FREE char *renamed = NULL;
	int more = 1;

	for (; index < lower_count(parent) && more > 0; index++) {
		AUTO_FDREF *dir = NULL;
		struct stat st;
		int error = stat_in_slot(parent, VIEW_SLOT_LOWER(index), name,
					 &st, &dir);

		if (error == -ENOENT) {
			continue;
		}
		if (error) {
			return error;
		}
		if (!S_ISDIR(st.st_mode)) {
			return 0;
		}
		if (!*lowers) {
			*ret_st = st;
			error = numbers_tell_apart(&parent->view->fs->numbers,
						   dir->fd, name, ret_st);
		}
		error = error ? error
			      : merge_add(lowers, parent->view,
					  &parent->lowers->at[index], name,
					  &st);
		if (error || is_lowest(parent, index)) {
			return error;
		}
		more = go_below(parent, index, dir->fd, &name, &renamed, lowers,
				ret_st);
	}
	return more < 0 ? more : 0;
}

/* The same as the lowers alone show them under `name`. */
static int collect_shown(struct node *parent, unsigned int index,
			 const char *name, struct lowers **lowers,
			 struct stat *ret_st)
{
	int error = collect_lowers(parent, index, name, lowers, ret_st);

	return error ? error
		     : merge_note_shown(parent->view, *lowers, parent, name);
}

/* Follows the redirect of an upper directory. Opaque wins: it was renamed, and
 * then emptied. */
static int follow_redirect(struct node *parent, const char *name, int dirfd,
			   int kind, const char *path, struct lowers **lowers,
			   struct stat *ret_st)
{
	int error = whiteout_is_opaque(dirfd, name);

	if (error) {
		return error < 0 ? error : 0;
	}
	if (kind == REDIRECT_NAME) {
		return collect_shown(parent, 0, path, lowers, ret_st);
	}
	error = merge_resolve(parent->view, 0, path, lowers, ret_st);
	return error ? error
		     : merge_note_shown(parent->view, *lowers, NULL, path);
}

/* What an upper directory merges with: where its redirect points, else what
 * has its name, unless it is opaque. */
static int find_lowers(struct node *parent, const char *name, int dirfd,
		       struct lowers **lowers, struct stat *ret_st)
{
	bool foreign = parent->view->has_foreign_marks;
	AUTO_FREE char *path = NULL;
	int found = parent->view->lower_count
			    ? redirect_read(dirfd, name, foreign, &path)
			    : 0;

	if (found < 0) {
		return found;
	}
	if (found) {
		return follow_redirect(parent, name, dirfd, found, path, lowers,
				       ret_st);
	}
	found = collect_shown(parent, 0, name, lowers, ret_st);
	if (found || !*lowers) {
		return found;
	}
	found = whiteout_hides_below(dirfd, name, foreign);
	if (found) {
		lowers_free(*lowers);
		*lowers = NULL;
	}
	return found < 0 ? found : 0;
}

/* Completes a directory found in the upper, whose descriptor is `dirfd`. */
static int find_upper_dir(struct node *parent, const char *name, int dirfd,
			  struct found *found)
{
	struct stat base;
	int error = find_lowers(parent, name, dirfd, &found->lowers, &base);

	if (error) {
		return error;
	}
	if (!found->lowers) {
		return numbers_tell_apart(&parent->view->fs->numbers, dirfd,
					  name, &found->st);
	}
	/* The number is the base's for life. */
	found->st.st_dev = base.st_dev;
	found->st.st_ino = base.st_ino;
	return 0;
}

/* A copied-up file has the base's number, or what it had of its own. */
static void keep_number(const struct view *view, const struct origin *origin,
			struct stat *st)
{
	numbers_take(&view->fs->numbers, origin->dev, origin->ino);
	st->st_dev = origin->dev;
	st->st_ino = numbers_with(origin->ino, origin->number_variant);
}

/* The count that is written down for the file with found->link_key. 1, 0 (then
 * the key is taken away), or -errno. */
static int find_count(const struct view *view, struct found *found)
{
	int counted =
		links_read_count(view, found->link_key, &found->st.st_nlink);

	if (counted <= 0) {
		found->link_key[0] = '\0';
	}
	return counted;
}

/* What a copied-up file keeps from the base: its number, and how many names
 * there are. 1, 0 for a file that never was there, or -errno. */
static int find_origin(const struct view *view, const char *name, int dirfd,
		       struct found *found)
{
	struct origin origin;
	int known = origin_read(dirfd, name, &origin);

	if (known > 0 && found->st.st_nlink > 1) {
		origin_key(&origin, found->link_key);
		known = find_count(view, found);
		known = known < 0 ? known : 1;
	}
	if (known > 0) {
		keep_number(view, &origin, &found->st);
		found->partial_tag = origin.partial_tag;
	}
	return known;
}

/* The same for what can't carry it: see links.h. */
static int find_special_origin(const struct view *view, struct found *found)
{
	struct origin origin;
	int known = view->has_origins
			    ? links_read_origin(view, found->ino, &origin)
			    : 0;

	if (known > 0) {
		keep_number(view, &origin, &found->st);
	}
	return known;
}

/* Finds what an upper file keeps from the base, if it does. */
static int find_kept(struct node *parent, const char *name, int dirfd,
		     struct found *found)
{
	if (!S_ISREG(found->st.st_mode)) {
		return find_special_origin(parent->view, found);
	}
	return parent->view->has_origins
		       ? find_origin(parent->view, name, dirfd, found)
		       : 0;
}

/* Completes a file found in the upper. */
static int find_upper_file(struct node *parent, const char *name, int dirfd,
			   struct found *found)
{
	int result = 0;

	if (S_ISREG(found->st.st_mode)) {
		result = elsewhere_refuse(parent->view, dirfd, name);
		if (!result && found->st.st_size == 0) {
			result = whiteout_is_shown(dirfd, name);
		}
		if (result > 0) {
			whiteout_show_stat(&found->st);
		}
	}
	result = result ? result : find_kept(parent, name, dirfd, found);
	return result ? (result < 0 ? result : 0)
		      : numbers_tell_apart(&parent->view->fs->numbers, dirfd,
					   name, &found->st);
}

static int find_in_upper(struct node *parent, const char *name,
			 struct found *found)
{
	AUTO_FDREF *dir = NULL;
	int error =
		stat_in_slot(parent, VIEW_SLOT_UPPER, name, &found->st, &dir);

	error = error ? error
		      : hiding_is(parent->view, dir->fd, name, &found->st);
	if (error) {
		/* A whiteout; not -ENOENT: that means "look further down". */
		return error > 0 ? -ENODATA : error;
	}
	found->in_upper = true;
	found->has_upper_name = true;
	found->dev = found->st.st_dev;
	found->ino = found->st.st_ino;
	return S_ISDIR(found->st.st_mode)
		       ? find_upper_dir(parent, name, dir->fd, found)
		       : find_upper_file(parent, name, dir->fd, found);
}

/* Shows the copy with found->link_key, whose stat is `copy`: with the number
 * that it carries, or, on a disk without attributes, that of the base. */
static int show_copy(const struct view *view, struct origin *origin,
		     const struct stat *copy, struct found *found)
{
	int error = origin_read(view->links->fd, found->link_key, origin);

	if (error < 0) {
		return error;
	}
	found->partial_tag = error > 0 ? origin->partial_tag : 0;
	found->in_upper = true;
	found->dev = copy->st_dev;
	found->ino = copy->st_ino;
	found->st = *copy;
	keep_number(view, origin, &found->st);
	return 0;
}

/* A base file with several names: the data may be in the upper under another
 * one, and names may be gone. */
static int find_links(const struct view *view, int dirfd, const char *name,
		      struct found *found)
{
	nlink_t count = found->st.st_nlink;
	struct origin origin;
	struct stat copy;
	int error;

	if (!S_ISREG(found->st.st_mode) || count <= 1 ||
	    !view_is_writable(view)) {
		return 0;
	}
	origin_from_stat(&origin, &found->st);
	error = origin_add_birth(&origin, dirfd, name);
	if (error) {
		return error;
	}
	origin_key(&origin, found->link_key);
	error = links_read_count(view, found->link_key, &count);
	if (error <= 0) {
		return error; /* no count: nothing of it was changed */
	}
	error = links_stat(view, found->link_key, &copy);
	if (!error) {
		error = show_copy(view, &origin, &copy, found);
	}
	found->st.st_nlink = count;
	return error == -ENOENT ? 0 : error;
}

/* Completes a file found in the parent's lower `index`. */
static int find_base_file(struct node *parent, unsigned int index, int dirfd,
			  const char *name, struct found *found)
{
	int error = S_ISREG(found->st.st_mode)
			    ? elsewhere_find(parent, index, dirfd, name, found)
			    : 0;

	error = error ? error : find_links(parent->view, dirfd, name, found);
	return error || found->in_upper
		       ? error
		       : numbers_tell_apart(&parent->view->fs->numbers, dirfd,
					    name, &found->st);
}

static int find_in_lowers(struct node *parent, const char *name,
			  struct found *found)
{
	for (unsigned int i = 0; i < lower_count(parent); i++) {
		AUTO_FDREF *dir = NULL;
		int error = stat_in_slot(parent, VIEW_SLOT_LOWER(i), name,
					 &found->st, &dir);

		if (error == -ENOENT) {
			continue;
		}
		if (error) {
			return error;
		}
		if (whiteout_is(&found->st)) {
			return -ENOENT;
		}
		error = masks_hide_file(parent->view, &found->st);
		if (error) {
			return error > 0 ? -ENOENT : error;
		}
		found->lower_index = i;
		found->dev = found->st.st_dev;
		found->ino = found->st.st_ino;
		if (!S_ISDIR(found->st.st_mode)) {
			return find_base_file(parent, i, dir->fd, name, found);
		}
		return collect_shown(parent, i, name, &found->lowers,
				     &found->st);
	}
	return -ENOENT;
}

/* Says which entry it is that a corrupt attribute makes unusable. */
static int report_corrupt(const struct node *parent, const char *name)
{
	AUTO_BUF path = BUF_INIT;
	AUTO_BUF quoted = BUF_INIT;

	view_node_path(parent, &path);
	buf_addf(&path, "/%s", name);
	buf_add_quoted(&quoted, path.data);
	log_warn("corrupt attribute on '%s' in view '%s'", quoted.data,
		 parent->view->name);
	return -EIO;
}

int lookup_layers(struct node *parent, const char *name,
		  struct found *ret_found)
{
	int error = -ENOENT;

	*ret_found = (struct found){0};
	if (parent->removed || masks_hide(parent, name)) {
		return -ENOENT;
	}
	if (node_in_upper(parent)) {
		error = find_in_upper(parent, name, ret_found);
	}
	if (error == -ENOENT) {
		error = find_in_lowers(parent, name, ret_found);
	}
	if (error) {
		found_release(ret_found);
		return error == -ENODATA   ? -ENOENT
		       : error == -EBADMSG ? report_corrupt(parent, name)
					   : error;
	}
	ret_found->st.st_ino = fs_map_ino(
		parent->view->fs, ret_found->st.st_dev, ret_found->st.st_ino);
	return 0;
}

int lookup_lower_has(struct node *parent, const char *name)
{
	for (unsigned int i = 0; i < lower_count(parent); i++) {
		AUTO_FDREF *dir = NULL;
		struct stat st;
		int error = stat_in_slot(parent, VIEW_SLOT_LOWER(i), name, &st,
					 &dir);

		if (!error) {
			return !whiteout_is(&st);
		}
		if (error != -ENOENT) {
			return error;
		}
	}
	return 0;
}

static struct node_seed seed_for(struct node *parent, const char *name,
				 const struct found *found)
{
	return (struct node_seed){
		.view = parent->view,
		.parent = parent,
		.name = name,
		.type = found->st.st_mode & S_IFMT,
		.dev = found->dev,
		.ino = found->ino,
		.in_upper = found->in_upper,
		.lower_index = found->lower_index,
		.reported_ino = found->st.st_ino,
		.blocks = (uint64_t)found->st.st_blocks,
	};
}

/*
 * An inode that was known by another name is from now on at this one, which
 * is there for sure: the other may be gone (a hard link unlinked, a file in
 * the base renamed by somebody else).
 */
static int adopt_name(struct node *node, struct node *parent, const char *name,
		      const struct found *found)
{
	struct nodes *nodes = &parent->view->fs->nodes;
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);
	char *copy;

	(void)held;
	if (*found->link_key && !node->link_key) {
		node->link_key = strdup(found->link_key);
		if (!node->link_key) {
			return -ENOMEM;
		}
	}
	if (node->parent == parent && strcmp(node->name, name) == 0 &&
	    !node->removed && !node->name_gone) {
		return 0;
	}
	copy = strdup(name);
	if (!copy) {
		return -ENOMEM;
	}
	node_move_nofail(nodes, node, parent, copy);
	node->lower_index = found->lower_index;
	charge_named_locked(node);
	node->removed = false;
	node->name_gone = false;
	fdref_put(node->pinned);
	node->pinned = NULL;
	return 0;
}

/* Takes `at` over. What is known already stays: it may be in use. */
static void adopt_data(struct node *node, struct elsewhere *at)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);

	(void)held;
	if (node->data_at) {
		free(at);
	} else {
		node->data_at = at;
	}
}

int lookup_intern(struct node *parent, const char *name, struct found *found,
		  struct entry *ret_entry)
{
	struct nodes *nodes = &parent->view->fs->nodes;
	struct node_seed seed = seed_for(parent, name, found);
	struct node *node;
	bool replaced = false;
	bool made;
	int error;

	seed.lowers = TAKE_PTR(found->lowers);
	error = nodes_intern(nodes, &seed, &node, &made);
	if (!error && !made) {
		replaced = merge_note_identities(node->lowers, seed.lowers);
	}
	lowers_free(seed.lowers);
	if (error) {
		return error;
	}
	if (!node_is_dir(node) && (!made || *found->link_key)) {
		error = adopt_name(node, parent, name, found);
	}
	if (error) {
		node_put(nodes, node);
		return error;
	}
	error = blocks_attach(node, found->partial_tag, found->ino,
			      found->st.st_size);
	if (error) {
		node_put(nodes, node);
		return error;
	}
	if (found->data_at) {
		adopt_data(node, TAKE_PTR(found->data_at));
	}
	if (S_ISREG(node->type) && !found->in_upper &&
	    file_saw_change(node, &found->st)) {
		changes_report(&parent->view->fs->changes, node->id);
	}
	*ret_entry = (struct entry){
		.node = node,
		.st = found->st,
		.stable = found->in_upper || lookup_is_stable(parent),
		.replaced = replaced,
	};
	blocks_show_stat(node, &ret_entry->st);
	return 0;
}

struct node *lookup_known(struct node *parent, const char *name,
			  const struct found *found)
{
	struct node_seed seed = seed_for(parent, name, found);

	return nodes_find(&parent->view->fs->nodes, &seed);
}

bool lookup_is_stable(const struct node *parent)
{
	return watch_is_complete(parent);
}

void lookup_finish(const struct entry *entry)
{
	if (entry->replaced) {
		watch_base_replaced(entry->node, entry->st.st_ino);
	}
}

void lookup_count_links(struct entry *entry)
{
	struct node *node = entry->node;

	if (!node_is_dir(node)) {
		return;
	}
	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	if (!node->removed && subdirs_are_merged(node)) {
		entry->st.st_nlink = subdirs_links(node);
	}
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
}

static int lookup_view(struct fs *fs, const char *name, struct entry *ret_entry)
{
	for (unsigned int i = 0; i < fs->view_count; i++) {
		struct node *root = fs->views[i]->root;

		if (strcmp(fs->views[i]->name, name) == 0) {
			ret_entry->node = node_get(root);
			ret_entry->stable = true;
			return op_getattr(fs, root, &ret_entry->st);
		}
	}
	return -ENOENT;
}

static enum missing why_missing(const struct node *parent, const char *name)
{
	return masks_hide(parent, name)   ? MISSING_MASKED
	       : lookup_is_stable(parent) ? MISSING_STABLE
					  : MISSING_UNSTABLE;
}

int op_lookup(struct fs *fs, struct node *parent, const char *name,
	      struct entry *ret_entry, enum missing *ret_missing)
{
	struct found found;
	int error;

	if (ret_missing) {
		*ret_missing = MISSING_STABLE;
	}
	if (fs_is_list_root(fs, parent)) {
		return lookup_view(fs, name, ret_entry);
	}
	rwlock_take_shared(&parent->view->tree);
	lock_take(&parent->lock);
	watch_dir(parent);
	error = lookup_layers(parent, name, &found);
	if (error == -ENOENT && ret_missing) {
		*ret_missing = why_missing(parent, name);
	}
	if (!error) {
		error = lookup_intern(parent, name, &found, ret_entry);
		found_release(&found);
	}
	lock_drop(&parent->lock);
	rwlock_drop(&parent->view->tree);
	if (!error) {
		lookup_finish(ret_entry);
		lookup_count_links(ret_entry);
	}
	return error;
}
