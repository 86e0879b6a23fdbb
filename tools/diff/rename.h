/*
 * rename.h - turns pairs of deleted and added entries into renames.
 *
 * Two steps, each pairs a D and an A once:
 * - by origin: the added file is, by the identity that it carries, the very
 *   base file that is gone. Its content may have changed since.
 * - by content: same kind (file or link), same bytes, at least one byte.
 *   Found by XXH3 and confirmed by comparing, since a hash that can be forged
 *   must not hide a change.
 * Of several candidates one with the same last component wins, then the first
 * by path. Both have the same noise: what is folded away is told apart from
 * what is shown.
 *
 * Calling sequence: after collect_changes and noise_mark; then
 * change_list_finish.
 */
#ifndef TOOLS_DIFF_RENAME_H
#define TOOLS_DIFF_RENAME_H

#include "change.h"
#include "compiler.h"
#include "sides.h"
#include "trouble.h"

/* The A becomes the R, its D becomes CHANGE_NONE. 0 or -ENOMEM. */
int rename_detect(struct change_list *list, const struct sides *sides,
		  struct trouble *trouble) MUST_CHECK;

#endif
