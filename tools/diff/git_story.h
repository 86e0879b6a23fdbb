/*
 * git_story.h - what happened to a repository, in git's own words.
 *
 * A commit is dozens of files below .git, and none of them tells a reviewer
 * anything. From what changed there (the queue has it anyway) this tells:
 * commits made, refs moved, the index, the stash, hooks and configuration, work
 * that was left half done, objects by number. One story for each folder called
 * .git, nested repositories too.
 *
 * The agent wrote these files, so nothing of it is run or trusted: files are
 * read by content.h (no link, no special file, nothing mapped), with bounds;
 * libgit2 opens only the base. A commit's object must hash to its name.
 *
 * What lies in packs that the agent made is not looked into; `packs` says so.
 *
 * Calling sequence: `AUTO_STORY_LIST stories = {0};`, git_story_tell on a
 * finished list that is not filtered yet.
 *
 * Threads: one at a time. Errors: -ENOMEM.
 */
#ifndef TOOLS_DIFF_GIT_STORY_H
#define TOOLS_DIFF_GIT_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "diff.h"

/* Room for a SHA-256 id in hexadecimal. */
#define STORY_ID_BYTES 65

enum story_commit_state {
	STORY_REACHED, /* from a ref, or from HEAD */
	STORY_STASHED, /* makes up a stash entry */
	STORY_DROPPED, /* amended, rebased or reset away */
};

/* A commit whose object the view added. */
struct story_commit {
	char id[STORY_ID_BYTES];
	char *subject; /* owned; bytes, not text */
	char *author;  /* owned; "Name <mail>" */
	int64_t time;  /* of the committer, seconds since 1970 */
	enum story_commit_state state;
	/* private */
	char *parents; /* owned; ids with a newline behind each */
};

/* A ref, or HEAD. Each end is "" where there is none, an id, or
 * "ref: refs/heads/main". */
struct story_ref {
	char *name; /* owned */
	char *old_value;
	char *new_value;
	char *new_subject; /* NULL where the commit can't be read */
};

struct story {
	char *dir;                    /* owned; path of the .git in the view */
	bool is_new;                  /* the base has no such repository */
	bool is_gone;                 /* the view has none any more */
	struct story_commit *commits; /* newest first */
	size_t n_commits;
	struct story_ref *refs; /* by name; HEAD among them, no stash */
	size_t n_refs;
	bool index_changed;
	int64_t index_before; /* entries; -1: none, or not readable */
	int64_t index_after;
	size_t stash_before; /* entries */
	size_t stash_after;
	char **stashed; /* owned; subjects of new entries, newest first */
	size_t n_stashed;
	struct change_counts hooks; /* without samples */
	bool config_changed;
	struct buf config;            /* its changed lines: "+x\n-y\n" */
	const char *unfinished;       /* "a merge", ...; NULL: nothing is */
	struct change_counts objects; /* loose ones and packs */
	struct change_counts packs;   /* of them */
	struct change_counts all;     /* whatever changed there */
};

struct story_list {
	struct story *items;
	size_t n;
};

#define AUTO_STORY_LIST AUTO(git_story_list_release) struct story_list

int git_story_tell(struct story_list *list, const struct diff *diff) MUST_CHECK;

/* The story in lines behind `indent`, paths behind `prefix`, at most `max`
 * commits and refs each; visible characters only. */
void git_story_add_lines(struct buf *buf, const struct story *story,
			 const char *indent, const char *prefix, size_t max);

void git_story_list_release(struct story_list *list);

#endif
