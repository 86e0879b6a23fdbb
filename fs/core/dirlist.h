/*
 * dirlist.h - the merged entries of a directory, as a snapshot.
 *
 * An open directory takes a snapshot when it is first read and again after a
 * rewind. A cookie is an entry's number in the snapshot plus one, so it means
 * the same entry whatever is created or removed meanwhile. Entries 0 and 1
 * are "." and "..".
 */
#ifndef FS_CORE_DIRLIST_H
#define FS_CORE_DIRLIST_H

#include "lookup.h"
#include "view.h"

struct dirlist {
	/* private */
	struct buf names; /* NUL-terminated, one after the other */
	size_t *offsets;  /* of each name in names */
	size_t count;
	size_t capacity;
	size_t *table; /* names seen so far: entry + 1, 0 = free */
	size_t table_mask;
};

void dirlist_release(struct dirlist *list);

/* Takes the snapshot anew. A removed directory has no entries. */
int dirlist_read(struct dirlist *list, struct fs *fs,
		 struct node *dir) MUST_CHECK;

/* Whether nothing but "." and ".." is in the directory: 1, 0 or -errno. The
 * caller holds the tree lock and the directory's. */
int dirlist_is_empty(struct node *dir) MUST_CHECK;

/* The name with the number `index`, or NULL past the end. */
const char *dirlist_name(const struct dirlist *list, size_t index);

/*
 * What the entry is now: with `intern`, the node, too (one reference for the
 * caller), for READDIRPLUS; without, only entry->st (ino and type). "." and
 * ".." never have a node. -ENOENT: it was removed since.
 */
int dirlist_entry(struct fs *fs, struct node *dir, const char *name,
		  bool intern, struct entry *ret_entry) MUST_CHECK;

#endif
