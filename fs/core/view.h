/*
 * view.h - one directory tree that the daemon serves, and the set of them.
 *
 * A view is a merge of one upper (writable) and any number of lowers (never
 * written), topmost first. A `struct fs` is what one FUSE connection shows:
 * either one view, whose root is the mount's root, or several, each a
 * directory of a root that is only a list.
 *
 * Lock order in core, taken only upward (lock.h asserts it):
 *   COPYUP  one of fs->copyup, by node: held for a whole copy-up
 *   BLOCKS  one of a partial file: which blocks are there, over its own input
 *           and output (blocks.h)
 *   TREE    view->tree: shared by everything that walks or changes names,
 *           exclusive for rename and link; never held while data is copied
 *   DIR     a directory node: its entries; parent before child
 *   FILE    a file node: where it is, its open descriptor
 *   TABLE, FDCACHE: leaves
 *
 * Threads: views are immutable once the session runs.
 */
#ifndef FS_CORE_VIEW_H
#define FS_CORE_VIEW_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "fdcache.h"
#include "layer.h"
#include "node.h"
#include "numbers.h"
#include "quota.h"

/* Distinct disks that inode numbers can be told apart for. */
#define FS_DEVICES_MAX 255

#define FS_COPYUP_LOCKS 64

/* The default; README.md says where it comes from. */
#define FS_BLOCKS_FROM_BYTES (1024 * 1024)

struct fs;
struct mask_set;
struct recorder;

/* See watch.h. */
struct watches {
	int fd; /* inotify; -1: no watches */
	/* private */
	struct lock lock;
	struct watch_entry {
		int number;  /* of the watch; 0: free */
		uint64_t id; /* of the directory's node; 0: no longer used */
	} * ids;             /* guarded by: lock */
	size_t mask;         /* guarded by: lock */
	size_t used;         /* guarded by: lock. With an id */
	size_t filled;       /* guarded by: lock. Not free */
	size_t limit;        /* of those in use */
	pthread_t closing;   /* runs while closing_fd is one */
	int closing_fd;
};

/* Base files whose cached pages are old; see watch.h. */
struct changes {
	int event_fd; /* readable when there are any */
	/* private */
	struct lock lock;
	uint64_t *ids; /* guarded by: lock */
	size_t count;
	size_t capacity;
};

struct view {
	struct fs *fs;
	unsigned int index;
	char *name;
	struct layer upper; /* root_fd -1: read-only, nor work, nor links */
	int work_fd;
	struct fdref *links; /* the folder of links.h; referenced */
	struct layer *lowers;
	unsigned int lower_count;
	/* Files in the upper can have come from a base (scratch views only
	 * have directories there). */
	bool has_origins;
	/* Layers may have been written by other tools (whiteout.h). */
	bool has_foreign_marks;
	/* Some of those may be in attributes that only root can read. */
	bool has_hidden_marks;
	/* ACLs are not to be used. */
	bool no_acl;
	/* Large files may be copied up by blocks: who reads the upper knows of
	 * partial files. */
	bool by_blocks;
	struct mask_set *masks; /* see masks.h; NULL without any */
	struct rwlock tree;
	struct node *root; /* referenced */
	/* private */
	atomic_ulong temp_count;
	atomic_bool file_whiteouts;   /* see hiding.h */
	atomic_bool no_blocks;        /* the disk of the upper can't */
	_Atomic int64_t links_blocks; /* see charge.h */
};

struct fs {
	struct nodes nodes;
	struct fdcache dir_fds;
	struct fdcache file_fds;
	struct changes changes;
	struct watches watches;
	struct quota quota;
	struct numbers numbers;
	struct view **views; /* owned */
	unsigned int view_count;
	struct node *root; /* id 1; referenced */
	bool keep_created; /* the kernel will RELEASE what it created */
	bool switch_ids;   /* root: create as the caller */
	bool plain_inos;   /* numbers as the disks say, though they may clash */
	atomic_int held_fds; /* see blocks.h */
	struct lock parked_lock;
	struct blocks *parked; /* guarded by: parked_lock. See blocks.h */
	/* Base files from this size on are copied up by blocks; 0: none. */
	off_t blocks_from_bytes;
	bool static_links;         /* merged directories don't count theirs */
	struct recorder *recorder; /* the caller's; NULL: no journal */
	uid_t uid;
	gid_t gid;
	struct lock copyup[FS_COPYUP_LOCKS];
	/* private */
	struct lock devices_lock;
	dev_t devices[FS_DEVICES_MAX]; /* guarded by: devices_lock */
	unsigned int device_count;     /* guarded by: devices_lock */
};

