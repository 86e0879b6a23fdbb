#include "dirlist.h"

#include <string.h>

#include "attr.h"
#include "hiding.h"
#include "masks.h"
#include "sys.h"
#include "watch.h"
#include "whiteout.h"

#define DIRLIST_MIN_CAPACITY 64

static struct dirlist *dirlist_new(void)
{
	struct dirlist *list = calloc(1, sizeof(*list));

	if (list) {
		list->names = (struct buf)BUF_INIT;
		list->next_cookie = 1;
		atomic_init(&list->refs, 1);
	}
	return list;
}

static struct dirlist *dirlist_get(struct dirlist *list)
{
	if (list) {
		/* relaxed: the directory's lock keeps it alive */
		atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
	}
	return list;
}

void dirlist_put(struct dirlist *list)
{
	/* acq_rel: all uses happen before the free, whoever does it */
	if (list && atomic_fetch_sub_explicit(&list->refs, 1,
					      memory_order_acq_rel) == 1) {
		buf_release(&list->names);
		free(list->entries);
		free(list->table);
		free(list);
	}
}

const char *dirlist_name(const struct dirlist *list, size_t index)
{
	return list->names.data + list->entries[index].name;
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
	       strcmp(dirlist_name(list, list->table[at] - 1), name) != 0) {
		at = (at + 1) & list->table_mask;
	}
	return &list->table[at];
}

static void fill_table(struct dirlist *list)
{
	memset(list->table, 0, (list->table_mask + 1) * sizeof(*list->table));
	for (size_t i = 0; i < list->count; i++) {
		*table_slot(list, dirlist_name(list, i)) = i + 1;
	}
}

/* Makes room for one more entry; the table stays at most half full. */
static int grow(struct dirlist *list)
{
	size_t capacity =
		list->capacity ? list->capacity * 2 : DIRLIST_MIN_CAPACITY;
	struct dirlist_entry *entries;
	size_t *table;

	if (list->count < list->capacity) {
		return 0;
	}
	entries = reallocarray(list->entries, capacity, sizeof(*entries));
	if (!entries) {
		return -ENOMEM;
	}
	list->entries = entries;
	table = reallocarray(list->table, capacity * 2, sizeof(*table));
	if (!table) {
		return -ENOMEM;
	}
	list->table = table;
	list->table_mask = capacity * 2 - 1;
	list->capacity = capacity;
	fill_table(list);
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
	list->entries[list->count].name = list->names.len;
	buf_add(&list->names, name, strlen(name) + 1);
	error = buf_error(&list->names);
	if (!error) {
		*slot = ++list->count;
	}
	return error;
}

/* The entry for `name`, or NULL. */
static const struct dirlist_entry *find_name(const struct dirlist *list,
					     const char *name)
{
	size_t slot = list && list->count ? *table_slot(list, name) : 0;

	return slot ? &list->entries[slot - 1] : NULL;
}

static int by_cookie(const void *a, const void *b)
{
	uint64_t x = ((const struct dirlist_entry *)a)->cookie;
	uint64_t y = ((const struct dirlist_entry *)b)->cookie;

	return (x > y) - (x < y);
}

/* Gives each name the cookie that it had before, or a new one. */
static void set_cookies(struct dirlist *list, const struct dirlist *before)
{
	if (before) {
		list->next_cookie = before->next_cookie;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct dirlist_entry *old =
			find_name(before, dirlist_name(list, i));

		list->entries[i].cookie =
			old ? old->cookie : list->next_cookie++;
	}
	if (before && list->count) {
		qsort(list->entries, list->count, sizeof(*list->entries),
		      by_cookie);
		fill_table(list);
	}
}

/* What the slots read so far show, and hide from those below. */
struct merging {
	struct dirlist *list;
	struct dirlist *hidden;
	/* Marks that hide names in the slots below this one only. */
	struct dirlist *marked;
	bool foreign;
	bool has_files; /* the slot that is read may have whiteouts as files */
	const struct node *dir;
	/* Masked files that may have a name in the slot, and its disk. */
	struct mask_links links;
	dev_t dev;
};

