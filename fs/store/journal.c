#include "journal.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "journal_area.h"
#include "journal_slot.h"
#include "lock.h"
#include "sys.h"

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* After a start of the machine numbers may have been given that the disk does
 * not know of. More than can be given between two write-backs. */
#define BOOT_GAP (UINT64_C(1) << 24)

#define CURSOR_BYTE   UINT64_C(1)
#define CURSOR_SLOT   (CURSOR_BYTE << JOURNAL_CURSOR_BYTES_BITS)
#define CURSOR_CHANGE (CURSOR_SLOT << JOURNAL_CURSOR_COUNT_BITS)

struct segment {
	struct journal_segment *at;
	bool free;     /* guarded by: lock. For the next life */
	bool leftover; /* of an earlier daemon: nobody is at it */
};

struct journal {
	struct journal_area area;
	uint64_t key;
	unsigned int wait_ms;
	/* Appended to; NULL: none yet. Set under `lock`, released; read with
	 * acquire. */
	struct journal_segment *_Atomic current;
	struct segment segments[JOURNAL_SEGMENTS];
	struct segment *taken; /* the folding thread's */

	struct lock lock;
	pthread_cond_t room;
	pthread_cond_t work;
	uint64_t generation;    /* guarded by: lock. The last given */
	uint64_t next_sequence; /* guarded by: lock. Of the next segment */
	int fold_error;         /* guarded by: lock */
	uint64_t folds;         /* guarded by: lock. Tried, to see progress */
	bool has_work;          /* guarded by: lock */
};

static uint64_t cursor_bytes(uint64_t cursor)
{
	return cursor & (CURSOR_SLOT - 1);
}

static uint64_t cursor_slots(uint64_t cursor)
{
	return (cursor / CURSOR_SLOT) & (CURSOR_CHANGE / CURSOR_SLOT - 1);
}

static uint64_t cursor_changes(uint64_t cursor)
{
	return (cursor & ~JOURNAL_CURSOR_CLOSED) / CURSOR_CHANGE;
}

/* ------------------------------------------------------------------- opening
 */

int journal_make_dir(int execution_dirfd)
{
	int error = sys_mkdirat(execution_dirfd, JOURNAL_DIR, 0700);
	int fd = error && error != -EEXIST
			 ? error
			 : sys_openat(execution_dirfd, JOURNAL_DIR,
				      O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd >= 0) {
		/* For the files that SQLite makes in it, and maps. */
		sys_write_in_place(fd);
	}
	return fd;
}

/* Tells one life of the kernel from another; 0 where it isn't known. */
static uint64_t boot_id(void)
{
	AUTO_FD fd = sys_openat(AT_FDCWD, BOOT_ID_FILE, O_RDONLY, 0);
	AUTO_BUF text = BUF_INIT;

	return fd < 0 || fdio_read_all(fd, &text, 256)
		       ? 0
		       : XXH3_64bits(text.data, text.len);
}

/* What an earlier life left in the segment, and how far numbers went. */
static void recover_segment(struct journal *journal, struct segment *segment)
{
	struct journal_scan scan = {.segment = segment->at,
				    .key = journal->key};
	const struct journal_slot *slot;
	uint64_t progress;
	uint64_t next;
	uint64_t last_process = atomic_load_explicit(
		&journal->area.head->last_process, memory_order_relaxed);

	segment->free = true;
	if (!journal_segment_valid(segment->at, journal->key)) {
		return;
	}
	next = segment->at->first_sequence +
	       cursor_changes(atomic_load_explicit(&segment->at->cursor,
						   memory_order_relaxed));
	while ((slot = journal_scan_next(&scan, &progress))) {
		segment->free = false;
		if (slot->kind == JOURNAL_SLOT_CHANGE) {
			next = slot->sequence < next ? next
						     : slot->sequence + 1;
		} else if (slot->process > last_process) {
			last_process = slot->process;
		}
	}
	segment->leftover = !segment->free;
	if (next > journal->next_sequence) {
		journal->next_sequence = next;
	}
	if (journal_segment_generation(segment->at) > journal->generation) {
		journal->generation = journal_segment_generation(segment->at);
	}
	atomic_store_explicit(&journal->area.head->last_process, last_process,
			      memory_order_relaxed);
}

