#include "journal_slot.h"

#include <string.h>
#include <xxhash.h>

#define FIXED_FROM offsetof(struct journal_slot, size)
#define FIXED_TO   offsetof(struct journal_slot, outcomes)

uint64_t journal_head_check(const struct journal_head *head)
{
	return XXH3_64bits(head, offsetof(struct journal_head, check));
}

uint64_t journal_segment_check(const struct journal_segment *segment,
			       uint64_t key)
{
	return XXH3_64bits_withSeed(
		segment, offsetof(struct journal_segment, check), key);
}

uint64_t journal_outcome_check(const struct journal_outcome_raw *outcome,
			       uint64_t key)
{
	return XXH3_64bits_withSeed(
		outcome, offsetof(struct journal_outcome_raw, check), key);
}

/* A slot is one only in its place and its segment's life. */
static uint64_t slot_check(const struct journal_slot *slot,
			   const struct journal_segment *segment, uint64_t key)
{
	uint64_t place = (uint64_t)((const char *)slot - (const char *)segment);
	uint64_t fixed;
	struct {
		uint32_t size;
		uint32_t place;
		uint64_t sequence_on[(FIXED_TO -
				      offsetof(struct journal_slot, sequence)) /
				     sizeof(uint64_t)];
	} head = {.size = slot->size, .place = (uint32_t)place};

	memcpy(head.sequence_on, &slot->sequence, sizeof(head.sequence_on));
	fixed = XXH3_64bits_withSeed(&head, sizeof(head),
				     key ^ journal_segment_generation(segment));
	return XXH3_64bits_withSeed(
		slot->text, slot->size - offsetof(struct journal_slot, text),
		fixed);
}

uint64_t journal_progress_to(uint64_t progress, enum journal_slot_state state,
			     bool flip)
{
	uint64_t count = (progress + JOURNAL_PROGRESS_COUNT) &
			 JOURNAL_PROGRESS_COUNT_MASK;

	progress &= ~(JOURNAL_PROGRESS_STATE | JOURNAL_PROGRESS_COUNT_MASK);
	progress ^= flip ? JOURNAL_PROGRESS_OUTCOME : 0;
	return progress | count | (uint64_t)state;
}

const struct journal_outcome_raw *
journal_slot_outcome(const struct journal_slot *slot, uint64_t progress,
		     uint64_t key)
{
	const struct journal_outcome_raw *outcome =
		&slot->outcomes[journal_progress_outcome(progress)];

	return slot->kind == JOURNAL_SLOT_CHANGE &&
			       journal_progress_state(progress) !=
				       JOURNAL_SLOT_BEGUN &&
			       outcome->check ==
				       journal_outcome_check(outcome, key)
		       ? outcome
		       : NULL;
}

/* Three strings, and their sizes, cut where they are longer than may be. */
struct text {
	const char *at[3];
	uint16_t size[3];
};

static uint16_t cut(size_t size)
{
	return (uint16_t)(size < JOURNAL_TEXT_MAX ? size : JOURNAL_TEXT_MAX);
}

