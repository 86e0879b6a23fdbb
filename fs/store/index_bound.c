#include "index_db.h"

/*
 * Rows are looked after in windows of sequences, from the oldest on:
 *
 *   forgotten | condensed           | as they came                | last
 *             forgotten_through     condensed_through             |
 *                                                    <- margin -> |
 *
 * From half the bound on, windows are condensed; at the bound, the oldest are
 * forgotten but for a sum per path. A fold does a few windows, and those are
 * small, so that the area does not fill meanwhile.
 * What was condensed is not taken again if it is offered again; the margin
 * makes sure that nothing can be: it is more than the append area holds.
 */
#define WINDOWS    512
#define WINDOW_MIN 32
#define MARGINS    8
#define GATHER     8
/* More rows than a full segment of the area brings. */
#define WINDOWS_A_FOLD 3

static uint64_t window_size(const struct index *index)
{
	uint64_t size = index->max_changes / WINDOWS;

	return size > WINDOW_MIN ? size : WINDOW_MIN;
}

static bool may_condense(const struct index *index)
{
	const struct index_counts *counts = &index->counts;

	return counts->last >= counts->condensed_through + window_size(index) +
				       index->max_changes / MARGINS;
}

static bool may_forget(const struct index *index)
{
	const struct index_counts *counts = &index->counts;

	return counts->forgotten_through + window_size(index) <=
	       counts->condensed_through;
}

/* Runs a statement on the sequences from `from` (where it has such a value)
 * up to `to`. */
static int run_on(struct index *index, enum index_statement which,
		  uint64_t from, uint64_t to)
{
	sqlite3_stmt *statement = index_statement(index, which);

	if (!statement) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	if (sqlite3_bind_parameter_count(statement) == 2) {
		sqlite3_bind_int64(statement, 1, (sqlite3_int64)from);
	}
	sqlite3_bind_int64(statement, sqlite3_bind_parameter_count(statement),
			   (sqlite3_int64)to);
	return index_run(index, which);
}

/* Makes one row of what is alike between `from` and `to`. */
static int condense_range(struct index *index, uint64_t from, uint64_t to)
{
	int error = run_on(index, INDEX_GROUP, from, to);

	error = error ? error : index_run(index, INDEX_MERGE);
	error = error ? error : run_on(index, INDEX_DROP_MERGED, from, to);
	if (error) {
		return error;
	}
	index->counts.changes -= (uint64_t)sqlite3_changes(index->db);
	return index_run(index, INDEX_CLEAR_ALIKE);
}

/* The rows between `from` and `to`, or `limit` where there are more. */
static int count_rows(struct index *index, uint64_t from, uint64_t to,
		      uint64_t limit, uint64_t *ret_count)
{
	sqlite3_stmt *count = index_statement(index, INDEX_COUNT_RANGE);
	int code;

	if (!count) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	sqlite3_bind_int64(count, 1, (sqlite3_int64)from);
	sqlite3_bind_int64(count, 2, (sqlite3_int64)to);
	sqlite3_bind_int64(count, 3, (sqlite3_int64)limit);
	code = sqlite3_step(count);
	if (code == SQLITE_ROW) {
		*ret_count = (uint64_t)sqlite3_column_int64(count, 0);
	}
	sqlite3_reset(count);
	return index_error(index->db, code);
}

/* Windows that have become small are condensed again, GATHER together. */
static int condense_larger(struct index *index, uint64_t to)
{
	uint64_t most = window_size(index) * 2;

	for (uint64_t size = window_size(index) * GATHER;
	     size <= to && to % size == 0; size *= GATHER) {
		uint64_t rows = 0;
		int error = count_rows(index, to - size, to, most + 1, &rows);

		if (error || rows > most) {
			return error;
		}
		error = condense_range(index, to - size, to);
		if (error) {
			return error;
		}
	}
	return 0;
}

static int condense(struct index *index)
{
	uint64_t from = index->counts.condensed_through;
	uint64_t to = from + window_size(index);
	int error = condense_range(index, from, to);

	error = error ? error : condense_larger(index, to);
	if (error) {
		return error;
	}
	index->counts.condensed_through = to;
	return index_set_state(index, INDEX_CONDENSED_THROUGH, to);
}

/* Adds the changes up to `to` to the number of those that are forgotten. */
static int count_forgotten(struct index *index, uint64_t to)
{
	sqlite3_stmt *sum = index_statement(index, INDEX_SUM_CHANGES);
	uint64_t before = 0;
	uint64_t more;
	int code;
	int error = index_get_state(index, INDEX_FORGOTTEN, &before);

	if (error || !sum) {
		return error ? error
			     : index_error(index->db,
					   sqlite3_errcode(index->db));
	}
	sqlite3_bind_int64(sum, 1, (sqlite3_int64)to);
	code = sqlite3_step(sum);
	more = code == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(sum, 0) : 0;
	sqlite3_reset(sum);
	error = index_error(index->db, code);
	return error ? error
		     : index_set_state(index, INDEX_FORGOTTEN, before + more);
}

static int forget(struct index *index)
{
	uint64_t to = index->counts.forgotten_through + window_size(index);
	int error = count_forgotten(index, to);

	error = error ? error : run_on(index, INDEX_LIST_GONE, 0, to);
	error = error ? error : run_on(index, INDEX_SUM_PATHS, 0, to);
	error = error ? error : run_on(index, INDEX_FORGET, 0, to);
	if (error) {
		return error;
	}
	index->counts.changes -= (uint64_t)sqlite3_changes(index->db);
	index->counts.forgotten_through = to;
	error = index_run(index, INDEX_FORGET_PATHS);
	error = error ? error : index_run(index, INDEX_CLEAR_GONE);
	/* The numbers of forgotten paths. */
	index_drop_cache(index);
	return error ? error
		     : index_set_state(index, INDEX_FORGOTTEN_THROUGH, to);
}

int index_bound(struct index *index)
{
	int error = 0;

	for (int i = 0; i < WINDOWS_A_FOLD && !error &&
			index->counts.changes > index->max_changes / 2 &&
			may_condense(index);
	     i++) {
		error = condense(index);
	}
	while (!error && index->counts.changes > index->max_changes &&
	       (may_condense(index) || may_forget(index))) {
		error = may_condense(index) ? condense(index) : forget(index);
	}
	return error;
}
