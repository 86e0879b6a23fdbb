#include "index_db.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "err.h"
#include "index_vfs.h"
#include "journal_words.h"
#include "log.h"
#include "sys.h"

#define CLOSE_MS        300
#define BUSY_MS         10000
#define SUFFIX_MAX      64
#define PATH_BYTES      4096
#define ERROR_NUMBERS   134 /* EHWPOISON is 133 */
#define CHECKPOINT_SIZE "PRAGMA journal_size_limit = 4194304;"

int index_error(sqlite3 *db, int code)
{
	int system_error;

	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return 0;
	case SQLITE_FULL:
		return -ENOSPC;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return -EBADMSG;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
		return -EROFS;
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	/* "no such table", in a file that says that it is of our version */
	case SQLITE_ERROR:
		return -EBADMSG;
	default:
		system_error = db ? sqlite3_system_errno(db) : 0;
		return system_error > 0 ? -system_error : -EIO;
	}
}

sqlite3_stmt *index_statement(struct index *index, enum index_statement which)
{
	sqlite3_stmt **statement = &index->statements[which];

	if (*statement) {
		sqlite3_reset(*statement);
	} else if (sqlite3_prepare_v3(index->db, index_sql[which], -1,
				      SQLITE_PREPARE_PERSISTENT, statement,
				      NULL) != SQLITE_OK) {
		*statement = NULL;
	}
	return *statement;
}

int index_run(struct index *index, enum index_statement which)
{
	sqlite3_stmt *statement = index->statements[which];
	int code;

	if (!statement) {
		statement = index_statement(index, which);
	}
	if (!statement) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	code = sqlite3_step(statement);
	sqlite3_reset(statement);
	return index_error(index->db, code);
}

static int run_sql(sqlite3 *db, const char *sql)
{
	return index_error(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int index_get_state(struct index *index, const char *key, uint64_t *ret_value)
{
	sqlite3_stmt *get = index_statement(index, INDEX_GET_STATE);
	int code;

	if (!get) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	sqlite3_bind_text(get, 1, key, -1, SQLITE_STATIC);
	code = sqlite3_step(get);
	if (code == SQLITE_ROW || code == SQLITE_DONE) {
		*ret_value = code == SQLITE_ROW
				     ? (uint64_t)sqlite3_column_int64(get, 0)
				     : 0;
	}
	sqlite3_reset(get);
	return index_error(index->db, code);
}

int index_set_state(struct index *index, const char *key, uint64_t value)
{
	sqlite3_stmt *set = index_statement(index, INDEX_SET_STATE);

	if (!set) {
		return index_error(index->db, sqlite3_errcode(index->db));
	}
	sqlite3_bind_text(set, 1, key, -1, SQLITE_STATIC);
	sqlite3_bind_int64(set, 2, (sqlite3_int64)value);
	return index_run(index, INDEX_SET_STATE);
}

/* One number that `sql` gives. */
static int get_number(sqlite3 *db, const char *sql, sqlite3_int64 *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_step(statement);
	}
	if (code == SQLITE_ROW) {
		*ret_number = sqlite3_column_int64(statement, 0);
	}
	sqlite3_finalize(statement);
	return index_error(db, code);
}

/* "operation" and "error": what numbers mean. */
static int fill_words(sqlite3 *db)
{
	AUTO_BUF sql = BUF_INIT;

	for (int op = 1; op <= JOURNAL_OP_LAST; op++) {
		buf_addf(&sql, "INSERT INTO operation VALUES(%d, '%s', '%c');",
			 op, journal_op_name((enum journal_op)op),
			 journal_op_letter((enum journal_op)op));
	}
	for (int error = 1; error < ERROR_NUMBERS; error++) {
		if (err_name(error)[1] != '?') {
			buf_addf(&sql, "INSERT INTO error VALUES(%d, '%s');",
				 error, err_name(error));
		}
	}
	return buf_error(&sql) ? -ENOMEM : run_sql(db, sql.data);
}

static int make_schema(sqlite3 *db)
{
	char version[SUFFIX_MAX];
	int error = run_sql(db, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;");

	error = error ? error : run_sql(db, index_schema);
	error = error ? error : fill_words(db);
	snprintf(version, sizeof(version), "PRAGMA user_version = %d; COMMIT",
		 INDEX_VERSION);
	return error ? error : run_sql(db, version);
}

/* 0 where the schema is ours; 1 where there is none yet. */
static int check_version(sqlite3 *db)
{
	sqlite3_int64 version = 0;
	sqlite3_int64 tables = 0;
	int error = get_number(db, "PRAGMA user_version", &version);

	error = error ? error
		      : get_number(db, "SELECT count(*) FROM sqlite_schema",
				   &tables);
	if (error) {
		return error;
	}
	if (version == 0 && tables == 0) {
		return 1;
	}
	if (version == 0) {
		return -EBADMSG;
	}
	return version == INDEX_VERSION ? 0 : -EPROTONOSUPPORT;
}

static int database_path(const struct index *index, char *ret_path, size_t size)
{
	int error = sys_fd_path(index->dirfd, ret_path, size);
	size_t len = error ? 0 : strlen(ret_path);

	if (error) {
		return error;
	}
	if (snprintf(ret_path + len, size - len, "/%s", INDEX_FILE) >=
	    (int)(size - len)) {
		return -ENAMETOOLONG;
	}
	return 0;
}

static void close_database(struct index *index)
{
	for (size_t i = 0; i < INDEX_N_STATEMENTS; i++) {
		sqlite3_finalize(index->statements[i]);
		index->statements[i] = NULL;
	}
	sqlite3_close(index->db);
	index->db = NULL;
	index_drop_cache(index);
}

static int open_database(struct index *index, int flags, bool immutable)
{
	char path[PATH_BYTES];
	AUTO_FREE char *uri = NULL;
	int error = database_path(index, path, sizeof(path));

	if (error) {
		return error;
	}
	if (immutable) {
		/* Without %, ? and # in it, a path is itself in a URI. */
		if (strpbrk(path, "%?#")) {
			return -EROFS;
		}
		if (asprintf(&uri, "file:%s?immutable=1", path) < 0) {
			uri = NULL;
			return -ENOMEM;
		}
	}
	error = index_error(NULL,
			    sqlite3_open_v2(uri ? uri : path, &index->db,
					    flags | SQLITE_OPEN_NOMUTEX |
						    SQLITE_OPEN_NOFOLLOW |
						    (uri ? SQLITE_OPEN_URI : 0),
					    index_vfs_name()));
	if (error) {
		close_database(index);
		return error;
	}
	sqlite3_busy_timeout(index->db, BUSY_MS);
	/* The file's content is not trusted: an agent can't write to it, but a
	 * view or trigger in a copy that was handed on must do no harm. */
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(index->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	return 0;
}

static int prepare_to_write(struct index *index)
{
	sqlite3_stmt *count;
	int error = check_version(index->db);

	error = error == 1 ? make_schema(index->db) : error;
	error = error ? error
		      : run_sql(index->db,
				"PRAGMA synchronous = NORMAL;"
				"PRAGMA cache_size = -1024;"
				"PRAGMA temp_store = MEMORY;" CHECKPOINT_SIZE);
	error = error ? error : run_sql(index->db, index_temp_schema);
	error = error ? error
		      : index_get_state(index, INDEX_CONDENSED_THROUGH,
					&index->counts.condensed_through);
	error = error ? error
		      : index_get_state(index, INDEX_FORGOTTEN_THROUGH,
					&index->counts.forgotten_through);
	if (error) {
		return error;
	}
	count = index_statement(index, INDEX_COUNT);
	error = count && sqlite3_step(count) == SQLITE_ROW
			? 0
			: index_error(index->db, sqlite3_errcode(index->db));
	if (!error) {
		index->counts.changes =
			(uint64_t)sqlite3_column_int64(count, 0);
		index->counts.last = (uint64_t)sqlite3_column_int64(count, 1);
		sqlite3_reset(count);
	}
	return error;
}

/* A damaged file gets another name, with what SQLite has beside it. */
static int set_aside(struct index *index)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	time_t now = time(NULL);

	close_database(index);
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char from[SUFFIX_MAX];
		char to[SUFFIX_MAX];
		int error;

		snprintf(from, sizeof(from), INDEX_FILE "%s", suffixes[i]);
		snprintf(to, sizeof(to), "damaged-%lld.db%s", (long long)now,
			 suffixes[i]);
		error = sys_renameat2(index->dirfd, from, index->dirfd, to, 0);
		if (error && (i == 0 || error != -ENOENT)) {
			return error;
		}
	}
	log_error("the journal's database is damaged: it is set aside as "
		  "'damaged-%lld.db', and a new one begins",
		  (long long)now);
	return 0;
}

int index_open_to_write(struct index *index)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
	int error = open_database(index, flags, false);

	error = error ? error : prepare_to_write(index);
	if (error == -EBADMSG) {
		error = set_aside(index);
		error = error ? error : open_database(index, flags, false);
		error = error ? error : prepare_to_write(index);
	}
	if (error) {
		close_database(index);
	}
	return error;
}