/* Whether the entry is a whiteout: 1, 0 or -errno. */
static int is_whiteout(const struct merging *merging, DIR *dir,
		       const struct dirent *entry)
{
	bool maybe = entry->d_type == DT_CHR || entry->d_type == DT_UNKNOWN ||
		     ((merging->foreign || merging->has_files) &&
		      entry->d_type == DT_REG);
	struct stat st;
	int error;

	if (!maybe) {
		return 0;
	}
	error = whiteout_stat(dirfd(dir), entry->d_name, merging->foreign, &st);
	if (error || whiteout_is(&st) || !merging->has_files) {
		return error ? error : whiteout_is(&st);
	}
	return whiteout_is_file(dirfd(dir), entry->d_name, &st);
}

/* Whether the view must not show it. */
static bool is_masked(const struct merging *merging, const struct dirent *entry)
{
	const struct node *dir = merging->dir;

	return masks_hide(dir, entry->d_name) ||
	       mask_links_have(&merging->links, merging->dev, entry->d_ino);
}

/* A whiteout hides the name in the layers below: it is remembered as seen, in
 * a list of its own, and not shown. */
static int add_entry(struct merging *merging, DIR *dir,
		     const struct dirent *entry)
{
	const char *name = entry->d_name;
	const char *marked =
		merging->foreign ? whiteout_marked_name(name) : NULL;
	int whiteout;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
	    find_name(merging->hidden, name) || is_masked(merging, entry)) {
		return 0;
	}
	if (marked) {
		return *marked ? add_name(merging->marked, marked) : 0;
	}
	whiteout = is_whiteout(merging, dir, entry);
	if (whiteout < 0) {
		/* Removed from the base since: as if it had never been. */
		return whiteout == -ENOENT ? 0 : whiteout;
	}
	return add_name(whiteout ? merging->hidden : merging->list, name);
}

static int add_entries(struct merging *merging, DIR *dir)
{
	for (;;) {
		struct dirent *entry;
		int error = sys_readdir(dir, &entry);

		if (error || !entry) {
			return error;
		}
		error = add_entry(merging, dir, entry);
		if (error) {
			return error;
		}
	}
}

/* The marks of a slot that is read hide from now on. */
static int hide_marked(struct merging *merging)
{
	int error = 0;

	for (size_t i = 0; i < merging->marked->count && !error; i++) {
		error = add_name(merging->hidden,
				 dirlist_name(merging->marked, i));
	}
	return error;
}

/* Which files of the slot must not be shown. */
static int find_links(struct merging *merging, unsigned int slot, int fd)
{
	const struct view *view = merging->dir->view;
	struct stat st;
	int error;

	mask_links_release(&merging->links);
	if (!view->masks || slot == VIEW_SLOT_UPPER) {
		return 0;
	}
	error = sys_fstat(fd, &st);
	if (!error) {
		merging->dev = st.st_dev;
	}
	return error ? error : masks_find_links(view, &merging->links);
}

static int add_slot(struct merging *merging, struct node *node,
		    unsigned int slot)
{
	AUTO_FDREF *ref = NULL;
	DIR *dir;
	int error = view_dir_fd(node, slot, &ref);

	merging->has_files =
		slot == VIEW_SLOT_UPPER && hiding_has_files(node->view);
	error = error ? error : find_links(merging, slot, ref->fd);
	error = error ? error : sys_opendirat(ref->fd, "", &dir);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	error = add_entries(merging, dir);
	closedir(dir);
	return error ? error : hide_marked(merging);
}

/* Reads all slots. Tree and directory locked. */
static int read_slots(struct dirlist *list, struct node *dir)
{
	unsigned int slots = 1 + (dir->lowers ? dir->lowers->count : 0);
	struct merging merging = {
		.dir = dir,
		.list = list,
		.hidden = dirlist_new(),
		.marked = dirlist_new(),
		.foreign = dir->view->has_foreign_marks,
	};
	int error = merging.hidden && merging.marked ? 0 : -ENOMEM;

	for (unsigned int slot = 0; slot < slots && !error; slot++) {
		if (slot != VIEW_SLOT_UPPER || node_in_upper(dir)) {
			error = add_slot(&merging, dir, slot);
		}
	}
	dirlist_put(merging.hidden);
	dirlist_put(merging.marked);
	mask_links_release(&merging.links);
	return error;
}

