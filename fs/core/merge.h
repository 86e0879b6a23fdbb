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
 * Adds to *lowers (made when NULL, with room for `room`) the directory `name`
 * in `from`, which `st` describes. 0 or -ENOMEM.
 */
int merge_add(struct lowers **lowers, unsigned int room,
	      const struct lower *from, const char *name,
	      const struct stat *st) MUST_CHECK;

/*
 * Takes over which directories were found for those that the node has; true
 * where one is another than before: somebody has replaced it in the base.
 */
bool merge_note_identities(struct lowers *lowers, const struct lowers *found);

/*
 * Those at `path` from the root, as the lowers alone show it: what a redirect
 * points to. *ret_lowers is NULL where there is no directory (any more);
 * *ret_st is the topmost one's.
 */
int merge_resolve(const struct view *view, const char *path,
		  struct lowers **ret_lowers, struct stat *ret_st) MUST_CHECK;

#endif
