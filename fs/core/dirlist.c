#include "dirlist.h"

#include <string.h>

#include "attr.h"
#include "sys.h"
#include "watch.h"
#include "whiteout.h"

#define DIRLIST_MIN_CAPACITY 64

void dirlist_release(struct dirlist *list)
{
	buf_release(&list->names);
	free(list->offsets);
	free(list->table);
	*list = (struct dirlist){.names = BUF_INIT};
}

static size_t hash_name(const char *name)
{
	size_t hash = 5381;

	for (; *name; name++) {
		hash = hash * 33 + (unsigned char)*name;
	}
	return hash ^ hash >> 15;
}

/* The slot of the table where `name` is or would be. */
static size_t *table_slot(const struct dirlist *list, const char *name)
{
	size_t at = hash_name(name) & list->table_mask;

	while (list->table[at] &&
	       strcmp(list->names.data + list->offsets[list->table[at] - 1],
		      name) != 0) {
		at = (at + 1) & list->table_mask;
	}
	return &list->table[at];
}

/* Makes room for one more entry; the table stays at most half full. */
static int grow(struct dirlist *list)
{
	size_t capacity =
		list->capacity ? list->capacity * 2 : DIRLIST_MIN_CAPACITY;
	size_t *offsets;

	if (list->count < list->capacity) {
		return 0;
	}
	offsets = reallocarray(list->offsets, capacity, sizeof(*offsets));
	if (!offsets) {
		return -ENOMEM;
	}
	list->offsets = offsets;
	free(list->table);
	list->table = calloc(capacity * 2, sizeof(*list->table));
	if (!list->table) {
		return -ENOMEM;
	}
	list->table_mask = capacity * 2 - 1;
	list->capacity = capacity;
	for (size_t i = 0; i < list->count; i++) {
		*table_slot(list, list->names.data + offsets[i]) = i + 1;
	}
	return 0;
}

/* Adds `name` unless it is there. */
static int add_name(struct dirlist *list, const char *name)
{
	size_t *slot;
	int error = grow(list);

	if (error) {
		return error;
	}
	slot = table_slot(list, name);
	if (*slot) {
		return 0;
	}
	list->offsets[list->count] = list->names.len;
	buf_add(&list->names, name, strlen(name) + 1);
	*slot = ++list->count;
	return buf_error(&list->names);
}

/* A whiteout hides the name in the layers below: it is remembered as seen, in
 * a second list, and not shown. */
static bool is_whiteout(DIR *dir, const struct dirent *entry)
{
	struct stat st;

	if (entry->d_type != DT_CHR && entry->d_type != DT_UNKNOWN) {
		return false;
	}
	return !sys_fstatat(dirfd(dir), entry->d_name, &st) && whiteout_is(&st);
}

static bool is_seen(const struct dirlist *list, const char *name)
{
	return list->count && *table_slot(list, name);
}

static int add_entry(struct dirlist *list, struct dirlist *hidden, DIR *dir,
		     const struct dirent *entry)
{
	const char *name = entry->d_name;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    is_seen(hidden, name)) {
		return 0;
	}
	return add_name(is_whiteout(dir, entry) ? hidden : list, name);
}

static int add_slot(struct dirlist *list, struct dirlist *hidden,
		    struct node *node, unsigned int slot)
{
	AUTO_FDREF *ref = NULL;
	struct dirent *entry;
	DIR *dir;
	int error = view_dir_fd(node, slot, &ref);

	error = error ? error : sys_opendirat(ref->fd, "", &dir);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	for (;;) {
		error = sys_readdir(dir, &entry);
		if (error || !entry) {
			break;
		}
		error = add_entry(list, hidden, dir, entry);
		if (error) {
			break;
		}
	}
	closedir(dir);
	return error;
}

/* Reads all slots. Tree and directory locked. */
static int read_slots(struct dirlist *list, struct node *dir)
{
	unsigned int slots = 1 + (dir->lowers ? dir->lowers->count : 0);
	struct dirlist hidden = {.names = BUF_INIT};
	int error = dir->removed ? -ENOENT : 0;

	for (unsigned int slot = 0; slot < slots && !error; slot++) {
		if (slot != VIEW_SLOT_UPPER || node_in_upper(dir)) {
			error = add_slot(list, &hidden, dir, slot);
		}
	}
	dirlist_release(&hidden);
	return error;
}

static int read_views(struct dirlist *list, const struct fs *fs)
{
	int error = 0;

	for (unsigned int i = 0; i < fs->view_count && !error; i++) {
		error = add_name(list, fs->views[i]->name);
	}
	return error;
}

int dirlist_read(struct dirlist *list, struct fs *fs, struct node *dir)
{
	int error;

	dirlist_release(list);
	error = add_name(list, ".");
	error = error ? error : add_name(list, "..");
	if (error) {
		return error;
	}
	if (fs_is_list_root(fs, dir)) {
		return read_views(list, fs);
	}
	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	watch_dir(dir);
	error = read_slots(list, dir);
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	/* A directory that was removed while open has no entries at all. */
	if (error == -ENOENT) {
		dirlist_release(list);
		return 0;
	}
	return error;
}

int dirlist_is_empty(struct node *dir)
{
	struct dirlist list = {.names = BUF_INIT};
	int result = read_slots(&list, dir);

	if (!result) {
		result = list.count == 0;
	}
	dirlist_release(&list);
	return result;
}

const char *dirlist_name(const struct dirlist *list, size_t index)
{
	return index < list->count ? list->names.data + list->offsets[index]
				   : NULL;
}

/* "." and "..": only what a plain listing needs. */
static int dot_entry(struct fs *fs, struct node *dir, bool parent,
		     struct entry *ret_entry)
{
	struct node *node = dir;

	*ret_entry = (struct entry){.stable = true};
	if (parent && dir->view) {
		rwlock_take_shared(&dir->view->tree);
		node = dir->parent ? dir->parent : fs->root;
		ret_entry->st.st_ino = node->ino;
		rwlock_drop(&dir->view->tree);
	} else {
		ret_entry->st.st_ino = node->ino;
	}
	ret_entry->st.st_mode = S_IFDIR;
	return 0;
}

static int real_entry(struct node *dir, const char *name, bool intern,
		      struct entry *ret_entry)
{
	struct found found;
	int error;

	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	error = lookup_layers(dir, name, &found);
	if (!error && intern) {
		error = lookup_intern(dir, name, &found, ret_entry);
	} else if (!error) {
		*ret_entry = (struct entry){.st = found.st};
	}
	if (!error) {
		found_release(&found);
	}
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	return error;
}

int dirlist_entry(struct fs *fs, struct node *dir, const char *name,
		  bool intern, struct entry *ret_entry)
{
	bool stable;
	int error;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		return dot_entry(fs, dir, name[1] == '.', ret_entry);
	}
	if (fs_is_list_root(fs, dir)) {
		error = op_lookup(fs, dir, name, ret_entry, &stable);
		if (!error && !intern) {
			node_put(&fs->nodes, TAKE_PTR(ret_entry->node));
		}
		return error;
	}
	return real_entry(dir, name, intern, ret_entry);
}