/* Who asks, as the kernel says. */
struct caller {
	uid_t uid;
	gid_t gid;
	pid_t pid; /* the thread's; 0: the kernel itself */
	mode_t umask;
	uint64_t process; /* see record.h */
};

struct view_config {
	const char *name;
	int dirfd;         /* what the paths are relative to; borrowed */
	const char *upper; /* NULL: the view is read-only */
	const char *work;  /* on the same disk as upper */
	const char *links; /* the same; made where missing */
	const char *const *lowers;
	unsigned int lower_count;
	char *const *masks; /* NULL-terminated, as in the manifest; or NULL */
	bool has_origins;
	bool has_foreign_marks;
	bool has_hidden_marks;
	bool no_acl;
	bool by_blocks; /* see struct view */
};

/*
 * Calling sequence: fs_init, fs_add_view for each, quota_start if it is to be
 * counted, fs_start, serve, fs_release. `list_root`: the root lists the views,
 * even if there is one. `max_dir_fds` and `max_file_fds` bound the descriptors
 * that are kept.
 */
int fs_init(struct fs *fs, unsigned int max_dir_fds, unsigned int max_file_fds,
	    bool list_root) MUST_CHECK;
/* -ENOENT, -ENOTDIR, -EACCES of a folder; -EINVAL: upper and work are on
 * different disks. Empties work. */
int fs_add_view(struct fs *fs, const struct view_config *config) MUST_CHECK;
int fs_start(struct fs *fs) MUST_CHECK;
void fs_release(struct fs *fs);

/* Whether `node` is the root that only lists the views. */
bool fs_is_list_root(const struct fs *fs, const struct node *node);

/*
 * The inode number to report: as on the disk where that is the first base's,
 * else with a mark of the disk in bits 48 and up, so that numbers of several
 * disks don't clash in one st_dev.
 */
uint64_t fs_map_ino(struct fs *fs, dev_t dev, ino_t ino);

/* Whether there is an upper. */
bool view_is_writable(const struct view *view);

/* A name for work_fd, not used before by this process. */
#define VIEW_TEMP_BYTES 24
void view_temp_name(struct view *view, char ret_name[VIEW_TEMP_BYTES]);

/*
 * A descriptor (O_PATH) for the directory `dir` in the upper (slot 0) or its
 * lower slot - 1. The caller puts it, and holds the tree lock. -ENOENT where
 * the directory is not (or no longer) there.
 */
#define VIEW_SLOT_UPPER    0U
#define VIEW_SLOT_LOWER(i) ((i) + 1U)
int view_dir_fd(struct node *dir, unsigned int slot,
		struct fdref **ret_ref) MUST_CHECK;
/* The directory has nothing in the lowers any more. The caller holds the tree
 * lock exclusively. */
void view_drop_lowers(struct node *dir);
/* The directory is elsewhere, or gone. */
void view_forget_dir_fds(struct node *dir);

/* The path of a node beneath the view's root. The caller holds the tree lock
 * and, for a file, the node's. */
void view_node_path(const struct node *node, struct buf *path);

/*
 * Acts as the caller for what is written or created in between, so that the
 * disk decides as it would for the caller itself: with the caller's ids where
 * the daemon serves several users, and, when something is created, with the
 * caller's umask.
 */
struct caller_scope {
	bool has_ids;
	bool has_umask;
	uid_t uid;
	gid_t gid;
};
struct caller_scope caller_enter(const struct fs *fs,
				 const struct caller *caller);
struct caller_scope caller_enter_creating(const struct fs *fs,
					  const struct caller *caller);
/* As the daemon, but for the umask. */
struct caller_scope caller_enter_umask(const struct caller *caller);
void caller_leave(const struct caller_scope *scope);

#endif
