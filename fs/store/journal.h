/*
 * journal.h - appending to the journal, and taking from it what is folded.
 *
 * journal_format.h has the states and invariants. Appending takes no lock and
 * makes no system call but once a segment (1 MiB), and where the writer of the
 * database does not keep up.
 *
 * Calling sequence: journal_open; for each change journal_begin, the change,
 * journal_done, the reply. A thread of its own calls journal_wait_work,
 * journal_take, commits, journal_folded. journal_close once all have ended.
 *
 * Full: three segments may be filled by any change; the fourth is left to
 * changes that free space (JOURNAL_FREES), so that a disk that is full can be
 * made less full, on the record. Who finds no room waits for the thread that
 * folds; where that has failed, or says nothing for `wait_ms`, the change is
 * refused, with the error of the fold (-ENOSPC, -EIO, ...). It is never made
 * without a record.
 *
 * Threads: journal_begin, _resume, _done and _add_process from any; the rest
 * from the one that folds. The lock has rank QUEUE.
 */
#ifndef FS_STORE_JOURNAL_H
#define FS_STORE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "journal_batch.h"
#include "journal_record.h"

struct journal;

struct journal_options {
	unsigned int wait_ms; /* for room */
};

/* The folder `journal` in the execution's, made where missing: a descriptor
 * for the caller. */
int journal_make_dir(int execution_dirfd) MUST_CHECK;

/* Errors as journal_area_open. What an earlier life left is taken first. */
int journal_open(struct journal **ret_journal, int journal_dirfd,
		 const struct journal_options *options) MUST_CHECK;
void journal_close(struct journal *journal);

enum journal_room {
	JOURNAL_TAKES, /* space, or may */
	JOURNAL_FREES, /* removes: unlink, rmdir, to a smaller size */
};

/* A change that has begun, and must be done. */
struct journal_ref {
	/* private */
	struct journal_slot *slot; /* NULL: none */
	uint64_t progress;
};

/* How it went: what holds of struct journal_record from then on. */
struct journal_outcome {
	int result;
	uint64_t ino;
	int64_t bytes;
	int64_t size_after;
	int32_t mode_after;
	uint64_t count;
	int64_t last_wall_ns;
};

/*
 * Puts the change on the record as begun; its sequence is given here. Of
 * `record` the fields that are known before count. `epoch` is the caller's: a
 * record is only continued in the same one.
 * May wait. -ENOSPC, -EIO, ...: no record, so the change must not be made.
 */
int journal_begin(struct journal *journal, const struct journal_record *record,
		  uint64_t epoch, enum journal_room room,
		  struct journal_ref *ret_ref) MUST_CHECK;

/* The change is made, or has failed. */
void journal_done(struct journal *journal, const struct journal_ref *ref,
		  const struct journal_outcome *outcome);

/*
 * A name for the record, by which it may be continued once it is done; never 0.
 * *ret_outcome is how it went so far. False where it can't: it was taken, or
 * another thread is at it, or process, operation or epoch are not those. Else
 * it is begun again, and must be done with the sum.
 */
uint64_t journal_token(const struct journal *journal,
		       const struct journal_ref *ref);
bool journal_resume(struct journal *journal, uint64_t token,
		    const struct journal_record *record, uint64_t epoch,
		    struct journal_ref *ret_ref,
		    struct journal_outcome *ret_outcome) MUST_CHECK;

/* Gives the process its number and puts it on the record. Errors and waiting
 * as journal_begin. */
int journal_add_process(struct journal *journal,
			struct journal_process *process,
			enum journal_room room) MUST_CHECK;

/* ------------------------------------------- for the thread that folds */

/* Returns when a segment is full, when journal_wake was called, or after `ms`.
 */
void journal_wait_work(struct journal *journal, unsigned int ms);
void journal_wake(struct journal *journal);

/*
 * Adds to the batch what is done and not yet folded, of one segment; 1, 0 if
 * there is none, or -ENOMEM. What was taken stays taken until it is folded,
 * and is offered again if it is not. A change may come after later ones, and
 * its process after it: they were done later, or a segment was just looked at.
 */
int journal_take(struct journal *journal,
		 struct journal_batch *batch) MUST_CHECK;

/* What was taken is committed (0), or could not be (-errno), and whoever waits
 * for room is told. */
void journal_folded(struct journal *journal, int error);

#endif
