/*
 * journal_batch.h - changes and processes, decoded, with their strings.
 *
 * Ownership: the batch owns all; what its records point to lives until the
 * next add or clear. Calling sequence: `struct journal_batch b = {0};`, add...,
 * journal_batch_finish, use, journal_batch_release.
 */
#ifndef FS_STORE_JOURNAL_BATCH_H
#define FS_STORE_JOURNAL_BATCH_H

#include <stddef.h>

#include "buf.h"
#include "journal_format.h"
#include "journal_record.h"

struct journal_batch {
	/* In the order of their sequences, once finished. */
	struct journal_record *records;
	size_t n_records;
	/* A parent before its children. */
	struct journal_process *processes;
	size_t n_processes;
	/* private */
	size_t records_room;
	size_t processes_room;
	struct buf text; /* pointers are offsets into it until finished */
};

/* Empties it, keeps the memory. */
void journal_batch_clear(struct journal_batch *batch);
void journal_batch_release(struct journal_batch *batch);

/*
 * Adds what the slot holds, a change or a process. `progress` is what the
 * slot's was, and `outcome` the one that holds, or NULL. 0 or -ENOMEM.
 */
int journal_batch_add(struct journal_batch *batch,
		      const struct journal_slot *slot, uint64_t progress,
		      const struct journal_outcome_raw *outcome) MUST_CHECK;

/* Sorts, and makes the strings valid. 0 or -ENOMEM. */
int journal_batch_finish(struct journal_batch *batch) MUST_CHECK;

#endif
