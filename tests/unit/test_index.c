/*
 * The journal's database: folding, the bound, versions, damage.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fdio.h"
#include "index.h"
#include "journal_words.h"
#include "log.h"
#include "unit.h"

#define SECOND 1000000000LL

static int here = -1; /* the test's folder */

static int setup(void **state)
{
	(void)temp_setup(state);
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return here < 0;
}

static int teardown(void **state)
{
	close(here);
	return temp_teardown(state);
}

static struct journal_record make_record(uint64_t sequence, enum journal_op op,
					 const char *path, uint64_t process)
{
	return (struct journal_record){
		.sequence = sequence,
		.wall_ns = (int64_t)sequence * SECOND,
		.last_wall_ns = (int64_t)sequence * SECOND,
		.mono_ns = (int64_t)sequence,
		.op = op,
		.state = JOURNAL_DONE,
		.view = "work",
		.path = path,
		.process = process,
		.offset = -1,
		.size_before = -1,
		.size_after = -1,
		.mode_before = -1,
		.mode_after = -1,
		.count = 1,
	};
}

static const struct journal_process make_it = {
	.number = 1,
	.pid = 100,
	.exe = "/usr/bin/make",
	.command = "make\0CFLAGS=-O2 -g\0",
	.command_size = 19,
	.cwd = "/src",
};
static const struct journal_process compiler = {
	.number = 2,
	.parent = 1,
	.pid = 101,
	.ppid = 100,
	.exe = "/usr/bin/cc",
	.command = "cc\0-c\0main.c\0",
	.command_size = 13,
	.cwd = "/src",
};

static struct index *open_index(enum index_mode mode)
{
	struct index *index = NULL;

	assert_int_equal(index_open(&index, here, mode), 0);
	return index;
}

static void fold_one(struct index *index, const struct journal_record *record)
{
	assert_int_equal(index_fold(index, NULL, 0, record, 1), 0);
}

/* The first column of the first row, as text, as `sqlite3 journal.db` has it.
 */
static void assert_query(const char *sql, const char *wanted)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	const char *text;

	assert_int_equal(
		sqlite3_open_v2(INDEX_FILE, &db, SQLITE_OPEN_READONLY, NULL),
		0);
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL)) {
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	}
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	text = (const char *)sqlite3_column_text(row, 0);
	assert_string_equal(text ? text : "NULL", wanted);
	sqlite3_finalize(row);
	sqlite3_close(db);
}

static int64_t query_number(const char *sql)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t number;

	assert_int_equal(sqlite3_open(INDEX_FILE, &db), 0);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), 0);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	number = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_close(db);
	return number;
}

#define BATCH 50

/* Records that are folded some at a time, as the daemon does it. */
struct batch {
	struct index *index;
	struct journal_record records[BATCH];
	char paths[BATCH][16];
	size_t n;
};

static void flush_batch(struct batch *batch)
{
	assert_int_equal(
		index_fold(batch->index, NULL, 0, batch->records, batch->n), 0);
	batch->n = 0;
}

static struct journal_record *add_to_batch(struct batch *batch,
					   uint64_t sequence,
					   enum journal_op op,
					   unsigned int file)
{
	struct journal_record *record;

	if (batch->n == BATCH) {
		flush_batch(batch);
	}
	record = &batch->records[batch->n];
	snprintf(batch->paths[batch->n], sizeof(batch->paths[0]), "f%u", file);
	*record = make_record(sequence, op, batch->paths[batch->n++], 1);
	return record;
}

static void is_made_by_the_first_fold(void **state)
{
	struct journal_record record =
		make_record(1, JOURNAL_CREATE, "main.o", 2);
	struct index *index = open_index(INDEX_WRITE);
	struct index *reader = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(index_fold(index, NULL, 0, NULL, 0), 0);
	assert_int_equal(fstatat(here, INDEX_FILE, &st, 0), -1);
	assert_int_equal(index_open(&reader, here, INDEX_READ), -ENOENT);
	fold_one(index, &record);
	assert_int_equal(fstatat(here, INDEX_FILE, &st, 0), 0);
	assert_int_equal(index_sync(index), 0);
	index_close(index);
}

