/*
 * index.h - the journal as an SQLite database, for people and for queries.
 *
 * `<execution>/journal/journal.db`. The thread that folds the append area
 * (journal.h) is the only writer; anybody of the same user may read meanwhile,
 * `sqlite3 journal.db` too. The schema is described in README.md; it is written
 * by the first fold, so that an execution without changes has no file.
 *
 * Invariants:
 * - What one index_fold got is in the file whole or not at all.
 * - A sequence is in it once, however often it is offered.
 * - It is bounded: README.md says how, and what is told of what was dropped.
 * - A file of a newer schema is refused, and one that is damaged is set aside
 *   under another name, never changed.
 *
 * Errors: -EBADMSG: not a database, or a damaged one. -EPROTONOSUPPORT: of a
 * newer version. -EBUSY: another program holds a lock for long. -ENOSPC, -EIO,
 * -ENOENT, -EACCES, -ENOMEM.
 *
 * Threads: one at a time per struct.
 */
#ifndef FS_STORE_INDEX_H
#define FS_STORE_INDEX_H

#include <stdint.h>

#include "compiler.h"
#include "journal_record.h"

#define INDEX_FILE    "journal.db"
#define INDEX_VERSION 1

/* Rows of changes; older ones are condensed from a half of it on. */
#define INDEX_MAX_CHANGES UINT64_C(2000000)

struct index;

enum index_mode {
	INDEX_READ,
	INDEX_WRITE, /* opens at the first fold; index_open touches no file */
};

/* `journal_dirfd` stays the caller's, and must outlive the index. INDEX_READ:
 * -ENOENT where nothing was folded yet. */
int index_open(struct index **ret_index, int journal_dirfd,
	       enum index_mode mode) MUST_CHECK;

/* NULL too. */
void index_close(struct index *index);

/* For tests: another bound than INDEX_MAX_CHANGES, for what is folded next. */
void index_set_max_changes(struct index *index, uint64_t max);

/* -------------------------------------------------------- for the writer */

/* Adds them in one transaction; nothing happened where it fails. */
int index_fold(struct index *index, const struct journal_process *processes,
	       size_t n_processes, const struct journal_record *records,
	       size_t n_records) MUST_CHECK;

/* What was folded is on the disk when it returns, in case of a power loss; a
 * kill needs no such thing. */
int index_sync(struct index *index) MUST_CHECK;

/* -------------------------------------------------------- for readers */

/* Strings are valid until the callback returns. What is not 0 ends the
 * reading, and is its result. */
struct index_reader {
	int (*process)(void *data, const struct journal_process *process);
	int (*record)(void *data, const struct journal_record *record);
	void *data;
};

/*
 * All processes with numbers above `after_process`, then all changes with
 * sequences above `after_sequence`, in their order; of one moment.
 */
int index_read(struct index *index, const struct index_reader *reader,
	       uint64_t after_process, uint64_t after_sequence) MUST_CHECK;

/* How many changes are only counted now (dropped by the bound). */
int index_forgotten(struct index *index, uint64_t *ret_count) MUST_CHECK;

#endif
