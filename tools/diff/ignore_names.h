/*
 * ignore_names.h - which names no ignore rule can match, without asking.
 *
 * libgit2 looks at every .gitignore above a path again, with a system call
 * each, whenever it is asked. Most names match no rule at all, and that can be
 * told from the last component of each rule: a rule matches a path only if its
 * own last component matches the path's. So each source of rules is read once
 * for a directory, and libgit2 is asked about what is left.
 *
 * The answer errs to one side only: "may match" where a rule is not understood
 * or can't be read. Negated rules are left out: they ignore nothing.
 *
 * Sources, as gitignore(5) has them: core.excludesFile or its default, the
 * repository's info/exclude, and .gitignore in each directory of the path.
 *
 * Calling sequence: ignore_names_init, ignore_names_may_match for paths in any
 * order (neighbours are cheap), ignore_names_release.
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_IGNORE_NAMES_H
#define TOOLS_DIFF_IGNORE_NAMES_H

#include <git2.h>
#include <stdbool.h>
#include <stddef.h>

#include "buf.h"
#include "names.h"

/* The rules of one directory. */
struct ignore_level {
	size_t dir_len;     /* of the directory in ignore_names.dir */
	struct names rules; /* last components, for fnmatch */
	bool matches_any;
};

struct ignore_names {
	/* private */
	const char *workdir; /* the repository's, borrowed; NULL: ask
				    always */
	struct buf dir;      /* of the last level, "" or ending in '/' */
	struct ignore_level *levels;
	size_t n;
	size_t capacity;
};

#define IGNORE_NAMES_INIT                                                      \
	{                                                                      \
		.dir = BUF_INIT                                                \
	}

/* Reads what holds in the whole of `repository`, which must outlive `names`.
 * Out of memory, or without a working directory, every name may match. */
void ignore_names_init(struct ignore_names *names, git_repository *repository);

/* `path` is relative to the working directory; a directory's may end in '/'.
 * True when out of memory, or before ignore_names_init. */
bool ignore_names_may_match(struct ignore_names *names, const char *path);

void ignore_names_release(struct ignore_names *names);

#endif
