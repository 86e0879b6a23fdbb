/*
 * noise.h - marks what a reviewer folds away: git's own files, what the
 * repository ignores, and what is generated.
 *
 * The rules are the base's, not the view's: an agent can't hide a change by
 * editing .gitignore. All of git's sources count (.gitignore at each level,
 * info/exclude, core.excludesFile); a file that the base's index tracks is
 * never ignored, nor is what was deleted to make way for something shown.
 *
 * Where the base is in no repository nothing is ignored; ".git" is folded
 * everywhere, since it may be a repository that the agent made.
 *
 * Generated is what was added below a folder that the base does not have, and
 * that by its name only programs fill: node_modules, __pycache__, ... Rules of
 * the repository come first.
 *
 * Calling sequence: after collect_changes, before rename_detect, which pairs
 * only what has the same noise.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_NOISE_H
#define TOOLS_DIFF_NOISE_H

#include <stdbool.h>

#include "change.h"
#include "compiler.h"
#include "sides.h"

/* Whether `path` is, or lies below, an entry called ".git" in any case. */
bool noise_is_git(const char *path);

/* Sets `noise` of each change. 0 or -ENOMEM. A repository that libgit2 can't
 * open has no rules. */
int noise_mark(struct change_list *list, const struct sides *sides) MUST_CHECK;

#endif
