/*
 * replay.h - what a view must hold by its journal.
 *
 * Each change is taken in order; what is left is a fact for each path that the
 * journal tells of. Facts move with the directories that were renamed.
 *
 * A fact is MAYBE where the daemon was killed in the middle, or where a change
 * failed: it may have made the upper's copy before.
 *
 * Calling sequence: `struct replay replay = {.view = NAME};`, replay_take for
 * each record, replay_find and replay_each, replay_release. Threads: one at a
 * time.
 */
#ifndef TOOLS_DIFF_REPLAY_H
#define TOOLS_DIFF_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "compiler.h"
#include "journal_record.h"

enum fact_state {
	FACT_GONE,  /* removed, or renamed away */
	FACT_THERE, /* made, renamed to, or changed */
	FACT_MAYBE,
};

struct fact {
	char *path; /* owned */
	enum fact_state state;
	int64_t size_bytes; /* -1: not known */
	int32_t mode;       /* st_mode; -1: not known */
	uint64_t sequence;  /* of the last change that tells of it */
};

struct replay {
	const char *view; /* borrowed */
	size_t n_records; /* of the view, that change something */
	/* private */
	void *facts; /* of tsearch(3), by path */
};

/* Records of other views, and those that change nothing, are left out. 0 or
 * -ENOMEM. */
int replay_take(struct replay *replay,
		const struct journal_record *record) MUST_CHECK;

/* Borrowed; NULL where the journal says nothing of the path. */
const struct fact *replay_find(const struct replay *replay, const char *path);

/* In the order of paths. */
void replay_each(const struct replay *replay,
		 void (*fn)(const struct fact *fact, void *data), void *data);

void replay_release(struct replay *replay);

#endif
