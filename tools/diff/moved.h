/*
 * moved.h - finds base files that changed after the view took them over.
 *
 * A copied-up file carries the identity that its base file had then
 * (origin.h). If no base file that the view touched is still exactly that,
 * then the base has moved on under the view, and the difference shown is
 * against the present base. A file that the agent renamed carries the
 * identity of another path, which is looked for among all touched ones.
 *
 * What the view deleted, or put something else in place of, carries none. There
 * the time tells: the base's entry changed after the whiteout, the opaque
 * directory or the new entry was made.
 *
 * Calling sequence: after collect_changes, before rename_detect.
 */
#ifndef TOOLS_DIFF_MOVED_H
#define TOOLS_DIFF_MOVED_H

#include "change.h"
#include "compiler.h"
#include "sides.h"
#include "trouble.h"

/* Sets is_moved of each such change, and warns "base moved". What an apply did
 * (applied.h) is neither moved nor a change. 0 or -ENOMEM. */
int moved_mark(struct change_list *list, const struct sides *sides,
	       struct trouble *trouble) MUST_CHECK;

#endif
