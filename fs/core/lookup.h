/*
 * lookup.h - what a name is in the merge of the layers.
 *
 * The rule is overlayfs's: the topmost layer that has the name decides; a
 * whiteout says that there is nothing; directories merge until a layer has
 * something else, a whiteout, or an opaque directory.
 */
#ifndef FS_CORE_LOOKUP_H
#define FS_CORE_LOOKUP_H

#include <sys/stat.h>

#include "links.h"
#include "view.h"

/* What the layers have under one name. */
struct found {
	struct stat st; /* of the topmost, its inode number as reported */
	dev_t dev;      /* where the data is */
	ino_t ino;
	bool in_upper;       /* the data is */
	bool has_upper_name; /* the parent's upper has the name */
	/* A file with several names in the base: its key (links.h), else "".
	 * st.st_nlink is then the count of what is left. */
	char link_key[ORIGIN_KEY_BYTES];
	unsigned int lower_index; /* not in the upper: of the parent's lowers */
	struct lowers *lowers;    /* directory: what it merges; owned */
	uint64_t partial_tag;     /* in the upper: see blocks.h; else 0 */
	struct elsewhere *data_at; /* see elsewhere.h; owned, else NULL */
};

void found_release(struct found *found);

/* An answer to the kernel: a node with one reference for the caller. */
struct entry {
	struct node *node;
	struct stat st;
	/* Nothing but requests through this mount can change the answer, so
	 * that the kernel may keep it for long. */
	bool stable;
	/* A directory that is another in the base than it was. */
	bool replaced;
};

/*
 * Looks `name` up in the directory `parent`; -ENOENT where there is nothing.
 * The caller holds the tree lock and parent's lock, and releases ret_found.
 */
int lookup_layers(struct node *parent, const char *name,
		  struct found *ret_found) MUST_CHECK;

/* Whether a lower of `parent` shows `name`: then removing the name takes a
 * whiteout. 1, 0 or -errno. Locks as lookup_layers. */
int lookup_lower_has(struct node *parent, const char *name) MUST_CHECK;

/*
 * The node for what lookup_layers found. Takes found->lowers over. Locks as
 * lookup_layers.
 */
int lookup_intern(struct node *parent, const char *name, struct found *found,
		  struct entry *ret_entry) MUST_CHECK;

/* What is left to do for an entry without locks: to be called once they are
 * dropped. */
void lookup_finish(const struct entry *entry);
/* The same, for entries whose stat is shown: completes that of a merged
 * directory, whose link count no layer knows. */
void lookup_count_links(struct entry *entry);

/* The node for what was just found, if there is one; a reference, or NULL.
 * Locks as lookup_layers. */
struct node *lookup_known(struct node *parent, const char *name,
			  const struct found *found);

/* Whether answers about names in `parent` are stable (see struct entry). */
bool lookup_is_stable(const struct node *parent);

/* For how long there is nothing at a name. */
enum missing {
	MISSING_STABLE,   /* until it is made through this mount */
	MISSING_UNSTABLE, /* until the base changes */
	MISSING_MASKED,   /* for ever, but each question counts */
};

/* The FUSE operation. *ret_missing (may be NULL) is set on -ENOENT. */
int op_lookup(struct fs *fs, struct node *parent, const char *name,
	      struct entry *ret_entry, enum missing *ret_missing) MUST_CHECK;

#endif
