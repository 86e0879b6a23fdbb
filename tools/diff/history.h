/*
 * history.h - an execution's journal: the database and what is not in it yet.
 *
 * A consistent answer while the execution runs, without stopping it. Where the
 * database can't be read, what the append area holds is given nevertheless.
 *
 * Calling sequence: history_open, history_read as often as wanted,
 * history_close. Threads: one at a time.
 */
#ifndef TOOLS_DIFF_HISTORY_H
#define TOOLS_DIFF_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "compiler.h"
#include "execution.h"
#include "journal_record.h"

struct history {
	uint64_t forgotten; /* changes that are only counted, as last read */
	/* Why the database could not be read, or the area; 0. */
	int database_error;
	int area_error;
	/* private */
	int dirfd;
	struct journal_process **processes; /* by number; NULL: not known */
	size_t n_processes;
};

#define HISTORY_INIT                                                           \
	{                                                                      \
		.dirfd = -1                                                    \
	}
#define AUTO_HISTORY AUTO(history_close) struct history

/* -ENOENT: the execution has no journal. */
int history_open(struct history *history,
		 const struct execution *execution) MUST_CHECK;
void history_close(struct history *history);

/* Strings live until it returns. What is not 0 ends the reading. */
typedef int history_fn(void *data, const struct journal_record *record);

/* All changes above the sequence `after`, in order; each once. -ENOMEM, or
 * what `fn` returned. */
int history_read(struct history *history, uint64_t after, history_fn *fn,
		 void *data) MUST_CHECK;

/* Known from the last history_read on; NULL: not known. Borrowed, and stays
 * until history_close. */
const struct journal_process *history_process(const struct history *history,
					      uint64_t number);

/* "cc[1234]": the program's name and pid; "?" where it isn't known. */
void history_add_label(struct buf *buf, const struct history *history,
		       uint64_t number);

/* The label and the command line, with control characters spelled out, cut
 * after `width` bytes; 0: never. */
void history_add_process(struct buf *buf, const struct history *history,
			 uint64_t number, size_t width);

#endif