static void reads_well_in_sqlite(void **state)
{
	struct journal_process processes[] = {make_it, compiler};
	struct journal_record records[] = {
		make_record(1, JOURNAL_CREATE, "main.o.tmp", 2),
		make_record(2, JOURNAL_WRITE, "main.o.tmp", 2),
		make_record(3, JOURNAL_RENAME, "main.o.tmp", 2),
		make_record(4, JOURNAL_UNLINK, "nothing", 1),
		make_record(5, JOURNAL_SETXATTR, "main.o", 1),
	};
	struct index *index = open_index(INDEX_WRITE);

	(void)state;
	records[1].bytes = 4096;
	records[1].wall_ns += 123456000;
	records[2].path2 = "main.o";
	records[3].result = -ENOENT;
	records[4].path2 = "user.note";
	records[0].mode_after = 0100644;
	assert_int_equal(index_fold(index, processes, 2, records, 5), 0);

	/* While the writer has it open. */
	assert_query("SELECT count(*) FROM timeline", "5");
	assert_query("SELECT time FROM timeline WHERE sequence = 2",
		     "1970-01-01T00:00:02.123456Z");
	assert_query("SELECT mode_after FROM timeline", "100644");
	assert_query("SELECT path2 FROM timeline WHERE operation='setxattr'",
		     "user.note");
	assert_query("SELECT count(*) FROM changes", "4");
	assert_query("SELECT old_path || '>' || new_path FROM renames",
		     "main.o.tmp>main.o");
	assert_query("SELECT result || ' ' || path FROM failed",
		     "ENOENT nothing");
	assert_query("SELECT command FROM by_process WHERE number = 1",
		     "make 'CFLAGS=-O2 -g'");
	assert_query("SELECT bytes || ',' || changes || ',' || files FROM"
		     " by_process WHERE number = 2",
		     "4096,3,1");
	assert_query("SELECT last_command || ',' || last_operation FROM files"
		     " WHERE path = 'main.o'",
		     "make 'CFLAGS=-O2 -g',setxattr");
	index_close(index);
	assert_query("PRAGMA journal_mode", "delete");
	assert_query("PRAGMA integrity_check", "ok");
}

struct read_back {
	struct journal_record record; /* strings are not kept */
	char path[64];
	char path2[64];
	size_t n_records;
	char command[64];
	size_t command_size;
	size_t n_processes;
};

static int take_process(void *data, const struct journal_process *process)
{
	struct read_back *back = data;

	memcpy(back->command, process->command, process->command_size);
	back->command_size = process->command_size;
	back->n_processes++;
	return 0;
}

static int take_record(void *data, const struct journal_record *record)
{
	struct read_back *back = data;

	back->record = *record;
	snprintf(back->path, sizeof(back->path), "%s", record->path);
	snprintf(back->path2, sizeof(back->path2), "%s",
		 record->path2 ? record->path2 : "(none)");
	back->n_records++;
	return 0;
}

static void read_all(struct index *index, struct read_back *ret_back,
		     uint64_t after)
{
	const struct index_reader reader = {take_process, take_record,
					    ret_back};

	*ret_back = (struct read_back){0};
	assert_int_equal(index_read(index, &reader, 0, after), 0);
}

static void gives_back_what_it_got(void **state)
{
	struct journal_record record =
		make_record(7, JOURNAL_RENAME, "a\xff\n'b", 2);
	struct index *index = open_index(INDEX_WRITE);
	struct index *reader;
	struct read_back back;

	(void)state;
	record.path2 = "\x1b[31mred";
	record.by_opener = true;
	record.ino = UINT64_MAX - 1;
	record.size_before = 0;
	record.mode_before = 0100600;
	record.state = JOURNAL_BEGUN;
	assert_int_equal(index_fold(index, &compiler, 1, &record, 1), 0);
	reader = open_index(INDEX_READ);
	read_all(reader, &back, 0);
	assert_int_equal(back.n_records, 1);
	assert_string_equal(back.path, record.path);
	assert_string_equal(back.path2, record.path2);
	assert_int_equal(back.record.sequence, 7);
	assert_int_equal(back.record.state, JOURNAL_BEGUN);
	assert_true(back.record.ino == record.ino);
	assert_true(back.record.by_opener);
	assert_int_equal(back.record.size_before, 0);
	assert_int_equal(back.record.size_after, -1);
	assert_int_equal(back.record.offset, -1);
	assert_int_equal(back.record.mode_before, 0100600);
	assert_int_equal(back.record.mode_after, -1);
	assert_int_equal(back.n_processes, 1);
	assert_memory_equal(back.command, compiler.command,
			    compiler.command_size);
	read_all(reader, &back, 7);
	assert_int_equal(back.n_records, 0);
	index_close(reader);
	index_close(index);
}

