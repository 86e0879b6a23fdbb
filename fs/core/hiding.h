/*
 * hiding.h - whiteouts in a view's upper: in the form of its disk.
 *
 * A device where the disk has it, else a file (store/whiteout.h). Which, the
 * first whiteout finds out; view->file_whiteouts is set, and the upper's root
 * says it, before there is one that is a file.
 *
 * Locks: those that keep the name as it is (see lookup.h).
 */
#ifndef FS_CORE_HIDING_H
#define FS_CORE_HIDING_H

#include "view.h"

/* What an earlier life left. -errno of the disk. */
int hiding_init(struct view *view) MUST_CHECK;

/* Makes a whiteout `temp` in the work folder, to be renamed into the upper
 * directory `dirfd`. */
int hiding_prepare(struct view *view, const char *temp, int dirfd) MUST_CHECK;

/* Makes one where the upper directory has nothing. -EEXIST */
int hiding_add(struct view *view, int dirfd, const char *name) MUST_CHECK;

/* Whether the upper's entry `name`, whose stat is `st`, is one: 1, 0 or
 * -errno. */
int hiding_is(const struct view *view, int dirfd, const char *name,
	      const struct stat *st) MUST_CHECK;

/* Whether an entry of the upper may be one though its type says "file". */
bool hiding_has_files(const struct view *view);

#endif