/*
 * A reader of a WAL file needs the -shm beside it. Where that can't be made
 * (a read-only disk, another's folder) and no writer left a -wal, the file is
 * complete and doesn't change.
 */
static int open_to_read(struct index *index)
{
	struct stat st;
	int error = sys_fstatat(index->dirfd, INDEX_FILE, &st);

	if (error) {
		return error;
	}
	error = open_database(index, SQLITE_OPEN_READONLY, false);
	error = error ? error : check_version(index->db);
	if (error && error != -EBADMSG && error != -EPROTONOSUPPORT &&
	    (sys_fstatat(index->dirfd, INDEX_FILE "-wal", &st) == -ENOENT ||
	     st.st_size == 0)) {
		close_database(index);
		error = open_database(index, SQLITE_OPEN_READONLY, true);
		error = error ? error : check_version(index->db);
	}
	/* Just made, and nothing in it. */
	return error == 1 ? -ENOENT : error;
}

int index_open(struct index **ret_index, int journal_dirfd,
	       enum index_mode mode)
{
	struct index *index = calloc(1, sizeof(*index));
	int error = 0;

	if (!index) {
		return -ENOMEM;
	}
	index->dirfd = journal_dirfd;
	index->mode = mode;
	index->max_changes = INDEX_MAX_CHANGES;
	index->text = (struct buf)BUF_INIT;
	if (mode == INDEX_READ) {
		error = open_to_read(index);
	}
	if (error) {
		index_close(index);
		return error;
	}
	*ret_index = index;
	return 0;
}

void index_close(struct index *index)
{
	if (!index) {
		return;
	}
	if (index->db && index->mode == INDEX_WRITE) {
		/* One plain file is left, that can be read from a read-only
		 * disk; if somebody goes on reading, it stays as it is. */
		sqlite3_busy_timeout(index->db, CLOSE_MS);
		(void)run_sql(index->db, "PRAGMA journal_mode = DELETE");
	}
	close_database(index);
	buf_release(&index->text);
	free(index);
}

void index_set_max_changes(struct index *index, uint64_t max)
{
	index->max_changes = max;
}