static void recover(struct journal *journal)
{
	struct journal_head *head = journal->area.head;
	uint64_t boot = boot_id();

	journal->next_sequence = 1;
	for (unsigned int i = 0; i < JOURNAL_SEGMENTS; i++) {
		journal->segments[i].at = journal_area_segment(head, i);
		recover_segment(journal, &journal->segments[i]);
	}
	if (journal->generation && head->boot != boot) {
		journal->next_sequence += BOOT_GAP;
		atomic_fetch_add_explicit(&head->last_process, BOOT_GAP,
					  memory_order_relaxed);
	}
	head->boot = boot;
}

int journal_open(struct journal **ret_journal, int journal_dirfd,
		 const struct journal_options *options)
{
	struct journal *journal = calloc(1, sizeof(*journal));
	int error;

	if (!journal) {
		return -ENOMEM;
	}
	error = journal_area_open(&journal->area, journal_dirfd);
	if (error) {
		free(journal);
		return error;
	}
	journal->key = journal->area.head->key;
	journal->wait_ms = options->wait_ms;
	lock_init(&journal->lock, LOCK_RANK_QUEUE, 0);
	lock_cond_init(&journal->room);
	lock_cond_init(&journal->work);
	recover(journal);
	*ret_journal = journal;
	return 0;
}

void journal_close(struct journal *journal)
{
	if (!journal) {
		return;
	}
	journal_area_close(&journal->area);
	pthread_cond_destroy(&journal->room);
	pthread_cond_destroy(&journal->work);
	lock_release(&journal->lock);
	free(journal);
}

/* ----------------------------------------------------------------- appending
 */

/* Begins the segment's next life, after the present one's last sequence. */
static void begin_segment_locked(struct journal *journal,
				 struct segment *segment)
{
	struct journal_segment *at = segment->at;

	segment->free = false;
	segment->leftover = false;
	at->magic = JOURNAL_SEGMENT_MAGIC;
	atomic_store_explicit(&at->generation, ++journal->generation,
			      memory_order_relaxed);
	at->first_sequence = journal->next_sequence;
	at->check = journal_segment_check(at, journal->key);
	/* release: whoever is given room sees the head */
	atomic_store_explicit(&at->cursor, 0, memory_order_release);
	atomic_store_explicit(&journal->current, at, memory_order_release);
}

/* No more room is given of it. */
static void close_segment_locked(struct journal *journal,
				 struct journal_segment *segment)
{
	uint64_t cursor = atomic_fetch_or_explicit(
		&segment->cursor, JOURNAL_CURSOR_CLOSED, memory_order_acq_rel);

	if (!(cursor & JOURNAL_CURSOR_CLOSED)) {
		journal->next_sequence =
			segment->first_sequence + cursor_changes(cursor);
		journal->has_work = true;
		pthread_cond_signal(&journal->work);
	}
}

/* One that may be taken, or NULL. The last free one is for removals. */
static struct segment *free_segment_locked(struct journal *journal,
					   enum journal_room room)
{
	struct segment *found = NULL;
	unsigned int count = 0;

	for (unsigned int i = JOURNAL_SEGMENTS; i-- > 0;) {
		if (journal->segments[i].free) {
			found = &journal->segments[i];
			count++;
		}
	}
	return count > (room == JOURNAL_TAKES ? 1U : 0U) ? found : NULL;
}

/* Waits once for the thread that folds. 0 (look again) or -errno. */
static int wait_locked(struct journal *journal)
{
	uint64_t folds = journal->folds;
	int error;

	journal->has_work = true;
	pthread_cond_signal(&journal->work);
	if (journal->fold_error) {
		return journal->fold_error;
	}
	error = lock_wait(&journal->lock, &journal->room, journal->wait_ms);
	return error && journal->folds == folds ? -EIO : 0;
}

