/*
 * git_refs.h - where a repository's refs are, before and after.
 *
 * git has a ref in a file of its own, or in a line of packed-refs; the file
 * wins. Both are small and simple enough to be read here, which libgit2 does
 * only for a repository that lies whole in one place; a view's does not.
 *
 * Threads: one at a time. Errors: -ENOMEM; what can't be read counts as absent.
 */
#ifndef TOOLS_DIFF_GIT_REFS_H
#define TOOLS_DIFF_GIT_REFS_H

#include "change.h"
#include "compiler.h"
#include "git_story.h"
#include "sides.h"

/* Whether `name`, a path below .git, is HEAD, a ref or packed-refs. */
bool git_refs_is_one(const char *name);

/* Fills story->refs from the changes below story->dir, items[0..n). */
int git_refs_compare(struct story *story, const struct sides *sides,
		     const struct change *items, size_t n) MUST_CHECK;

#endif