static struct text text_of(const struct journal_record *record)
{
	struct text text = {
		.at = {record->view, record->path,
		       record->path2 ? record->path2 : ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(text.at); i++) {
		text.size[i] = cut(strlen(text.at[i]));
	}
	return text;
}

static struct text text_of_process(const struct journal_process *process)
{
	return (struct text){
		.at = {process->exe, process->command, process->cwd},
		.size = {cut(strlen(process->exe)), cut(process->command_size),
			 cut(strlen(process->cwd))},
	};
}

static uint32_t size_with(const struct text *text)
{
	uint32_t size = offsetof(struct journal_slot, text);

	for (size_t i = 0; i < ARRAY_SIZE(text->at); i++) {
		size += text->size[i] + 1U;
	}
	return (size + JOURNAL_ALIGN - 1) / JOURNAL_ALIGN * JOURNAL_ALIGN;
}

uint32_t journal_slot_size(const struct journal_record *record)
{
	const struct text text = text_of(record);

	return size_with(&text);
}

uint32_t journal_slot_process_size(const struct journal_process *process)
{
	const struct text text = text_of_process(process);

	return size_with(&text);
}

/* All but the check. An earlier life's slot may have begun here. */
static void start_fill(struct journal_slot *slot, const struct text *text)
{
	char *to = slot->text;
	char *end;

	atomic_store_explicit(&slot->progress, 0, memory_order_relaxed);
	/* release: it is gone before anything of it changes */
	atomic_thread_fence(memory_order_release);
	slot->magic = JOURNAL_SLOT_MAGIC;
	slot->size = size_with(text);
	memset(&slot->sequence, 0,
	       FIXED_TO - offsetof(struct journal_slot, sequence));
	end = (char *)slot + slot->size;
	for (size_t i = 0; i < ARRAY_SIZE(text->at); i++) {
		slot->text_size[i] = text->size[i];
		memcpy(to, text->at[i], text->size[i]);
		to[text->size[i]] = '\0';
		to += text->size[i] + 1;
	}
	memset(to, 0, (size_t)(end - to));
}

void journal_slot_fill(struct journal_slot *slot,
		       const struct journal_segment *segment, uint64_t key,
		       const struct journal_record *record, uint64_t sequence,
		       uint64_t epoch)
{
	const struct text text = text_of(record);

	start_fill(slot, &text);
	slot->sequence = sequence;
	slot->kind = JOURNAL_SLOT_CHANGE;
	slot->op = (uint8_t)record->op;
	slot->flags = (record->by_opener ? JOURNAL_SLOT_BY_OPENER : 0) |
		      (record->path2 ? JOURNAL_SLOT_HAS_PATH2 : 0) |
		      (record->nameless ? JOURNAL_SLOT_NAMELESS : 0);
	slot->process = record->process;
	slot->change.wall_ns = record->wall_ns;
	slot->change.mono_ns = record->mono_ns;
	slot->change.offset = record->offset;
	slot->change.size_before = record->size_before;
	slot->change.bytes = record->bytes;
	slot->change.mode_before = record->mode_before;
	slot->change.epoch = epoch;
	slot->check = slot_check(slot, segment, key);
}

void journal_slot_fill_process(struct journal_slot *slot,
			       const struct journal_segment *segment,
			       uint64_t key,
			       const struct journal_process *process)
{
	const struct text text = text_of_process(process);

	start_fill(slot, &text);
	slot->kind = JOURNAL_SLOT_PROCESS;
	slot->process = process->number;
	slot->by.parent = process->parent;
	slot->by.start_ticks = process->start_ticks;
	slot->by.pid = process->pid;
	slot->by.ppid = process->ppid;
	slot->by.uid = process->uid;
	slot->check = slot_check(slot, segment, key);
}

bool journal_segment_valid(const struct journal_segment *segment, uint64_t key)
{
	return segment->magic == JOURNAL_SEGMENT_MAGIC &&
	       journal_segment_generation(segment) &&
	       segment->check == journal_segment_check(segment, key);
}

static bool sizes_agree(const struct journal_slot *slot)
{
	uint32_t size = offsetof(struct journal_slot, text);

	for (size_t i = 0; i < ARRAY_SIZE(slot->text_size); i++) {
		if (slot->text_size[i] > JOURNAL_TEXT_MAX) {
			return false;
		}
		size += slot->text_size[i] + 1U;
	}
	return size <= slot->size && slot->size - size < JOURNAL_ALIGN;
}

/* Whether a slot of this life is at that place. */
static bool is_slot(const struct journal_scan *scan,
		    const struct journal_slot *slot, uint64_t progress)
{
	const char *end = (const char *)scan->segment + JOURNAL_SEGMENT_BYTES;
	enum journal_slot_state state = journal_progress_state(progress);

	if (state < JOURNAL_SLOT_BEGUN || state > JOURNAL_SLOT_FOLDED ||
	    !journal_progress_is_of(
		    progress, journal_segment_generation(scan->segment)) ||
	    slot->magic != JOURNAL_SLOT_MAGIC ||
	    slot->size > (size_t)(end - (const char *)slot)) {
		return false;
	}
	return (slot->kind == JOURNAL_SLOT_CHANGE ||
		slot->kind == JOURNAL_SLOT_PROCESS) &&
	       slot->size % JOURNAL_ALIGN == 0 && sizes_agree(slot) &&
	       slot->check == slot_check(slot, scan->segment, scan->key);
}

struct journal_slot *journal_scan_next(struct journal_scan *scan,
				       uint64_t *ret_progress)
{
	if (!scan->at) {
		scan->at = sizeof(struct journal_segment);
	}
	while (scan->at + offsetof(struct journal_slot, text) <
	       JOURNAL_SEGMENT_BYTES) {
		/* The reader's memory is its own, the daemon's may be written
		 * to: that it is not const is the caller's business. */
		struct journal_slot *slot =
			(struct journal_slot *)((char *)(uintptr_t)
							scan->segment +
						scan->at);
		/* acquire: pairs with the release of BEGUN and what follows */
		uint64_t progress = atomic_load_explicit(&slot->progress,
							 memory_order_acquire);

		if (is_slot(scan, slot, progress)) {
			scan->at += slot->size;
			*ret_progress = progress;
			return slot;
		}
		scan->at += JOURNAL_ALIGN;
	}
	return NULL;
}
