#include "journal_batch.h"

#include <stdint.h>

void journal_batch_clear(struct journal_batch *batch)
{
	batch->n_records = 0;
	batch->n_processes = 0;
	if (batch->text.data) {
		buf_clear(&batch->text);
	}
}

void journal_batch_release(struct journal_batch *batch)
{
	free(batch->records);
	free(batch->processes);
	if (batch->text.data) {
		buf_release(&batch->text);
	}
	*batch = (struct journal_batch){0};
}

/* Room for one more in an array. */
static int grow(void **array, size_t *room, size_t used, size_t item_bytes)
{
	size_t wanted = *room ? *room * 2 : 64;
	void *grown;

	if (used < *room) {
		return 0;
	}
	grown = reallocarray(*array, wanted, item_bytes);
	if (!grown) {
		return -ENOMEM;
	}
	*array = grown;
	*room = wanted;
	return 0;
}

/* The slot's strings; `ret_at` are pointers in name only: offsets. */
static void add_text(struct buf *text, const struct journal_slot *slot,
		     const char *ret_at[3])
{
	const char *from = slot->text;

	if (!text->data) {
		*text = (struct buf)BUF_INIT;
	}
	for (size_t i = 0; i < 3; i++) {
		/* One more: NULL stays what it means. */
		ret_at[i] = (const char *)(uintptr_t)(text->len + 1);
		buf_add(text, from, slot->text_size[i]);
		buf_addc(text, '\0');
		from += slot->text_size[i] + 1;
	}
}

static int add_process(struct journal_batch *batch,
		       const struct journal_slot *slot)
{
	struct journal_process *process;
	const char *at[3];
	int error = grow((void **)&batch->processes, &batch->processes_room,
			 batch->n_processes, sizeof(*process));

	if (error) {
		return error;
	}
	add_text(&batch->text, slot, at);
	process = &batch->processes[batch->n_processes++];
	*process = (struct journal_process){
		.number = slot->process,
		.parent = slot->by.parent,
		.pid = slot->by.pid,
		.ppid = slot->by.ppid,
		.uid = slot->by.uid,
		.start_ticks = slot->by.start_ticks,
		.exe = at[0],
		.command = at[1],
		.command_size = slot->text_size[1],
		.cwd = at[2],
	};
	return buf_error(&batch->text);
}

static void fill_outcome(struct journal_record *record,
			 const struct journal_outcome_raw *outcome)
{
	record->state = JOURNAL_DONE;
	record->result = outcome->result;
	record->ino = outcome->ino;
	record->bytes = outcome->bytes;
	record->size_after = outcome->size_after;
	record->mode_after = outcome->mode_after;
	record->count = outcome->count;
	record->last_wall_ns = outcome->last_wall_ns;
}

static int add_change(struct journal_batch *batch,
		      const struct journal_slot *slot, uint64_t progress,
		      const struct journal_outcome_raw *outcome)
{
	uint64_t state = progress & JOURNAL_PROGRESS_STATE;
	struct journal_record *record;
	const char *at[3];
	int error = grow((void **)&batch->records, &batch->records_room,
			 batch->n_records, sizeof(*record));

	if (error) {
		return error;
	}
	add_text(&batch->text, slot, at);
	record = &batch->records[batch->n_records++];
	*record = (struct journal_record){
		.sequence = slot->sequence,
		.wall_ns = slot->change.wall_ns,
		.mono_ns = slot->change.mono_ns,
		.op = (enum journal_op)slot->op,
		.state = JOURNAL_BEGUN,
		.more = outcome && state == JOURNAL_SLOT_MORE,
		.view = at[0],
		.path = at[1],
		.path2 = slot->flags & JOURNAL_SLOT_HAS_PATH2 ? at[2] : NULL,
		.process = slot->process,
		.nameless = slot->flags & JOURNAL_SLOT_NAMELESS,
		.by_opener = slot->flags & JOURNAL_SLOT_BY_OPENER,
		.offset = slot->change.offset,
		.bytes = slot->change.bytes,
		.size_before = slot->change.size_before,
		.size_after = -1,
		.mode_before = slot->change.mode_before,
		.mode_after = -1,
		.count = 1,
		.last_wall_ns = slot->change.wall_ns,
	};
	if (outcome) {
		fill_outcome(record, outcome);
	}
	return buf_error(&batch->text);
}

int journal_batch_add(struct journal_batch *batch,
		      const struct journal_slot *slot, uint64_t progress,
		      const struct journal_outcome_raw *outcome)
{
	return slot->kind == JOURNAL_SLOT_PROCESS
		       ? add_process(batch, slot)
		       : add_change(batch, slot, progress, outcome);
}

static int by_sequence(const void *a, const void *b)
{
	const struct journal_record *left = a;
	const struct journal_record *right = b;

	return (left->sequence > right->sequence) -
	       (left->sequence < right->sequence);
}

static int by_number(const void *a, const void *b)
{
	const struct journal_process *left = a;
	const struct journal_process *right = b;

	return (left->number > right->number) - (left->number < right->number);
}

static void point(const char **at, const struct buf *text)
{
	if (*at) {
		*at = text->data + ((uintptr_t)*at - 1);
	}
}

int journal_batch_finish(struct journal_batch *batch)
{
	if (batch->text.data && buf_error(&batch->text)) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < batch->n_records; i++) {
		point(&batch->records[i].view, &batch->text);
		point(&batch->records[i].path, &batch->text);
		point(&batch->records[i].path2, &batch->text);
	}
	for (size_t i = 0; i < batch->n_processes; i++) {
		point(&batch->processes[i].exe, &batch->text);
		point(&batch->processes[i].command, &batch->text);
		point(&batch->processes[i].cwd, &batch->text);
	}
	if (batch->n_records) {
		qsort(batch->records, batch->n_records, sizeof(*batch->records),
		      by_sequence);
	}
	if (batch->n_processes) {
		qsort(batch->processes, batch->n_processes,
		      sizeof(*batch->processes), by_number);
	}
	return 0;
}
