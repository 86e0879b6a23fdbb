/*
 * masks.h - what of the base a view must never show.
 *
 * A mask is a path beneath the view's base (mask_set.h). It belongs to what is
 * there, not to the view's name for it: where the agent renames a folder that
 * holds a masked name, the name stays hidden in it; a folder that the agent
 * made has none. A masked name
 *
 *  - is not there: ENOENT for every call, and no listing has it;
 *  - can't be made: EACCES for create, mkdir, mknod, symlink, link and rename
 *    to it, whether the base has it or not, so that nothing of the agent's can
 *    be taken for the file that belongs there;
 *  - keeps no folder alive: one in which nothing else is left can be removed.
 *
 * So no node is ever made of it, and it is never copied up. The other names of
 * a masked file that has hard links are hidden in the same way, those that
 * somebody makes in the base meanwhile too.
 *
 * Threads: any; no state but what is set at the start.
 */
#ifndef FS_CORE_MASKS_H
#define FS_CORE_MASKS_H

#include <sys/stat.h>

#include "mask_set.h"
#include "view.h"

/* Sets view->masks. 0 or -ENOMEM. */
int masks_init(struct view *view, char *const *paths) MUST_CHECK;
void masks_release(struct view *view);

/* Whether `name` in `parent` is masked, by its path. The caller holds the tree
 * lock, or parent's. */
bool masks_hide(const struct node *parent, const char *name);

/* Whether a file of the base has a masked name among others: 1, 0 or -errno. */
int masks_hide_file(const struct view *view, const struct stat *st) MUST_CHECK;

/* All such files, for a listing. The caller releases them. */
int masks_find_links(const struct view *view,
		     struct mask_links *ret_links) MUST_CHECK;

/* Puts on the record that `caller` asked for a masked name. Whatever is to be
 * done to a name, the kernel asks for it first, and keeps no answer of these.
 * No lock is held. */
void masks_record(struct node *parent, const char *name,
		  const struct caller *caller);

/* 0, or -EACCES where `name` can't be made. Locks as lookup_layers. */
int masks_check_new(struct node *parent, const char *name) MUST_CHECK;

#endif