static void takes_a_sequence_once(void **state)
{
	struct journal_record record = make_record(1, JOURNAL_CREATE, "a", 1);

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct index *index = open_index(INDEX_WRITE);

		assert_int_equal(index_fold(index, &make_it, 1, &record, 1), 0);
		assert_int_equal(index_fold(index, &make_it, 1, &record, 1), 0);
		index_close(index);
	}
	assert_query("SELECT count(*) FROM change", "1");
	assert_query("SELECT count(*) FROM process", "1");
	assert_query("SELECT count(*) FROM path", "1");
}

#define BOUND 1000

/* A few files that are written to over and over, by two processes. */
static void condenses_what_is_alike(void **state)
{
	struct index *index = open_index(INDEX_WRITE);
	struct batch batch = {.index = index};
	uint64_t n = 20 * BOUND;

	(void)state;
	index_set_max_changes(index, BOUND);
	for (uint64_t i = 1; i <= n; i++) {
		struct journal_record *record =
			add_to_batch(&batch, i, JOURNAL_WRITE, i % 4);

		record->process = i % 2 + 1;
		record->bytes = 10;
		record->size_after = (int64_t)i;
	}
	flush_batch(&batch);
	assert_true(query_number("SELECT count(*) FROM change") <= BOUND);
	assert_int_equal(query_number("SELECT sum(count) FROM change"), n);
	assert_int_equal(query_number("SELECT sum(bytes) FROM change"), 10 * n);
	/* First and last of each. */
	assert_int_equal(query_number("SELECT min(sequence) FROM change"), 1);
	assert_int_equal(query_number("SELECT max(size_after) FROM change"), n);
	assert_int_equal(query_number("SELECT count(*) FROM change WHERE"
				      " last_wall_ns < wall_ns"),
			 0);
	assert_int_equal(query_number("SELECT size_after FROM change"
				      " WHERE sequence = 1") %
				 4,
			 1);
	index_close(index);
}

/* Always other files, that are removed again: nothing is alike. */
static void forgets_the_oldest(void **state)
{
	struct index *index = open_index(INDEX_WRITE);
	struct batch batch = {.index = index};
	uint64_t n = 10 * BOUND;
	uint64_t forgotten;

	(void)state;
	index_set_max_changes(index, BOUND);
	for (uint64_t i = 1; i <= n; i++) {
		add_to_batch(&batch, i, i % 2 ? JOURNAL_CREATE : JOURNAL_UNLINK,
			     (unsigned int)((i - 1) / 2));
	}
	flush_batch(&batch);
	assert_true(query_number("SELECT count(*) FROM change") <= BOUND);
	assert_true(query_number("SELECT count(*) FROM change") > BOUND / 2);
	assert_true(query_number("SELECT count(*) FROM path") <= BOUND + 2);
	assert_int_equal(index_forgotten(index, &forgotten), 0);
	assert_int_equal(
		query_number("SELECT sum(count) FROM change") + forgotten, n);
	assert_int_equal(query_number("SELECT max(sequence) FROM change"), n);
	index_close(index);

	/* What was forgotten does not come back. */
	index = open_index(INDEX_WRITE);
	index_set_max_changes(index, BOUND);
	fold_one(index, &(struct journal_record){.sequence = 1,
						 .op = JOURNAL_CREATE,
						 .state = JOURNAL_DONE,
						 .view = "work",
						 .path = "f0",
						 .count = 1});
	assert_int_equal(query_number("SELECT count(*) FROM change WHERE"
				      " sequence = 1"),
			 0);
	index_close(index);
}