static int add_dots(struct dirlist *list)
{
	int error = add_name(list, ".");

	return error ? error : add_name(list, "..");
}

/* Reads a directory that is not removed, and keeps the snapshot. */
static int read_dir(struct node *dir, struct dirlist *list)
{
	int error = add_dots(list);

	error = error ? error : read_slots(list, dir);
	if (error) {
		return error;
	}
	set_cookies(list, dir->listing);
	list->version = dir->version;
	dirlist_put(dir->listing);
	dir->listing = dirlist_get(list);
	return 0;
}

/* The snapshot that is kept still holds: nothing changed here, and what the
 * base may have changed would have been seen. */
static bool is_current(const struct node *dir)
{
	return dir->listing && dir->listing->version == dir->version &&
	       watch_is_complete(dir);
}

static int current_locked(struct node *dir, struct dirlist **ret_list)
{
	struct dirlist *list;
	int error;

	watch_dir(dir);
	if (!dir->removed && is_current(dir)) {
		*ret_list = dirlist_get(dir->listing);
		return 0;
	}
	list = dirlist_new();
	if (!list) {
		return -ENOMEM;
	}
	/* One that was removed while open has no entries at all. */
	error = dir->removed ? 0 : read_dir(dir, list);
	if (error) {
		dirlist_put(list);
		return error;
	}
	*ret_list = list;
	return 0;
}

static int list_views(const struct fs *fs, struct dirlist **ret_list)
{
	struct dirlist *list = dirlist_new();
	int error = list ? add_dots(list) : -ENOMEM;

	for (unsigned int i = 0; i < fs->view_count && !error; i++) {
		error = add_name(list, fs->views[i]->name);
	}
	if (error) {
		dirlist_put(list);
		return error;
	}
	set_cookies(list, NULL);
	*ret_list = list;
	return 0;
}

int dirlist_current(struct fs *fs, struct node *dir, struct dirlist **ret_list)
{
	int error;

	if (fs_is_list_root(fs, dir)) {
		return list_views(fs, ret_list);
	}
	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	error = current_locked(dir, ret_list);
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	return error;
}

bool dirlist_is_stable(struct fs *fs, struct node *dir)
{
	bool stable;

	if (fs_is_list_root(fs, dir)) {
		return true;
	}
	rwlock_take_shared(&dir->view->tree);
	lock_take(&dir->lock);
	watch_dir(dir);
	stable = watch_is_complete(dir);
	lock_drop(&dir->lock);
	rwlock_drop(&dir->view->tree);
	return stable;
}

void dirlist_changed(struct node *dir)
{
	dir->version++;
}

int dirlist_is_empty(struct node *dir)
{
	struct dirlist *list = dirlist_new();
	int result = !list          ? -ENOMEM
		     : dir->removed ? -ENOENT
				    : read_slots(list, dir);

	if (!result) {
		result = list->count == 0;
	}
	dirlist_put(list);
	return result;
}

size_t dirlist_after(const struct dirlist *list, uint64_t cookie)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->entries[middle].cookie <= cookie) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
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
	if (!error && intern) {
		lookup_finish(ret_entry);
		lookup_count_links(ret_entry);
	}
	return error;
}

int dirlist_stat(struct fs *fs, struct node *dir, const char *name, bool intern,
		 struct entry *ret_entry)
{
	int error;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		return dot_entry(fs, dir, name[1] == '.', ret_entry);
	}
	if (fs_is_list_root(fs, dir)) {
		error = op_lookup(fs, dir, name, ret_entry, NULL);
		if (!error && !intern) {
			node_put(&fs->nodes, TAKE_PTR(ret_entry->node));
		}
		return error;
	}
	return real_entry(dir, name, intern, ret_entry);
}
