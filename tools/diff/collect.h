/*
 * collect.h - fills the queue with what a view changed.
 *
 * Walks the upper, and of the base only what the upper deletes, hides or has
 * moved: the cost follows the change. What the view shows at a path is
 * compared with the base at the same path:
 *
 *   view               base        queue
 *   nothing            nothing     nothing
 *   nothing            directory   D for each file and each empty directory
 *   nothing            else        D
 *   directory          nothing     A if it is empty; its content
 *   directory          directory   M if its mode or attributes differ; its
 *                                  content
 *   directory          else        T, and its content
 *   else               nothing     A
 *   else               directory   T, and D for what the directory held
 *   else               same kind   M if content, mode or attributes differ
 *   else               other kind  T
 *
 * What the view shows: the upper's entry; nothing for a whiteout; else that of
 * the base's directory that shows through, which is the one at the same path,
 * or where a redirect points (the agent renamed a directory), or none below an
 * opaque one.
 *
 * Owners and times are not compared: an ordinary user's upper can't hold other
 * owners, and times alone are no change.
 *
 * The view may be in use: what vanishes or turns into something else during
 * the walk is skipped. What can't be read is an error in `trouble`, and the
 * walk goes on; an entry that is there but can't be compared counts as
 * changed.
 */
#ifndef TOOLS_DIFF_COLLECT_H
#define TOOLS_DIFF_COLLECT_H

#include <stdbool.h>

#include "change.h"
#include "compiler.h"
#include "sides.h"
#include "trouble.h"

/* Appends to `list`, unsorted, CHANGE_NONE entries included. With `with_dirs`
 * there is an A or a D (with CHANGE_FILLED) for directories that are not empty,
 * too. 0 or -ENOMEM. */
int collect_changes(struct change_list *list, const struct sides *sides,
		    bool with_dirs, struct trouble *trouble) MUST_CHECK;

#endif
