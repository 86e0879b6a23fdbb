/*
 * Prints an execution's journal, the area and the database together, as JSON:
 * one line for each process and each change. Numbers as they are; texts with a
 * byte per character (latin-1), so that any name comes through.
 *
 * usage: journal-dump EXECUTION
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "index.h"
#include "journal_read.h"

/* What the database has, so that it isn't told twice. */
struct told {
	uint64_t *sequences;
	size_t n_sequences;
	uint64_t *processes;
	size_t n_processes;
};

static void print_text(const char *key, const char *text, size_t size)
{
	printf(", \"%s\": \"", key);
	for (size_t i = 0; i < size; i++) {
		printf("\\u%04x", (unsigned char)text[i]);
	}
	putchar('"');
}

static void print_process(const struct journal_process *process)
{
	printf("{\"kind\": \"process\", \"number\": %llu, \"parent\": %llu, "
	       "\"pid\": %d, \"ppid\": %d, \"uid\": %u, \"start\": %llu",
	       (unsigned long long)process->number,
	       (unsigned long long)process->parent, (int)process->pid,
	       (int)process->ppid, (unsigned int)process->uid,
	       (unsigned long long)process->start_ticks);
	print_text("exe", process->exe, strlen(process->exe));
	print_text("command", process->command, process->command_size);
	print_text("cwd", process->cwd, strlen(process->cwd));
	puts("}");
}

static void print_record(const struct journal_record *record)
{
	printf("{\"kind\": \"change\", \"sequence\": %llu, \"wall\": %lld, "
	       "\"mono\": %lld, \"op\": %d, \"done\": %d, \"more\": %d, "
	       "\"result\": %d, \"ino\": %llu, \"process\": %llu, "
	       "\"by_opener\": %d, \"nameless\": %d, \"offset\": %lld, "
	       "\"bytes\": %lld, \"size_before\": %lld, \"size_after\": %lld, "
	       "\"mode_before\": %d, \"mode_after\": %d, \"count\": %llu",
	       (unsigned long long)record->sequence, (long long)record->wall_ns,
	       (long long)record->mono_ns, (int)record->op,
	       record->state == JOURNAL_DONE, record->more, record->result,
	       (unsigned long long)record->ino,
	       (unsigned long long)record->process, record->by_opener,
	       record->nameless, (long long)record->offset,
	       (long long)record->bytes, (long long)record->size_before,
	       (long long)record->size_after, (int)record->mode_before,
	       (int)record->mode_after, (unsigned long long)record->count);
	print_text("view", record->view, strlen(record->view));
	print_text("path", record->path, strlen(record->path));
	if (record->path2) {
		print_text("path2", record->path2, strlen(record->path2));
	}
	puts("}");
}

static void note(uint64_t **numbers, size_t *count, uint64_t number)
{
	*numbers = reallocarray(*numbers, *count + 1, sizeof(**numbers));
	if (!*numbers) {
		die("out of memory");
	}
	(*numbers)[(*count)++] = number;
}

static bool is_in(const uint64_t *numbers, size_t count, uint64_t number)
{
	for (size_t i = count; i-- > 0;) {
		if (numbers[i] == number) {
			return true;
		}
	}
	return false;
}

static int tell_process(void *data, const struct journal_process *process)
{
	struct told *told = data;

	note(&told->processes, &told->n_processes, process->number);
	print_process(process);
	return 0;
}

static int tell_record(void *data, const struct journal_record *record)
{
	struct told *told = data;

	note(&told->sequences, &told->n_sequences, record->sequence);
	print_record(record);
	return 0;
}

static void read_database(int dir, struct told *told)
{
	const struct index_reader reader = {
		.process = tell_process,
		.record = tell_record,
		.data = told,
	};
	struct index *index;
	int error = index_open(&index, dir, INDEX_READ);

	if (error == -ENOENT) {
		return; /* nothing was folded yet */
	}
	error = error ? error : index_read(index, &reader, 0, 0);
	if (error) {
		die("database: error %d", error);
	}
	index_close(index);
}

int main(int argc, char **argv)
{
	struct journal_batch batch = {0};
	struct told told = {0};
	int folder = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY) : -1;
	int dir = folder >= 0 ? journal_open_dir(folder) : -1;
	int error;

	if (dir < 0) {
		die("no journal");
	}
	/* The area first: what leaves it is in the database by then. */
	error = journal_read(dir, &batch);
	if (error) {
		die("area: error %d", error);
	}
	read_database(dir, &told);
	for (size_t i = 0; i < batch.n_processes; i++) {
		if (!is_in(told.processes, told.n_processes,
			   batch.processes[i].number)) {
			print_process(&batch.processes[i]);
		}
	}
	for (size_t i = 0; i < batch.n_records; i++) {
		if (!is_in(told.sequences, told.n_sequences,
			   batch.records[i].sequence)) {
			print_record(&batch.records[i]);
		}
	}
	journal_batch_release(&batch);
	free(told.sequences);
	free(told.processes);
	close(dir);
	close(folder);
	return 0;
}
