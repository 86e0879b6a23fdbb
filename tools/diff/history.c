#include "history.h"

#include <string.h>

#include "index.h"
#include "journal_read.h"
#include "journal_words.h"
#include "visible.h"

/* More than these numbers are taken for damage. */
#define PROCESSES_MAX (1U << 24)

int history_open(struct history *history, const struct execution *execution)
{
	int dirfd = journal_open_dir(execution->dir_fd);

	if (dirfd < 0) {
		return dirfd;
	}
	*history = (struct history){.dirfd = dirfd};
	return 0;
}

void history_close(struct history *history)
{
	for (size_t i = 0; i < history->n_processes; i++) {
		free(history->processes[i]);
	}
	free(history->processes);
	if (history->dirfd >= 0) {
		close(history->dirfd);
	}
	*history = (struct history)HISTORY_INIT;
}

/* One block, with the strings behind it. */
static struct journal_process *copy_process(const struct journal_process *from)
{
	size_t exe_size = strlen(from->exe) + 1;
	size_t cwd_size = strlen(from->cwd) + 1;
	struct journal_process *copy = malloc(sizeof(*copy) + exe_size +
					      cwd_size + from->command_size);
	char *text = (char *)(copy + 1);

	if (!copy) {
		return NULL;
	}
	*copy = *from;
	copy->exe = memcpy(text, from->exe, exe_size);
	copy->cwd = memcpy(text + exe_size, from->cwd, cwd_size);
	copy->command = memcpy(text + exe_size + cwd_size, from->command,
			       from->command_size);
	return copy;
}

static int make_room(struct history *history, uint64_t number)
{
	size_t room = history->n_processes ? history->n_processes : 64;
	struct journal_process **grown;

	while (room <= number) {
		room *= 2;
	}
	grown = reallocarray(history->processes, room, sizeof(*grown));
	if (!grown) {
		return -ENOMEM;
	}
	memset(grown + history->n_processes, 0,
	       (room - history->n_processes) * sizeof(*grown));
	history->processes = grown;
	history->n_processes = room;
	return 0;
}

static int add_process(struct history *history,
		       const struct journal_process *process)
{
	uint64_t number = process->number;

	if (number == 0 || number > PROCESSES_MAX) {
		return 0;
	}
	if (number >= history->n_processes) {
		int error = make_room(history, number);

		if (error) {
			return error;
		}
	}
	if (!history->processes[number]) {
		history->processes[number] = copy_process(process);
	}
	return history->processes[number] ? 0 : -ENOMEM;
}

/* The records of the area and of the database, in step. */
struct merge {
	struct history *history;
	const struct journal_batch *area;
	size_t next; /* of the area */
	uint64_t after;
	history_fn *fn;
	void *data;
	int result; /* of fn */
};

/* Gives what the area has up to `sequence`, which the database has itself. */
static int give_area(struct merge *merge, uint64_t sequence)
{
	const struct journal_batch *area = merge->area;

	while (!merge->result && merge->next < area->n_records &&
	       area->records[merge->next].sequence <= sequence) {
		const struct journal_record *record =
			&area->records[merge->next++];

		if (record->sequence > merge->after &&
		    record->sequence < sequence) {
			merge->result = merge->fn(merge->data, record);
		}
	}
	return merge->result;
}

static int take_process(void *data, const struct journal_process *process)
{
	struct merge *merge = data;

	merge->result = add_process(merge->history, process);
	return merge->result;
}

static int take_record(void *data, const struct journal_record *record)
{
	struct merge *merge = data;

	if (!give_area(merge, record->sequence)) {
		merge->result = merge->fn(merge->data, record);
	}
	return merge->result;
}

static int read_database(struct merge *merge)
{
	const struct index_reader reader = {take_process, take_record, merge};
	struct history *history = merge->history;
	struct index *index = NULL;
	int error = index_open(&index, history->dirfd, INDEX_READ);

	/* Nothing was folded yet. */
	if (error == -ENOENT) {
		return 0;
	}
	error = error ? error : index_forgotten(index, &history->forgotten);
	error = error ? error : index_read(index, &reader, 0, merge->after);
	index_close(index);
	if (error && !merge->result && error != -ENOMEM) {
		history->database_error = error;
		error = 0;
	}
	return error;
}

int history_read(struct history *history, uint64_t after, history_fn *fn,
		 void *data)
{
	struct journal_batch area = {.text = BUF_INIT};
	struct merge merge = {
		.history = history,
		.area = &area,
		.after = after,
		.fn = fn,
		.data = data,
	};
	/* The area first: what is folded meanwhile is then in both. */
	int error = journal_read(history->dirfd, &area);

	if (error && error != -ENOMEM) {
		history->area_error = error == -ENOENT ? 0 : error;
		journal_batch_clear(&area);
		error = 0;
	}
	for (size_t i = 0; i < area.n_processes && !error; i++) {
		error = add_process(history, &area.processes[i]);
	}
	error = error ? error : read_database(&merge);
	error = error ? error : give_area(&merge, UINT64_MAX);
	journal_batch_release(&area);
	return error;
}

const struct journal_process *history_process(const struct history *history,
					      uint64_t number)
{
	return number < history->n_processes ? history->processes[number]
					     : NULL;
}

void history_add_label(struct buf *buf, const struct history *history,
		       uint64_t number)
{
	const struct journal_process *process =
		history_process(history, number);
	const char *name;
	const char *slash;

	if (!process) {
		buf_addc(buf, '?');
		return;
	}
	name = process->command_size ? process->command : process->exe;
	slash = strrchr(name, '/');
	name = slash && slash[1] ? slash + 1 : name;
	visible_add(buf, name, strlen(name));
	buf_addf(buf, "[%d]", (int)process->pid);
}

/* One line, whatever is in it. */
static void add_command(struct buf *buf, const struct journal_process *process)
{
	AUTO_BUF line = BUF_INIT;

	if (process->command_size) {
		journal_add_command(&line, process->command,
				    process->command_size);
	} else {
		buf_adds(&line, process->exe);
	}
	for (size_t i = 0; i < line.len; i++) {
		if (line.data[i] == '\n') {
			line.data[i] = ' ';
		}
	}
	visible_add(buf, line.data, line.len);
}

void history_add_process(struct buf *buf, const struct history *history,
			 uint64_t number, size_t width)
{
	const struct journal_process *process =
		history_process(history, number);
	size_t end = buf->len + width;

	history_add_label(buf, history, number);
	if (process) {
		buf_addc(buf, ' ');
		add_command(buf, process);
	}
	if (width && buf->len > end) {
		/* Not within a character. */
		while (end > 0 && (buf->data[end] & 0xc0) == 0x80) {
			end--;
		}
		buf_truncate(buf, end);
		buf_adds(buf, "...");
	}
}
