/*
 * journal_slot.h - what is in a segment: packing, checks, finding slots.
 *
 * Pure memory: the daemon's map, or what a reader has copied of one.
 */
#ifndef FS_STORE_JOURNAL_SLOT_H
#define FS_STORE_JOURNAL_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "journal_format.h"
#include "journal_record.h"

/* The checks that the format wants. `key` is the area's. */
uint64_t journal_head_check(const struct journal_head *head);
uint64_t journal_segment_check(const struct journal_segment *segment,
			       uint64_t key);
uint64_t journal_outcome_check(const struct journal_outcome_raw *outcome,
			       uint64_t key);

static inline uint64_t
journal_segment_generation(const struct journal_segment *segment)
{
	/* relaxed: it stands still for whoever has room in the segment */
	return atomic_load_explicit(&segment->generation, memory_order_relaxed);
}

static inline uint64_t journal_progress(enum journal_slot_state state,
					uint64_t generation)
{
	return (generation << JOURNAL_PROGRESS_GENERATION_SHIFT) |
	       (uint64_t)state;
}

static inline enum journal_slot_state journal_progress_state(uint64_t progress)
{
	return (enum journal_slot_state)(progress & JOURNAL_PROGRESS_STATE);
}

/* The same with another state; another outcome holds where `flip`. */
uint64_t journal_progress_to(uint64_t progress, enum journal_slot_state state,
			     bool flip);

static inline bool journal_progress_is_of(uint64_t progress,
					  uint64_t generation)
{
	return progress >> JOURNAL_PROGRESS_GENERATION_SHIFT ==
	       (uint32_t)generation;
}

static inline unsigned int journal_progress_outcome(uint64_t progress)
{
	return progress & JOURNAL_PROGRESS_OUTCOME ? 1 : 0;
}

/* The outcome that holds; NULL: none, or (after a loss of power) a broken one.
 */
const struct journal_outcome_raw *
journal_slot_outcome(const struct journal_slot *slot, uint64_t progress,
		     uint64_t key);

/* What a slot for it takes of a segment, in bytes. */
uint32_t journal_slot_size(const struct journal_record *record);
uint32_t journal_slot_process_size(const struct journal_process *process);

/*
 * Fills all but `progress` at the place that was given. Until that is stored
 * (journal_progress, release), the slot is not there.
 */
void journal_slot_fill(struct journal_slot *slot,
		       const struct journal_segment *segment, uint64_t key,
		       const struct journal_record *record, uint64_t sequence,
		       uint64_t epoch);
void journal_slot_fill_process(struct journal_slot *slot,
			       const struct journal_segment *segment,
			       uint64_t key,
			       const struct journal_process *process);

/* Whether the segment's head is whole: a life of it has begun. */
bool journal_segment_valid(const struct journal_segment *segment, uint64_t key);

/* Goes through the slots of this life of the segment, in their order. */
struct journal_scan {
	const struct journal_segment *segment; /* whole and in memory */
	uint64_t key;
	uint32_t at; /* where to look next; 0 at first */
};

/* The next slot that is there, with its `progress`; NULL at the end. */
struct journal_slot *journal_scan_next(struct journal_scan *scan,
				       uint64_t *ret_progress);

#endif
