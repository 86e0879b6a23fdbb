/*
 * merge.h - the directories of the lowers that one merged directory is made
 * of (struct lowers, node.h).
 */
#ifndef FS_CORE_MERGE_H
#define FS_CORE_MERGE_H

#include "view.h"

/* Those of the view's root: every layer's. NULL when out of memory. */
struct lowers *merge_root(const struct view *view);

/*
 * Adds to *lowers (made when NULL) the directory `name` in `from`, which `st`
 * describes. 0 or -ENOMEM.
 */
int merge_add(struct lowers **lowers, const struct view *view,
	      const struct lower *from, const char *name,
	      const struct stat *st) MUST_CHECK;

/*
 * Takes over which directories were found for those that the node has; true
 * where one is another than before: somebody has replaced it in the base.
 */
bool merge_note_identities(struct lowers *lowers, const struct lowers *found);

/*
 * Adds to *lowers those at `path` from the root, as the layers from `first` on
 * alone show it: what a redirect points to. *lowers stays NULL where there is
 * no directory (any more); else *ret_st is the topmost one's, if it was NULL.
 */
int merge_resolve(const struct view *view, unsigned int first, const char *path,
		  struct lowers **lowers, struct stat *ret_st) MUST_CHECK;

/* Where the data is of a file that has its attributes only (metacopy.h). */
struct merge_file {
	unsigned int layer;
	char *path; /* owned */
	struct stat st;
};
/* The one at `path`, as merge_resolve finds it. -ENOENT. */
int merge_find_data(const struct view *view, unsigned int first,
		    const char *path, struct merge_file *ret_file) MUST_CHECK;

/*
 * The path by which the lowers alone show the directory: what a redirect to it
 * has to say. It is noted where redirects in the lowers can make it another
 * than the topmost one's own path. `parent` NULL: `name` is that path.
 */
const char *merge_shown_path(const struct lowers *lowers);
int merge_note_shown(const struct view *view, struct lowers *lowers,
		     const struct node *parent, const char *name) MUST_CHECK;

#endif