/* A path that stays keeps the number and the times of what was forgotten. */
static void sums_what_a_path_loses(void **state)
{
	struct index *index = open_index(INDEX_WRITE);
	struct batch batch = {.index = index};

	(void)state;
	index_set_max_changes(index, BOUND);
	for (uint64_t i = 1; i <= 3 * BOUND; i++) {
		struct journal_record *record = add_to_batch(
			&batch, i, JOURNAL_CREATE, (unsigned int)i);

		record->path = i == 5 ? "kept" : record->path;
	}
	flush_batch(&batch);
	assert_query("SELECT earlier_changes || ',' || earlier_first_ns ||"
		     " ',' || earlier_last_ns FROM path WHERE path = 'kept'",
		     "1,5000000000,5000000000");
	index_close(index);
}

static void refuses_a_newer_version(void **state)
{
	struct journal_record record = make_record(1, JOURNAL_CREATE, "a", 1);
	struct index *index = open_index(INDEX_WRITE);

	(void)state;
	fold_one(index, &record);
	index_close(index);
	(void)query_number("PRAGMA journal_mode");
	{
		sqlite3 *db;

		assert_int_equal(sqlite3_open(INDEX_FILE, &db), 0);
		assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 99",
					      NULL, NULL, NULL),
				 0);
		sqlite3_close(db);
	}
	index = NULL;
	assert_int_equal(index_open(&index, here, INDEX_READ),
			 -EPROTONOSUPPORT);
	index = open_index(INDEX_WRITE);
	record.sequence = 2;
	assert_int_equal(index_fold(index, NULL, 0, &record, 1),
			 -EPROTONOSUPPORT);
	index_close(index);
	assert_query("PRAGMA user_version", "99");
	assert_query("SELECT count(*) FROM change", "1");
}

static void write_file(const char *text)
{
	int fd = openat(here, INDEX_FILE,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fdio_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

static void sets_a_damaged_one_aside(void **state)
{
	struct journal_record record = make_record(1, JOURNAL_CREATE, "a", 1);
	struct index *index = NULL;

	(void)state;
	write_file("this is no database, and longer than its magic number");
	assert_int_equal(index_open(&index, here, INDEX_READ), -EBADMSG);
	log_setup(open("/dev/null", O_WRONLY | O_CLOEXEC), LOG_LEVEL_ERROR);
	index = open_index(INDEX_WRITE);
	fold_one(index, &record);
	index_close(index);
	assert_query("SELECT count(*) FROM change", "1");
	assert_int_equal(system("grep -q 'no database' damaged-*.db"), 0);
}

static void reads_where_nothing_can_be_written(void **state)
{
	struct journal_record record = make_record(1, JOURNAL_CREATE, "a", 1);
	struct index *index = open_index(INDEX_WRITE);
	struct read_back back;

	(void)state;
	fold_one(index, &record);
	index_close(index);
	assert_int_equal(fchmod(here, 0500), 0);
	index = open_index(INDEX_READ);
	read_all(index, &back, 0);
	assert_int_equal(back.n_records, 1);
	index_close(index);
	assert_int_equal(fchmod(here, 0700), 0);
}

static void names_and_letters_agree(void **state)
{
	AUTO_BUF text = BUF_INIT;

	(void)state;
	for (int op = 1; op <= JOURNAL_OP_LAST; op++) {
		assert_int_equal(
			journal_op_parse(journal_op_name((enum journal_op)op)),
			op);
		assert_int_not_equal(journal_op_letter((enum journal_op)op),
				     '?');
	}
	assert_int_equal(journal_op_parse("sing"), 0);
	assert_null(journal_op_name((enum journal_op)(JOURNAL_OP_LAST + 1)));
	assert_null(journal_op_name((enum journal_op)0));
	journal_add_command(&text, "sh\0-c\0echo 'x'\0\0", 16);
	assert_string_equal(text.data, "sh -c 'echo '\\''x'\\''' ''");
	buf_clear(&text);
	journal_add_command(&text, "cut", 3);
	assert_string_equal(text.data, "cut");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(is_made_by_the_first_fold),
		TEST(reads_well_in_sqlite),
		TEST(gives_back_what_it_got),
		TEST(takes_a_sequence_once),
		TEST(condenses_what_is_alike),
		TEST(forgets_the_oldest),
		TEST(sums_what_a_path_loses),
		TEST(refuses_a_newer_version),
		TEST(sets_a_damaged_one_aside),
		TEST(reads_where_nothing_can_be_written),
		cmocka_unit_test(names_and_letters_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
