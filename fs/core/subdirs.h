/*
 * subdirs.h - the link count of a directory that is merged.
 *
 * On a disk it is 2 and one for each directory in it; no layer by itself says
 * how many the merge shows. Counting them all would mean to read the base at
 * each stat. Instead the lowest layer's own count is taken, and what the layers
 * above it add and hide: the cost is that of what was changed. The result is
 * kept, and follows the directories that are made and removed here, until a
 * base changes.
 */
#ifndef FS_CORE_SUBDIRS_H
#define FS_CORE_SUBDIRS_H

#include "view.h"

/*
 * The count, or 1 ("not known", as btrfs says) where the lowest layer's disk
 * doesn't count or a layer can't be read. The caller holds the tree lock and
 * the directory's lock, and the directory is not removed.
 */
nlink_t subdirs_links(struct node *dir);

/* So many more directories are in `dir`, or fewer. The caller holds its lock,
 * or the tree lock exclusively. */
void subdirs_changed(struct node *dir, int difference);

/* Whether `dir` is in more than one layer, so that its count takes the above.
 */
bool subdirs_are_merged(const struct node *dir);

#endif
