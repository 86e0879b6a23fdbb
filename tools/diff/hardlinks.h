/*
 * hardlinks.h - the other names of a base file that was changed through one.
 *
 * In the view such a file stays one file, so the change shows under all its
 * names, but the upper has only those that were used. Which others there are
 * only a walk of the base can tell. It is done in the one case that needs it:
 * the copy of a changed file has more names in the base than the queue knows.
 * (Names outside the base count, too: nothing tells them apart.)
 *
 * Calling sequence: after collect_changes.
 */
#ifndef TOOLS_DIFF_HARDLINKS_H
#define TOOLS_DIFF_HARDLINKS_H

#include "change.h"
#include "compiler.h"
#include "sides.h"
#include "trouble.h"

/* Appends an M for each such name. 0 or -ENOMEM. */
int hardlinks_collect(struct change_list *list, const struct sides *sides,
		      struct trouble *trouble) MUST_CHECK;

#endif
