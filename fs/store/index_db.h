/*
 * index_db.h - what the sources of index.h share; nobody else includes it.
 */
#ifndef FS_STORE_INDEX_DB_H
#define FS_STORE_INDEX_DB_H

#include <sqlite3.h>
#include <stdbool.h>

#include "buf.h"
#include "index.h"

enum index_statement {
	INDEX_BEGIN,
	INDEX_COMMIT,
	INDEX_ADD_PROCESS,
	INDEX_ADD_CHANGE,
	INDEX_FIND_PATH,
	INDEX_ADD_PATH,
	INDEX_GET_STATE,
	INDEX_SET_STATE,
	INDEX_COUNT,
	INDEX_COUNT_RANGE,
	INDEX_GROUP,
	INDEX_MERGE,
	INDEX_DROP_MERGED,
	INDEX_CLEAR_ALIKE,
	INDEX_LIST_GONE,
	INDEX_SUM_PATHS,
	INDEX_SUM_CHANGES,
	INDEX_FORGET,
	INDEX_FORGET_PATHS,
	INDEX_CLEAR_GONE,
	INDEX_READ_PROCESSES,
	INDEX_READ_CHANGES,
	INDEX_N_STATEMENTS,
};

/* Numbers that are kept in the table `state`. */
#define INDEX_CONDENSED_THROUGH "condensed_through" /* a sequence */
#define INDEX_FORGOTTEN_THROUGH "forgotten_through" /* a sequence */
#define INDEX_FORGOTTEN         "forgotten_changes"

/* A path that was looked up lately; most changes come in runs on few. */
struct index_cached {
	sqlite3_int64 number; /* 0: empty */
	char *view;           /* owned, with `path` behind it */
	char *path;
};

#define INDEX_CACHED_PATHS 1024

struct index_counts {
	uint64_t changes; /* rows */
	uint64_t last;    /* the highest sequence in it */
	uint64_t condensed_through;
	uint64_t forgotten_through;
};

struct index {
	int dirfd; /* borrowed */
	enum index_mode mode;
	sqlite3 *db; /* NULL: not opened yet */
	sqlite3_stmt *statements[INDEX_N_STATEMENTS];
	uint64_t max_changes;
	struct index_counts counts; /* once open to write */
	struct buf text;            /* for one command line */
	struct index_cached cached[INDEX_CACHED_PATHS];
};

extern const char index_schema[];
extern const char index_temp_schema[]; /* what only a writer has */
/* One for each enum index_statement. */
extern const char *const index_sql[INDEX_N_STATEMENTS];

/* What SQLite said, as -errno. */
int index_error(sqlite3 *db, int code);

/* The statement, prepared and reset, or NULL: index_error has the reason. */
sqlite3_stmt *index_statement(struct index *index, enum index_statement which);

/* Runs one that has no rows (its values are bound); 0 or -errno. */
int index_run(struct index *index, enum index_statement which) MUST_CHECK;

int index_get_state(struct index *index, const char *key,
		    uint64_t *ret_value) MUST_CHECK;
int index_set_state(struct index *index, const char *key,
		    uint64_t value) MUST_CHECK;

/* Opens the file to write, making it where missing. */
int index_open_to_write(struct index *index) MUST_CHECK;

void index_drop_cache(struct index *index);

/* Keeps the number of rows bounded; within the transaction of a fold. */
int index_bound(struct index *index) MUST_CHECK;

#endif
