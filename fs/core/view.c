#include "view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "blocks.h"
#include "charge.h"
#include "copyup.h"
#include "err.h"
#include "hiding.h"
#include "links.h"
#include "log.h"
#include "masks.h"
#include "merge.h"
#include "remove.h"
#include "sys.h"
#include "watch.h"

#define INO_DEVICE_SHIFT 48

int fs_init(struct fs *fs, unsigned int max_dir_fds, unsigned int max_file_fds,
	    bool list_root)
{
	struct node_seed seed = {
		.name = "", .type = S_IFDIR, .reported_ino = 1};
	bool made;
	int error;

	*fs = (struct fs){.uid = geteuid(), .gid = getegid()};
	fs->switch_ids = fs->uid == 0;
	fs->blocks_from_bytes = FS_BLOCKS_FROM_BYTES;
	error = nodes_init(&fs->nodes);
	if (error) {
		return error;
	}
	error = fdcache_init(&fs->dir_fds, max_dir_fds);
	if (error) {
		nodes_release(&fs->nodes);
		return error;
	}
	error = fdcache_init(&fs->file_fds, max_file_fds);
	if (error) {
		fdcache_release(&fs->dir_fds);
		nodes_release(&fs->nodes);
		return error;
	}
	quota_init(&fs->quota);
	changes_init(&fs->changes);
	numbers_init(&fs->numbers);
	error = watches_init(&fs->watches);
	if (error) {
		log_warn("the base is not watched: %s", err_name(error));
	}
	lock_init(&fs->devices_lock, LOCK_RANK_TABLE, UINT64_MAX);
	lock_init(&fs->parked_lock, LOCK_RANK_QUEUE, 0);
	for (unsigned int i = 0; i < FS_COPYUP_LOCKS; i++) {
		lock_init(&fs->copyup[i], LOCK_RANK_COPYUP, i);
	}
	error = 0;
	if (list_root) {
		error = nodes_intern(&fs->nodes, &seed, &fs->root, &made);
		if (error) {
			fs_release(fs);
		}
	}
	return error;
}

static void view_free(struct view *view)
{
	layer_close(&view->upper);
	for (unsigned int i = 0; i < view->lower_count; i++) {
		layer_close(&view->lowers[i]);
	}
	free(view->lowers);
	masks_release(view);
	if (view->work_fd >= 0) {
		sys_close(view->work_fd);
	}
	fdref_put(view->links);
	rwlock_release(&view->tree);
	free(view->name);
	free(view);
}

void fs_release(struct fs *fs)
{
	nodes_release(&fs->nodes);
	blocks_release_parked(fs);
	lock_release(&fs->parked_lock);
	fdcache_release(&fs->dir_fds);
	fdcache_release(&fs->file_fds);
	quota_release(&fs->quota);
	changes_release(&fs->changes);
	numbers_release(&fs->numbers);
	for (unsigned int i = 0; i < fs->view_count; i++) {
		view_free(fs->views[i]);
	}
	free(fs->views);
	for (unsigned int i = 0; i < FS_COPYUP_LOCKS; i++) {
		lock_release(&fs->copyup[i]);
	}
	lock_release(&fs->devices_lock);
	watches_release(&fs->watches);
}

static int open_lowers(struct view *view, const struct view_config *config)
{
	view->lowers = calloc(config->lower_count ? config->lower_count : 1,
			      sizeof(*view->lowers));
	if (!view->lowers) {
		return -ENOMEM;
	}
	for (unsigned int i = 0; i < config->lower_count; i++) {
		int error = layer_open(&view->lowers[i], config->dirfd,
				       config->lowers[i]);

		if (error) {
			return error;
		}
		view->lower_count++;
	}
	return 0;
}

static int forget_origins_in(const struct view *view, DIR *dir)
{
	for (;;) {
		struct dirent *entry;
		struct stat st;
		int error = sys_readdir(dir, &entry);

		if (error || !entry) {
			return error;
		}
		error = sys_fstatat(view->work_fd, entry->d_name, &st);
		error = error ? error : links_forget_origin(view, st.st_ino);
		error = error ? error : links_forget_map(view, st.st_ino);
		if (error) {
			return error;
		}
	}
}

/* Takes away what links has for copies that never became visible. */
static int forget_origins(const struct view *view)
{
	DIR *dir;
	int error = sys_opendirat(view->work_fd, "", &dir);

	if (!error) {
		error = forget_origins_in(view, dir);
		closedir(dir);
	}
	return error;
}

/* Leftovers of an earlier life mean nothing. */
static int empty_work(const struct view *view)
{
	char path[PATH_MAX];
	int error = forget_origins(view);

	error = error ? error : sys_fd_path(view->work_fd, path, sizeof(path));
	return error ? error : remove_content(view->work_fd, path, NULL);
}

