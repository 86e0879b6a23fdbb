/*
 * node.h - what the kernel knows by number.
 *
 * A node is one file or directory of a view, for as long as the kernel or a
 * running request refers to it. Invariants:
 *
 *  - ids are a 64-bit counter: never a pointer, never used again;
 *  - find-or-insert is one critical section, so one file has one node. What
 *    has its data in a (view, device, inode) is identified by that; a
 *    directory, and a link or special file of the base (whose other names, if
 *    it has any, can't be kept together), by its parent and name;
 *  - two counts. `nlookup` is the kernel's and changes only under the table's
 *    lock; `refs` is ours. nlookup > 0 holds one ref, a child holds one on its
 *    parent, a request holds one for as long as it runs;
 *  - `in_upper` only ever goes from false to true (copy-up).
 *
 * Where a node is: in the layers at (parent, name), or, once it has no name
 * left, behind the descriptor `pinned`. A file with several hard links is at
 * the name that was seen last.
 *
 * Locks: the table's lock (rank TABLE) is a leaf without system calls. The
 * node's own lock has rank DIR or FILE; what each field needs is said there.
 */
#ifndef FS_CORE_NODE_H
#define FS_CORE_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "buf.h"
#include "fdcache.h"
#include "lock.h"

struct blocks;
struct dirlist;
struct elsewhere;
struct view;

/* The directories that a merged directory consists of below the upper,
 * topmost first. Paths don't change once the node exists; what is there may. */
struct lowers {
	unsigned int count;
	/* The link count of the merge, and for which state of the lowers;
	 * guarded by: the node's lock. See subdirs.h. */
	nlink_t links; /* 0: not known */
	uint64_t links_state;
	char *shown; /* owned; NULL: as at[0].path. See merge.h */
	struct lower {
		unsigned int layer; /* index into view->lowers */
		int watch;          /* guarded by: the node's lock. 0: none */
		/* Which directory it was when it was last looked up, a hash of
		 * device and inode; 0: not known. */
		atomic_ulong identity;
		char *path; /* beneath the layer's root; owned */
	} at[];
};

void lowers_free(struct lowers *lowers);

struct node {
	uint64_t id;
	struct view *view;
	mode_t type; /* S_IFMT bits */

	/* For a directory guarded by the view's tree lock (exclusive to
	 * change), else by `lock`. parent is referenced; both NULL for a
	 * view's root. */
	struct node *parent;
	char *name;

	struct lock lock;
	atomic_bool in_upper; /* set under `lock` */
	bool watch_tried;     /* guarded by: lock. See watch.h */
	atomic_bool watched;  /* set under `lock` */
	bool name_gone; /* guarded by: lock. Other names are left; any will do
			 */
	bool removed;   /* guarded by: lock. No name is left */
	unsigned int lower_index; /* file in the base: of parent's lowers */
	struct dirlist *listing;  /* guarded by: lock. See dirlist.h */
	uint64_t version;         /* guarded by: lock. Of the entries */
	struct lowers *lowers;    /* directory: NULL without any */
	char *link_key;           /* guarded by: lock. See links.h; else NULL */
	struct fdref *pinned; /* guarded by: lock. O_PATH, of a removed one */
	struct fdref *data;   /* guarded by: lock. Set while it is open */
	/* Set once, under `lock`: where the data of a base file is; NULL: where
	 * the file is. See elsewhere.h. */
	struct elsewhere *data_at;
	/* Set at most once, under `lock`: of a partial file. See blocks.h. */
	_Atomic(struct blocks *) partial;
	bool has_cached_fds;     /* guarded by: lock. In fs->file_fds */
	unsigned int open_count; /* guarded by: lock */
	uint64_t ino;            /* guarded by: lock. As reported */
	uint64_t seen_change; /* guarded by: lock. Of the cached data: file.c */
	uint64_t last_write;  /* guarded by: lock. On the record: record.h */
	atomic_int last_user; /* the thread that read or wrote it last */
	uint64_t blocks;      /* guarded by: lock. See charge.h */
	bool nameless;        /* guarded by: lock. See charge.h */