/* Goes on in another segment than `full`, which may be NULL. */
static int next_segment(struct journal *journal, struct journal_segment *full,
			enum journal_room room)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&journal->lock);
	struct segment *segment;

	(void)held;
	/* relaxed: only set under the lock */
	while (atomic_load_explicit(&journal->current, memory_order_relaxed) ==
	       full) {
		int error;

		if (full) {
			close_segment_locked(journal, full);
		}
		segment = free_segment_locked(journal, room);
		if (segment) {
			begin_segment_locked(journal, segment);
			return 0;
		}
		error = wait_locked(journal);
		if (error) {
			return error;
		}
	}
	return 0;
}

/* Room in a segment, and the sequence that goes with it. */
struct given {
	struct journal_segment *segment;
	struct journal_slot *slot;
	uint64_t sequence;
};

static bool give(struct journal_segment *segment, uint32_t size, bool change,
		 struct given *ret_given)
{
	uint64_t step =
		size * CURSOR_BYTE + CURSOR_SLOT + (change ? CURSOR_CHANGE : 0);
	/* acquire: pairs with begin_segment_locked */
	uint64_t cursor =
		atomic_load_explicit(&segment->cursor, memory_order_acquire);

	do {
		if (cursor & JOURNAL_CURSOR_CLOSED ||
		    sizeof(*segment) + cursor_bytes(cursor) + size >
			    JOURNAL_SEGMENT_BYTES) {
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(
		&segment->cursor, &cursor, cursor + step, memory_order_acquire,
		memory_order_acquire));
	/* From now on the segment can't begin another life. */
	*ret_given = (struct given){
		.segment = segment,
		.slot = (struct journal_slot *)((char *)(segment + 1) +
						cursor_bytes(cursor)),
		.sequence = segment->first_sequence + cursor_changes(cursor),
	};
	return true;
}

static int reserve(struct journal *journal, uint32_t size, bool change,
		   enum journal_room room, struct given *ret_given)
{
	for (;;) {
		struct journal_segment *segment = atomic_load_explicit(
			&journal->current, memory_order_acquire);
		int error;

		if (segment && give(segment, size, change, ret_given)) {
			return 0;
		}
		error = next_segment(journal, segment, room);
		if (error) {
			return error;
		}
	}
}

static void publish(struct journal_slot *slot, uint64_t progress)
{
	/* release: the slot is whole before it is there */
	atomic_store_explicit(&slot->progress, progress, memory_order_release);
}

int journal_begin(struct journal *journal, const struct journal_record *record,
		  uint64_t epoch, enum journal_room room,
		  struct journal_ref *ret_ref)
{
	struct given given;
	int error =
		reserve(journal, journal_slot_size(record), true, room, &given);

