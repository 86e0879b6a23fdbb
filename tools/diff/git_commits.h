/*
 * git_commits.h - the commits that a view made.
 *
 * A commit that an agent makes is a loose object: a file that holds, packed by
 * zlib, "commit SIZE", NUL, and the text. Of each added object the first bytes
 * are unpacked; commits are small, and only they are read whole.
 *
 * Threads: one at a time. Errors: -ENOMEM; an object that can't be read, or is
 * not what its name says, is no commit.
 */
#ifndef TOOLS_DIFF_GIT_COMMITS_H
#define TOOLS_DIFF_GIT_COMMITS_H

#include "change.h"
#include "compiler.h"
#include "git_story.h"
#include "sides.h"

/* Fills story->commits, by id, all STORY_DROPPED. `items` are sorted. */
int git_commits_read(struct story *story, const struct sides *sides,
		     const struct change *items, size_t n) MUST_CHECK;

/* Marks what is reached from `id`, an id or not, as `state`; stops at what is
 * marked otherwise, and at what the base had. 0 or -ENOMEM. */
int git_commits_mark(struct story *story, const char *id,
		     enum story_commit_state state) MUST_CHECK;

/* From by id, as the other functions need it, to newest first. */
void git_commits_sort(struct story *story);

/* NULL where the view did not make it. */
struct story_commit *git_commits_find(const struct story *story,
				      const char *id);

#endif
