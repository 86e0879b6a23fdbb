#include "index_db.h"

#include <fcntl.h>
#include <string.h>
#include <xxhash.h>

#include "journal_words.h"
#include "sys.h"

static int last_error(const struct index *index)
{
	return index_error(index->db, sqlite3_errcode(index->db));
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static void bind_number(sqlite3_stmt *statement, int at, int64_t value)
{
	sqlite3_bind_int64(statement, at, value);
}

/* NULL, where it is `unknown`. */
static void bind_known(sqlite3_stmt *statement, int at, int64_t value,
		       int64_t unknown)
{
	if (value == unknown) {
		sqlite3_bind_null(statement, at);
	} else {
		sqlite3_bind_int64(statement, at, value);
	}
}

static int add_process(struct index *index,
		       const struct journal_process *process)
{
	sqlite3_stmt *add = index_statement(index, INDEX_ADD_PROCESS);

	if (!add) {
		return last_error(index);
	}
	buf_clear(&index->text);
	journal_add_command(&index->text, process->command,
			    process->command_size);
	if (buf_error(&index->text)) {
		return -ENOMEM;
	}
	bind_number(add, 1, (int64_t)process->number);
	bind_known(add, 2, (int64_t)process->parent, 0);
	bind_number(add, 3, process->pid);
	bind_number(add, 4, process->ppid);
	bind_number(add, 5, process->uid);
	bind_number(add, 6, (int64_t)process->start_ticks);
	bind_text(add, 7, process->exe);
	sqlite3_bind_text(add, 8, index->text.data, (int)index->text.len,
			  SQLITE_STATIC);
	/* An empty one must not become NULL. */
	sqlite3_bind_blob(add, 9, process->command_size ? process->command : "",
			  (int)process->command_size, SQLITE_STATIC);
	bind_text(add, 10, process->cwd);
	return index_run(index, INDEX_ADD_PROCESS);
}

/* ------------------------------------------------ paths, by their numbers */

void index_drop_cache(struct index *index)
{
	for (size_t i = 0; i < INDEX_CACHED_PATHS; i++) {
		free(index->cached[i].view);
		index->cached[i] = (struct index_cached){0};
	}
}

static struct index_cached *cache_slot(struct index *index, const char *path)
{
	return &index->cached[XXH3_64bits(path, strlen(path)) %
			      INDEX_CACHED_PATHS];
}

/* Forgets another path for it; without memory it is not kept, and that is all.
 */
static void cache_path(struct index_cached *slot, const char *view,
		       const char *path, sqlite3_int64 number)
{
	size_t view_size = strlen(view) + 1;
	size_t path_size = strlen(path) + 1;
	char *both = malloc(view_size + path_size);

	free(slot->view);
	*slot = (struct index_cached){0};
	if (both) {
		memcpy(both, view, view_size);
		memcpy(both + view_size, path, path_size);
		*slot = (struct index_cached){number, both, both + view_size};
	}
}

static int add_path(struct index *index, const char *view, const char *path,
		    sqlite3_int64 *ret_number)
{
	sqlite3_stmt *add = index_statement(index, INDEX_ADD_PATH);
	int error;

	if (!add) {
		return last_error(index);
	}
	bind_text(add, 1, path);
	bind_text(add, 2, view);
	error = index_run(index, INDEX_ADD_PATH);
	if (!error) {
		*ret_number = sqlite3_last_insert_rowid(index->db);
	}
	return error;
}

static int number_path(struct index *index, const char *view, const char *path,
		       sqlite3_int64 *ret_number)
{
	struct index_cached *slot = cache_slot(index, path);
	sqlite3_stmt *find;
	int error = 0;
	int code;

	if (slot->number && strcmp(slot->path, path) == 0 &&
	    strcmp(slot->view, view) == 0) {
		*ret_number = slot->number;
		return 0;
	}
	find = index_statement(index, INDEX_FIND_PATH);
	if (!find) {
		return last_error(index);
	}
	bind_text(find, 1, path);
	bind_text(find, 2, view);
	code = sqlite3_step(find);
	if (code == SQLITE_ROW) {
		*ret_number = sqlite3_column_int64(find, 0);
	}
	sqlite3_reset(find);
	if (code != SQLITE_ROW) {
		error = code == SQLITE_DONE
				? add_path(index, view, path, ret_number)
				: index_error(index->db, code);
	}
	if (!error) {
		cache_path(slot, view, path, *ret_number);
	}
	return error;
}

/* --------------------------------------------------------------- changes */

static void bind_change(sqlite3_stmt *add, const struct journal_record *record)
{
	bind_number(add, 1, (int64_t)record->sequence);
	bind_number(add, 2, record->wall_ns);
	bind_number(add, 3, record->last_wall_ns);
	bind_number(add, 4, record->mono_ns);
	bind_number(add, 5, record->op);
	bind_number(add, 6, record->state);
	bind_number(add, 7, record->result);
	bind_known(add, 11, (int64_t)record->process, 0);
	bind_number(add, 12, record->by_opener);
	bind_known(add, 13, (int64_t)record->ino, 0);
	bind_known(add, 14, record->offset, -1);
	bind_known(add, 15, record->bytes, -1);
	bind_known(add, 16, record->size_before, -1);
	bind_known(add, 17, record->size_after, -1);
	bind_known(add, 18, record->mode_before, -1);
	bind_known(add, 19, record->mode_after, -1);
	bind_number(add, 20, (int64_t)record->count);
	bind_number(add, 21, record->more);
	bind_number(add, 22, record->nameless);
}

static int add_change(struct index *index, const struct journal_record *record)
{
	bool second = record->path2 && journal_op_has_second_path(record->op);
	sqlite3_stmt *add;
	sqlite3_int64 path = 0;
	sqlite3_int64 path2 = 0;
	int error = number_path(index, record->view, record->path, &path);

	if (!error && second) {
		error = number_path(index, record->view, record->path2, &path2);
	}
	add = error ? NULL : index_statement(index, INDEX_ADD_CHANGE);
	if (!add) {
		return error ? error : last_error(index);
	}
	bind_change(add, record);
	bind_number(add, 8, path);
	bind_known(add, 9, path2, 0);
	bind_text(add, 10, second ? NULL : record->path2);
	error = index_run(index, INDEX_ADD_CHANGE);
	if (!error) {
		index->counts.changes += (uint64_t)sqlite3_changes(index->db);
		if (record->sequence > index->counts.last) {
			index->counts.last = record->sequence;
		}
	}
	return error;
}

static int fold(struct index *index, const struct journal_process *processes,
		size_t n_processes, const struct journal_record *records,
		size_t n_records)
{
	int error = 0;

	for (size_t i = 0; i < n_processes && !error; i++) {
		error = add_process(index, &processes[i]);
	}
	for (size_t i = 0; i < n_records && !error; i++) {
		/* Merged or dropped rows must not come back. */
		if (records[i].sequence > index->counts.condensed_through) {
			error = add_change(index, &records[i]);
		}
	}
	return error ? error : index_bound(index);
}

int index_fold(struct index *index, const struct journal_process *processes,
	       size_t n_processes, const struct journal_record *records,
	       size_t n_records)
{
	struct index_counts before;
	int error = 0;

	if (n_processes + n_records == 0) {
		return 0;
	}
	if (!index->db) {
		error = index_open_to_write(index);
	}
	error = error ? error : index_run(index, INDEX_BEGIN);
	if (error) {
		return error;
	}
	before = index->counts;
	error = fold(index, processes, n_processes, records, n_records);
	error = error ? error : index_run(index, INDEX_COMMIT);
	if (error) {
		/* SQLite may have rolled back by itself already. */
		sqlite3_exec(index->db, "ROLLBACK", NULL, NULL, NULL);
		index->counts = before;
		/* Numbers of paths that were not added after all. */
		index_drop_cache(index);
	}
	return error;
}

int index_sync(struct index *index)
{
	AUTO_FD wal = -1;
	int error;

	if (!index->db) {
		return 0;
	}
	wal = sys_openat(index->dirfd, INDEX_FILE "-wal", O_RDONLY, 0);
	error = wal < 0 ? wal : sys_fdatasync(wal);
	return error ? error : sys_fsync(index->dirfd);
}