	/* private: guarded by the table's lock */
	uint64_t nlookup;
	atomic_uint refs;
	uint64_t key_a;
	uint64_t key_b;
	struct node *id_chain;
	struct node *key_chain;
	bool keyed;
	bool keyed_by_name;
};

static inline bool node_is_dir(const struct node *node)
{
	return S_ISDIR(node->type);
}

/* Whether the file has several names in the base (links.h). */
bool node_has_links(struct node *node);

static inline bool node_in_upper(const struct node *node)
{
	/* acquire: what was put into the upper before is seen, too */
	return atomic_load_explicit(&((struct node *)node)->in_upper,
				    memory_order_acquire);
}

struct nodes {
	/* private */
	struct lock lock;
	struct node **by_id;
	struct node **by_key;
	size_t mask;
	size_t count;
	uint64_t next_id;
};

/* What a node is made from, or found by. */
struct node_seed {
	struct view *view;
	struct node *parent; /* NULL for a root */
	const char *name;
	mode_t type;
	dev_t dev; /* where the data is now; not used for directories */
	ino_t ino;
	bool in_upper;
	unsigned int lower_index;
	struct lowers *lowers; /* taken over when a node is made */
	uint64_t reported_ino;
	uint64_t blocks; /* of what is in the upper */
};

/* The first id is the one FUSE gives the root (1). 0 or -ENOMEM. */
int nodes_init(struct nodes *nodes) MUST_CHECK;
/* All nodes must be gone but those that `nlookup` or parents keep: frees
 * everything. No other thread may run. */
void nodes_release(struct nodes *nodes);

/*
 * Finds the node for the seed or makes it, in one critical section.
 * *ret_node has a reference for the caller. Takes seed->lowers over (sets it
 * NULL) when it made one: *ret_made. 0 or -ENOMEM.
 */
int nodes_intern(struct nodes *nodes, struct node_seed *seed,
		 struct node **ret_node, bool *ret_made) MUST_CHECK;

/* Only finds: a reference, or NULL. */
struct node *nodes_find(struct nodes *nodes, const struct node_seed *seed);

/* By id, for a request: a reference, or NULL for an unknown id. */
struct node *nodes_get(struct nodes *nodes, uint64_t id);

struct node *node_get(struct node *node);
/* Takes NULL. */
void node_put(struct nodes *nodes, struct node *node);

/* One more, or `count` fewer, lookups by the kernel. Forgetting more than
 * there are is clamped (a broken kernel must not end us). */
void node_add_lookup(struct nodes *nodes, struct node *node);
void node_forget(struct nodes *nodes, struct node *node, uint64_t count);

/* The data moved (copy-up): the node is from now on found by `dev`, `ino`. */
void node_rekey(struct nodes *nodes, struct node *node, dev_t dev, ino_t ino);
/* Whether that is where the node is found now. */
bool node_is_keyed_by(const struct node *node, dev_t dev, ino_t ino);
/* The node is found no more (its last name is gone). */
void node_unkey(struct nodes *nodes, struct node *node);
/* The directory or file is at (parent, name) from now on; takes the heap
 * string `name` over. The caller holds what guards parent and name. */
void node_move_nofail(struct nodes *nodes, struct node *node,
		      struct node *parent, char *name);

/* The ids of `top` and of all nodes below it, in no order: an array for the
 * caller to free. 0 or -ENOMEM. */
int nodes_below(struct nodes *nodes, const struct node *top, uint64_t **ret_ids,
		size_t *ret_count) MUST_CHECK;

/* No node has a higher id. */
uint64_t nodes_last_id(struct nodes *nodes);

/* Adds the node's name to `name` and returns its parent's id, 0 for a root. */
uint64_t node_name(struct node *node, struct buf *name);

/* How many nodes there are. */
size_t nodes_count(struct nodes *nodes);

#endif
