/*
 * journal_format.h - the journal's append area, on disk.
 *
 * `<execution>/journal/area` is one file of a fixed size, mapped by the daemon
 * that appends and by whoever reads. All of it is allocated when it is made:
 * recording never needs space that a full disk or a quota could refuse.
 *
 *   head (one page) | segment 0 | segment 1 | segment 2 | segment 3
 *
 * A segment is a head and then slots, each aligned to JOURNAL_ALIGN. A segment
 * is used again and again; each time it has a higher generation, and a slot
 * belongs to the segment's present life only if its own generation agrees.
 *
 * State of a slot (in `progress`, with the generation, changed by one atomic
 * store or exchange each time):
 *
 *                 +----------- MORE <--+  the same opener writes on
 *                 v                    |
 *   (none) --> BEGUN ---> DONE <-------+
 *                          |
 *                          v
 *                        TAKEN --> FOLDED   by the thread that folds
 *
 * Invariants:
 *
 *  1. A slot's fixed part and strings are complete, with their check, before
 *     BEGUN is stored, and never change again in this life of the segment.
 *  2. BEGUN (or MORE) is stored before the change is made, DONE before the
 *     reply is sent. So whenever the daemon is killed, what was acknowledged is
 *     DONE, and what is BEGUN or MORE was acknowledged to nobody.
 *  3. There are two outcomes; `progress` says which one holds. Only the other
 *     one is written to, and then one store makes it the one that holds. So
 *     an outcome is never seen half written.
 *  4. A slot is not changed once it is TAKEN.
 *  5. A segment's next life begins when each slot of this one is FOLDED: the
 *     database has committed it.
 *  6. Sequences grow with the place in the segment, and from generation to
 *     generation. Room and sequence are given by one exchange of the segment's
 *     cursor, so none is given twice; one is missing only where the daemon was
 *     killed between that exchange and BEGUN.
 *  7. A slot that was given and never BEGUN hides none behind it: a reader
 *     looks at each aligned place, and the check tells a slot from what else
 *     may be there.
 *
 * Numbers are the machine's: an area from a machine of the other byte order
 * has another magic and is refused. Another version is refused, never changed.
 */
#ifndef FS_STORE_JOURNAL_FORMAT_H
#define FS_STORE_JOURNAL_FORMAT_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_DIR       "journal"
#define JOURNAL_AREA_FILE "area"

#define JOURNAL_MAGIC         UINT64_C(0x6c61656a2d66676c) /* "lgf-jeal" */
#define JOURNAL_VERSION       1U
#define JOURNAL_SEGMENT_MAGIC UINT64_C(0x746e656d67657321) /* "!segment" */
#define JOURNAL_SLOT_MAGIC    0x746f6c73U                  /* "slot" */

#define JOURNAL_HEAD_BYTES 4096U
/* What is full waits to be folded; the last free one is for removals. */
#define JOURNAL_SEGMENTS      4U
#define JOURNAL_SEGMENT_BYTES (1U << 20)
#define JOURNAL_ALIGN         16U
#define JOURNAL_AREA_BYTES                                                     \
	(JOURNAL_HEAD_BYTES + JOURNAL_SEGMENTS * JOURNAL_SEGMENT_BYTES)

struct journal_head {
	uint64_t magic;
	uint32_t version;
	uint32_t segments;
	uint32_t segment_bytes;
	uint32_t align;
	uint64_t key;   /* random: nobody outside can make a check come true */
	uint64_t check; /* of what is above */
	_Atomic uint64_t last_process; /* the highest number given */
	/* Of the kernel's life in which it was last opened to append: what is
	 * on disk after another may be older than what was seen. */
	uint64_t boot;
};
static_assert(sizeof(struct journal_head) == 56, "on disk");
static_assert(sizeof(struct journal_head) <= JOURNAL_HEAD_BYTES, "one page");

/* `cursor`: what has been given of the segment. */
#define JOURNAL_CURSOR_BYTES_BITS 21
#define JOURNAL_CURSOR_COUNT_BITS 20
#define JOURNAL_CURSOR_CLOSED     (UINT64_C(1) << 63)

struct journal_segment {
	uint64_t magic;
	_Atomic uint64_t generation; /* from 1 */
	uint64_t first_sequence;
	uint64_t check;          /* of what is above */
	_Atomic uint64_t cursor; /* bytes, then slots, then changes, given */
	uint64_t unused[3];
};
static_assert(sizeof(struct journal_segment) == 64, "on disk");
static_assert(sizeof(struct journal_segment) % JOURNAL_ALIGN == 0, "aligned");

enum journal_slot_state {
	JOURNAL_SLOT_BEGUN = 1,
	JOURNAL_SLOT_DONE = 2,
	JOURNAL_SLOT_MORE = 3,
	JOURNAL_SLOT_TAKEN = 4,
	JOURNAL_SLOT_FOLDED = 5,
};

/* `progress`: state, which outcome, a count of the changes, the low bits of
 * the generation. */
#define JOURNAL_PROGRESS_STATE            UINT64_C(0xf)
#define JOURNAL_PROGRESS_OUTCOME          UINT64_C(0x10)
#define JOURNAL_PROGRESS_COUNT            UINT64_C(0x100)
#define JOURNAL_PROGRESS_COUNT_MASK       UINT64_C(0xffffff00)
#define JOURNAL_PROGRESS_GENERATION_SHIFT 32

enum journal_slot_kind {
	JOURNAL_SLOT_CHANGE = 1,
	JOURNAL_SLOT_PROCESS = 2,
};

enum journal_slot_flags {
	JOURNAL_SLOT_BY_OPENER = 1 << 0,
	JOURNAL_SLOT_HAS_PATH2 = 1 << 1,
	JOURNAL_SLOT_NAMELESS = 1 << 2,
};

/* What is only known once a change is made. */
struct journal_outcome_raw {
	uint64_t ino;
	int64_t bytes;
	int64_t size_after;
	int64_t last_wall_ns;
	uint64_t count;
	int32_t mode_after;
	int32_t result;
	uint64_t check; /* of what is above */
};
static_assert(sizeof(struct journal_outcome_raw) == 56, "on disk");

struct journal_slot {
	_Atomic uint64_t progress;
	uint32_t magic;
	uint32_t size;  /* bytes, with strings and padding */
	uint64_t check; /* of generation, place, all below but the outcomes */
	uint64_t sequence; /* of a process: 0 */
	uint8_t kind;
	uint8_t op;
	uint8_t flags;
	uint8_t unused;
	uint16_t text_size[3]; /* without the NUL that ends each; below */
	uint16_t unused2[3];
	uint64_t process; /* who; of a process: its number */
	union {
		struct {
			int64_t wall_ns;
			int64_t mono_ns;
			int64_t offset;
			int64_t size_before;
			int64_t bytes;  /* asked for */
			uint64_t epoch; /* journal.h */
			int32_t mode_before;
			uint32_t unused3;
		} change;
		struct {
			uint64_t parent;
			uint64_t start_ticks;
			int32_t pid;
			int32_t ppid;
			uint32_t uid;
		} by;
	};
	struct journal_outcome_raw outcomes[2]; /* a process has none */
	/* A change: view, path, path2. A process: exe, command, cwd. */
	char text[];
};
static_assert(offsetof(struct journal_slot, outcomes) == 112, "on disk");
static_assert(offsetof(struct journal_slot, text) == 224, "on disk");

#define JOURNAL_TEXT_MAX 16384 /* each of the three; what is longer is cut */

#endif
