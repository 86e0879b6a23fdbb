#include "index_db.h"

static const char *column_text(sqlite3_stmt *row, int at)
{
	const char *text = (const char *)sqlite3_column_text(row, at);

	return text ? text : "";
}

static int64_t column_known(sqlite3_stmt *row, int at, int64_t unknown)
{
	return sqlite3_column_type(row, at) == SQLITE_NULL
		       ? unknown
		       : sqlite3_column_int64(row, at);
}

static void read_process(struct journal_process *process, sqlite3_stmt *row)
{
	const void *command = sqlite3_column_blob(row, 7);

	*process = (struct journal_process){
		.number = (uint64_t)sqlite3_column_int64(row, 0),
		.parent = (uint64_t)sqlite3_column_int64(row, 1),
		.pid = (pid_t)sqlite3_column_int64(row, 2),
		.ppid = (pid_t)sqlite3_column_int64(row, 3),
		.uid = (uid_t)sqlite3_column_int64(row, 4),
		.start_ticks = (uint64_t)sqlite3_column_int64(row, 5),
		.exe = column_text(row, 6),
		.command = command ? command : "",
		.command_size = (size_t)sqlite3_column_bytes(row, 7),
		.cwd = column_text(row, 8),
	};
}

static void read_record(struct journal_record *record, sqlite3_stmt *row)
{
	const char *path2 = (const char *)sqlite3_column_text(row, 9);
	const char *attribute = (const char *)sqlite3_column_text(row, 10);

	*record = (struct journal_record){
		.sequence = (uint64_t)sqlite3_column_int64(row, 0),
		.wall_ns = sqlite3_column_int64(row, 1),
		.last_wall_ns = sqlite3_column_int64(row, 2),
		.mono_ns = sqlite3_column_int64(row, 3),
		.op = (enum journal_op)sqlite3_column_int(row, 4),
		.state = (enum journal_state)sqlite3_column_int(row, 5),
		.result = sqlite3_column_int(row, 6),
		.view = column_text(row, 7),
		.path = column_text(row, 8),
		.path2 = path2 ? path2 : attribute,
		.process = (uint64_t)sqlite3_column_int64(row, 11),
		.by_opener = sqlite3_column_int(row, 12) != 0,
		.ino = (uint64_t)sqlite3_column_int64(row, 13),
		.offset = column_known(row, 14, -1),
		.bytes = column_known(row, 15, -1),
		.size_before = column_known(row, 16, -1),
		.size_after = column_known(row, 17, -1),
		.mode_before = (int32_t)column_known(row, 18, -1),
		.mode_after = (int32_t)column_known(row, 19, -1),
		.count = (uint64_t)sqlite3_column_int64(row, 20),
		.more = sqlite3_column_int(row, 21) != 0,
		.nameless = sqlite3_column_int(row, 22) != 0,
	};
}

/* All rows of a statement above `after`, given to the reader. */
static int read_rows(struct index *index, enum index_statement which,
		     const struct index_reader *reader, uint64_t after)
{
	sqlite3_stmt *row = index_statement(index, which);
	int code = SQLITE_DONE;
	int result = 0;

	if (!row) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	sqlite3_bind_int64(row, 1, (sqlite3_int64)after);
	while (!result && (code = sqlite3_step(row)) == SQLITE_ROW) {
		struct journal_process process;
		struct journal_record record;

		if (which == INDEX_READ_PROCESSES) {
			read_process(&process, row);
			result = reader->process(reader->data, &process);
		} else {
			read_record(&record, row);
			result = reader->record(reader->data, &record);
		}
	}
	sqlite3_reset(row);
	return result ? result : index_error(index->db, code);
}

int index_read(struct index *index, const struct index_reader *reader,
	       uint64_t after_process, uint64_t after_sequence)
{
	int error = index_error(
		index->db, sqlite3_exec(index->db, "BEGIN", NULL, NULL, NULL));

	if (error) {
		return error;
	}
	error = read_rows(index, INDEX_READ_PROCESSES, reader, after_process);
	error = error ? error
		      : read_rows(index, INDEX_READ_CHANGES, reader,
				  after_sequence);
	sqlite3_exec(index->db, "COMMIT", NULL, NULL, NULL);
	return error;
}

int index_forgotten(struct index *index, uint64_t *ret_count)
{
	return index_get_state(index, INDEX_FORGOTTEN, ret_count);
}