static int open_work(struct view *view, const struct view_config *config)
{
	struct stat st;
	int error;

	view->work_fd = sys_openat(config->dirfd, config->work,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (view->work_fd < 0) {
		return view->work_fd;
	}
	error = sys_fstat(view->work_fd, &st);
	if (error) {
		return error;
	}
	if (st.st_dev != view->upper.dev) {
		return -EINVAL;
	}
	return 0;
}

static int open_links(struct view *view, const struct view_config *config)
{
	int fd = sys_mkdirat(config->dirfd, config->links, 0700);
	struct stat st;

	if (fd && fd != -EEXIST) {
		return fd;
	}
	fd = sys_openat(config->dirfd, config->links,
			O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	if (fd < 0) {
		return fd;
	}
	view->links = fdref_new(fd, false);
	if (!view->links) {
		return -ENOMEM;
	}
	fd = sys_fstat(fd, &st);
	if (!fd) {
		atomic_init(&view->links_blocks, st.st_blocks);
	}
	return fd;
}

static int view_open(struct view *view, const struct view_config *config)
{
	int error;

	view->name = strdup(config->name);
	if (!view->name) {
		return -ENOMEM;
	}
	error = open_lowers(view, config);
	error = error ? error : masks_init(view, config->masks);
	if (error || !config->upper) {
		return error;
	}
	error = layer_open(&view->upper, config->dirfd, config->upper);
	error = error ? error : hiding_init(view);
	error = error ? error : open_work(view, config);
	error = error ? error : open_links(view, config);
	return error ? error : empty_work(view);
}

int fs_add_view(struct fs *fs, const struct view_config *config)
{
	struct view *view = calloc(1, sizeof(*view));
	struct view **views;
	int error;

	if (!view) {
		return -ENOMEM;
	}
	view->fs = fs;
	view->index = fs->view_count + 1;
	view->upper.root_fd = -1;
	view->work_fd = -1;
	view->has_origins = config->has_origins;
	view->has_foreign_marks = config->has_foreign_marks;
	view->has_hidden_marks = config->has_hidden_marks;
	view->no_acl = config->no_acl;
	view->by_blocks = config->by_blocks;
	rwlock_init(&view->tree, LOCK_RANK_TREE);
	error = view_open(view, config);
	views = error ? NULL
		      : reallocarray(fs->views, fs->view_count + 1,
				     sizeof(struct view *));
	if (!views) {
		view_free(view);
		return error ? error : -ENOMEM;
	}
	fs->views = views;
	fs->views[fs->view_count++] = view;
	return 0;
}

bool view_is_writable(const struct view *view)
{
	return view->upper.root_fd >= 0;
}

/* What the root takes is counted with all that is there; making it a copy of
 * the base's may add to that. */
static int copyup_root_counted(struct view *view)
{
	struct node *root = view->root;
	struct stat st;
	int error = sys_fstat(view->upper.root_fd, &st);

	if (error) {
		return error;
	}
	root->blocks = (uint64_t)st.st_blocks;
	error = view->lower_count ? copyup_root(view) : 0;
	charge_settle_dir_locked(root, view->upper.root_fd);
	return error;
}

static int make_root(struct view *view)
{
	const struct layer *top =
		view->lower_count ? &view->lowers[0] : &view->upper;
	struct node_seed seed = {
		.view = view,
		.name = "",
		.type = S_IFDIR,
		.in_upper = view_is_writable(view),
	};
	struct stat st;
	bool made;
	int error = sys_fstat(top->root_fd, &st);

	if (error) {
		return error;
	}
	seed.reported_ino = fs_map_ino(view->fs, st.st_dev, st.st_ino);
	if (view->lower_count) {
		seed.lowers = merge_root(view);
		if (!seed.lowers) {
			return -ENOMEM;
		}
	}
	error = nodes_intern(&view->fs->nodes, &seed, &view->root, &made);
	lowers_free(seed.lowers);
	return error || !view_is_writable(view) ? error
						: copyup_root_counted(view);
}

/* The first base's numbers go through unchanged (git's index depends on
 * them), so its disk comes first. */
static void order_devices(struct fs *fs)
{
	for (unsigned int i = 0; i < fs->view_count; i++) {
		const struct view *view = fs->views[i];

		if (view->has_origins && view->lower_count) {
			fs_map_ino(fs, view->lowers[0].dev, 0);
		}
	}
}

int fs_start(struct fs *fs)
{
	order_devices(fs);
	for (unsigned int i = 0; i < fs->view_count; i++) {
		int error = make_root(fs->views[i]);

		if (error) {
			return error;
		}
	}
	if (!fs->root) {
		if (fs->view_count != 1) {
			return -EINVAL;
		}
		fs->root = fs->views[0]->root;
	}
	return 0;
}

bool fs_is_list_root(const struct fs *fs, const struct node *node)
{
	return node == fs->root && !node->view;
}

uint64_t fs_map_ino(struct fs *fs, dev_t dev, ino_t ino)
{
	unsigned int i = 0;

	if (fs->plain_inos) {
		return ino;
	}
	lock_take(&fs->devices_lock);
	while (i < fs->device_count && fs->devices[i] != dev) {
		i++;
	}
	if (i == fs->device_count && i < FS_DEVICES_MAX) {
		fs->devices[fs->device_count++] = dev;
	}
	lock_drop(&fs->devices_lock);
	return ino ^ (uint64_t)i << INO_DEVICE_SHIFT;
}

void view_temp_name(struct view *view, char ret_name[VIEW_TEMP_BYTES])
{
	/* relaxed: only uniqueness matters */
	unsigned long n = atomic_fetch_add_explicit(&view->temp_count, 1,
						    memory_order_relaxed);

	snprintf(ret_name, VIEW_TEMP_BYTES, "%lx", n);
}

static size_t path_length(const struct node *node)
{
	size_t len = 0;

	for (; node->parent; node = node->parent) {
		len += strlen(node->name) + 1;
	}
	return len ? len - 1 : 0;
}

void view_node_path(const struct node *node, struct buf *path)
{
	size_t start = path->len;
	size_t at = path_length(node);

	if (buf_reserve(path, at)) {
		return;
	}
	path->len += at;
	path->data[path->len] = '\0';
	for (; node->parent; node = node->parent) {
		size_t len = strlen(node->name);

		at -= len;
		memcpy(path->data + start + at, node->name, len);
		if (at > 0) {
			path->data[start + --at] = '/';
		}
	}
}

/* The layer that the slot is in, and the directory's path there. */
static int locate_slot(struct node *dir, unsigned int slot,
		       const struct layer **ret_layer, struct buf *path)
{
	struct view *view = dir->view;

	if (slot == VIEW_SLOT_UPPER) {
		/* The path of a removed one may be another's by now. (The tree
		 * lock keeps `removed` of a directory still.) */
		if (!node_in_upper(dir) || dir->removed) {
			return -ENOENT;
		}
		view_node_path(dir, path);
		*ret_layer = &view->upper;
		return buf_error(path);
	}
	if (!dir->lowers || slot > dir->lowers->count) {
		return -ENOENT;
	}
	*ret_layer = &view->lowers[dir->lowers->at[slot - 1].layer];
	buf_adds(path, dir->lowers->at[slot - 1].path);
	return buf_error(path);
}

int view_dir_fd(struct node *dir, unsigned int slot, struct fdref **ret_ref)
{
	struct fdcache *cache = &dir->view->fs->dir_fds;
	const struct layer *layer;
	AUTO_BUF path = BUF_INIT;
	int fd;

	*ret_ref = fdcache_find(cache, dir->id, slot);
	if (*ret_ref) {
		return 0;
	}
	fd = locate_slot(dir, slot, &layer, &path);
	if (!fd) {
		fd = layer_open_path(layer, path.data,
				     O_PATH | O_DIRECTORY | O_NOFOLLOW);
	}
	if (fd < 0) {
		/* What has become a link or a file is not our directory. */
		return fd == -ELOOP || fd == -ENOTDIR ? -ENOENT : fd;
	}
	*ret_ref = fdref_new(fd, false);
	if (!*ret_ref) {
		return -ENOMEM;
	}
	fdcache_insert(cache, dir->id, slot, *ret_ref);
	return 0;
}

void view_drop_lowers(struct node *dir)
{
	watch_forget(dir);
	view_forget_dir_fds(dir);
	lowers_free(dir->lowers);
	dir->lowers = NULL;
	dir->version++;
}

void view_forget_dir_fds(struct node *dir)
{
	unsigned int slots = 1 + (dir->lowers ? dir->lowers->count : 0);

	if (!node_is_dir(dir) || !dir->view) {
		return;
	}
	for (unsigned int slot = 0; slot < slots; slot++) {
		fdcache_drop(&dir->view->fs->dir_fds, dir->id, slot);
	}
}

struct caller_scope caller_enter(const struct fs *fs,
				 const struct caller *caller)
{
	struct caller_scope scope = {
		.has_ids = fs->switch_ids &&
			   (caller->uid != fs->uid || caller->gid != fs->gid),
	};

	if (scope.has_ids) {
		struct sys_fsids saved =
			sys_fsids_set(caller->uid, caller->gid);

		scope.uid = saved.uid;
		scope.gid = saved.gid;
	}
	return scope;
}

struct caller_scope caller_enter_creating(const struct fs *fs,
					  const struct caller *caller)
{
	struct caller_scope scope = caller_enter(fs, caller);

	scope.has_umask = true;
	sys_thread_umask(caller->umask);
	return scope;
}

struct caller_scope caller_enter_umask(const struct caller *caller)
{
	sys_thread_umask(caller->umask);
	return (struct caller_scope){.has_umask = true};
}

void caller_leave(const struct caller_scope *scope)
{
	if (scope->has_ids) {
		struct sys_fsids saved = {scope->uid, scope->gid};

		sys_fsids_reset(&saved);
	}
	if (scope->has_umask) {
		sys_thread_umask(0);
	}
}