	if (error) {
		return error;
	}
	journal_slot_fill(given.slot, given.segment, journal->key, record,
			  given.sequence, epoch);
	ret_ref->slot = given.slot;
	ret_ref->progress = journal_progress(
		JOURNAL_SLOT_BEGUN, journal_segment_generation(given.segment));
	publish(given.slot, ret_ref->progress);
	return 0;
}

void journal_done(struct journal *journal, const struct journal_ref *ref,
		  const struct journal_outcome *outcome)
{
	uint64_t done =
		journal_progress_to(ref->progress, JOURNAL_SLOT_DONE, true);
	struct journal_outcome_raw raw = {
		.ino = outcome->ino,
		.bytes = outcome->bytes,
		.size_after = outcome->size_after,
		.last_wall_ns = outcome->last_wall_ns,
		.count = outcome->count,
		.mode_after = outcome->mode_after,
		.result = outcome->result,
	};

	raw.check = journal_outcome_check(&raw, journal->key);
	ref->slot->outcomes[journal_progress_outcome(done)] = raw;
	publish(ref->slot, done);
}

uint64_t journal_token(const struct journal *journal,
		       const struct journal_ref *ref)
{
	uint64_t place = (uint64_t)((const char *)ref->slot -
				    (const char *)journal->area.head);

	return ref->progress >> JOURNAL_PROGRESS_GENERATION_SHIFT
					<< JOURNAL_PROGRESS_GENERATION_SHIFT |
	       place;
}

/* A slot with this token that is done, made ours; or NULL. */
static struct journal_slot *own_again(const struct journal *journal,
				      uint64_t token, uint64_t *ret_progress)
{
	struct journal_slot *slot =
		(struct journal_slot *)((char *)journal->area.head +
					(uint32_t)token);
	unsigned int index =
		((uint32_t)token - JOURNAL_HEAD_BYTES) / JOURNAL_SEGMENT_BYTES;
	uint64_t generation =
		journal_segment_generation(journal->segments[index].at);
	uint64_t progress =
		atomic_load_explicit(&slot->progress, memory_order_relaxed);
	uint64_t more;

	/* In another life of the segment anything may be at that place. */
	if (!journal_progress_is_of(token, generation) ||
	    !journal_progress_is_of(progress, generation) ||
	    journal_progress_state(progress) != JOURNAL_SLOT_DONE) {
		return NULL;
	}
	more = journal_progress_to(progress, JOURNAL_SLOT_MORE, false);
	/* acquire: the outcome of whoever had it last is seen */
	if (!atomic_compare_exchange_strong_explicit(&slot->progress, &progress,
						     more, memory_order_acquire,
						     memory_order_relaxed)) {
		return NULL;
	}
	*ret_progress = more;
	return slot;
}

bool journal_resume(struct journal *journal, uint64_t token,
		    const struct journal_record *record, uint64_t epoch,
		    struct journal_ref *ret_ref,
		    struct journal_outcome *ret_outcome)
{
	uint64_t progress;
	struct journal_slot *slot =
		token ? own_again(journal, token, &progress) : NULL;
	const struct journal_outcome_raw *raw;

	if (!slot) {
		return false;
	}
	raw = &slot->outcomes[journal_progress_outcome(progress)];
	if (slot->process != record->process || slot->op != record->op ||
	    slot->change.epoch != epoch || raw->result) {
		publish(slot, journal_progress_to(progress, JOURNAL_SLOT_DONE,
						  false));
		return false;
	}
	*ret_ref = (struct journal_ref){.slot = slot, .progress = progress};
	*ret_outcome = (struct journal_outcome){
		.ino = raw->ino,
		.bytes = raw->bytes,
		.size_after = raw->size_after,
		.mode_after = raw->mode_after,
		.count = raw->count,
		.last_wall_ns = raw->last_wall_ns,
	};
	return true;
}

int journal_add_process(struct journal *journal,
			struct journal_process *process, enum journal_room room)
{
	struct given given;
	int error = reserve(journal, journal_slot_process_size(process), false,
			    room, &given);

	if (error) {
		return error;
	}
	/* relaxed: only uniqueness matters */
	process->number =
		1 + atomic_fetch_add_explicit(&journal->area.head->last_process,
					      1, memory_order_relaxed);
	journal_slot_fill_process(given.slot, given.segment, journal->key,
				  process);
	publish(given.slot,
		journal_progress(JOURNAL_SLOT_DONE,
				 journal_segment_generation(given.segment)));
	return 0;
}

/* ------------------------------------------------------------------- folding
 */

void journal_wait_work(struct journal *journal, unsigned int ms)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&journal->lock);

	(void)held;
	while (!journal->has_work) {
		if (lock_wait(&journal->lock, &journal->work, ms)) {
			break;
		}
	}
	journal->has_work = false;
}

void journal_wake(struct journal *journal)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&journal->lock);

	(void)held;
	journal->has_work = true;
	pthread_cond_signal(&journal->work);
}

/* Whether the slot may be folded now; then nobody changes it any more. */
static bool take_slot(const struct segment *segment, struct journal_slot *slot,
		      uint64_t *progress)
{
	uint64_t taken =
		journal_progress_to(*progress, JOURNAL_SLOT_TAKEN, false);

	switch (journal_progress_state(*progress)) {
	case JOURNAL_SLOT_TAKEN:
		return true;
	case JOURNAL_SLOT_FOLDED:
		/* By an earlier life; whether that was for good isn't known. */
		return segment->leftover;
	case JOURNAL_SLOT_BEGUN:
	case JOURNAL_SLOT_MORE:
		return segment->leftover;
	case JOURNAL_SLOT_DONE:
		break;
	}
	/* acquire: the outcome that holds is seen */
	return atomic_compare_exchange_strong_explicit(
		&slot->progress, progress, taken, memory_order_acquire,
		memory_order_relaxed);
}

