/*
 * dirlist.h - the merged entries of a directory, as a snapshot.
 *
 * A snapshot never changes. The directory's node keeps the last one and gives
 * it out again until the directory changes; an open directory keeps the one it
 * reads from until it is rewound.
 *
 * A cookie (the d_off of an entry) stands for a name: it stays the same in
 * every later snapshot of the node, and names that come later get higher ones.
 * So it means the same to everyone, whatever is created or removed meanwhile:
 * to a stream that goes on after a removal, to telldir and seekdir, and to the
 * kernel, which caches listings. "." and ".." are entries as others.
 */
#ifndef FS_CORE_DIRLIST_H
#define FS_CORE_DIRLIST_H

#include "lookup.h"
#include "view.h"

struct dirlist_entry {
	size_t name; /* where it starts in names */
	uint64_t cookie;
};

struct dirlist {
	struct dirlist_entry *entries; /* by cookie */
	size_t count;
	/* private */
	struct buf names; /* NUL-terminated, one after the other */
	size_t capacity;
	size_t *table; /* names to entries: index + 1, 0 = free */
	size_t table_mask;
	uint64_t version; /* of the directory */
	uint64_t next_cookie;
	atomic_uint refs;
};

/* Takes NULL. */
void dirlist_put(struct dirlist *list);

/*
 * The directory as it is now: *ret_list has a reference for the caller. A
 * removed directory has no entries. The caller holds no lock but a handle's.
 */
int dirlist_current(struct fs *fs, struct node *dir,
		    struct dirlist **ret_list) MUST_CHECK;

/* Whether the kernel may cache the listing: it makes all changes itself, or
 * would be told. To be asked when the directory is opened. */
bool dirlist_is_stable(struct fs *fs, struct node *dir);

/* The directory's entries changed. The caller holds its lock, or the tree lock
 * exclusively. */
void dirlist_changed(struct node *dir);

/* Whether nothing but "." and ".." is in the directory: 1, 0 or -errno. The
 * caller holds the tree lock and the directory's. */
int dirlist_is_empty(struct node *dir) MUST_CHECK;

/* The index of the first entry behind `cookie` (0: the very first); the count
 * if there is none. */
size_t dirlist_after(const struct dirlist *list, uint64_t cookie);

const char *dirlist_name(const struct dirlist *list, size_t index);

/*
 * What the entry is now: with `intern`, the node, too (one reference for the
 * caller), for READDIRPLUS; without, only entry->st (ino and type). "." and
 * ".." never have a node. -ENOENT: it was removed since.
 */
int dirlist_stat(struct fs *fs, struct node *dir, const char *name, bool intern,
		 struct entry *ret_entry) MUST_CHECK;

#endif