static int take_from(struct journal *journal, struct segment *segment,
		     struct journal_batch *batch)
{
	struct journal_scan scan = {.segment = segment->at,
				    .key = journal->key};
	struct journal_slot *slot;
	uint64_t progress;
	int error = 0;

	while (!error && (slot = journal_scan_next(&scan, &progress))) {
		if (take_slot(segment, slot, &progress)) {
			error = journal_batch_add(
				batch, slot, progress,
				journal_slot_outcome(slot, progress,
						     journal->key));
		}
	}
	return error;
}

/* The segments in use, the oldest first. */
static size_t used_segments(struct journal *journal,
			    struct segment *ret_used[JOURNAL_SEGMENTS])
{
	size_t count = 0;

	lock_take(&journal->lock);
	for (unsigned int i = 0; i < JOURNAL_SEGMENTS; i++) {
		struct segment *segment = &journal->segments[i];
		size_t at = count;

		if (segment->free) {
			continue;
		}
		while (at > 0 &&
		       journal_segment_generation(ret_used[at - 1]->at) >
			       journal_segment_generation(segment->at)) {
			ret_used[at] = ret_used[at - 1];
			at--;
		}
		ret_used[at] = segment;
		count++;
	}
	lock_drop(&journal->lock);
	return count;
}

/* Marks what was taken; whether the segment's next life may begin. */
static bool mark_folded(const struct journal *journal,
			const struct segment *segment)
{
	struct journal_scan scan = {.segment = segment->at,
				    .key = journal->key};
	struct journal_slot *slot;
	uint64_t progress;
	uint64_t cursor = atomic_load_explicit(&segment->at->cursor,
					       memory_order_acquire);
	uint64_t folded = 0;

	while ((slot = journal_scan_next(&scan, &progress))) {
		if (journal_progress_state(progress) == JOURNAL_SLOT_TAKEN) {
			publish(slot, journal_progress_to(progress,
							  JOURNAL_SLOT_FOLDED,
							  false));
		}
		folded +=
			journal_progress_state(progress) ==
				JOURNAL_SLOT_TAKEN ||
			journal_progress_state(progress) == JOURNAL_SLOT_FOLDED;
	}
	return segment->leftover || (cursor & JOURNAL_CURSOR_CLOSED &&
				     folded == cursor_slots(cursor));
}

/* Makes the segment free, and tells those who wait. */
static void free_segment(struct journal *journal, struct segment *segment)
{
	lock_take(&journal->lock);
	segment->free = true;
	pthread_cond_broadcast(&journal->room);
	lock_drop(&journal->lock);
}

int journal_take(struct journal *journal, struct journal_batch *batch)
{
	struct segment *used[JOURNAL_SEGMENTS];
	size_t count = used_segments(journal, used);

	for (size_t i = 0; i < count; i++) {
		int error = take_from(journal, used[i], batch);

		if (error) {
			return error;
		}
		if (batch->n_records || batch->n_processes) {
			journal->taken = used[i];
			error = journal_batch_finish(batch);
			return error ? error : 1;
		}
		/* All of it was folded before it was full. */
		if (mark_folded(journal, used[i])) {
			free_segment(journal, used[i]);
		}
	}
	return 0;
}

void journal_folded(struct journal *journal, int error)
{
	struct segment *segment = journal->taken;
	bool done = !error && segment && mark_folded(journal, segment);

	lock_take(&journal->lock);
	journal->fold_error = error;
	journal->folds++;
	if (done) {
		segment->free = true;
	}
	/* For the error, too. */
	pthread_cond_broadcast(&journal->room);
	lock_drop(&journal->lock);
	journal->taken = NULL;
}
