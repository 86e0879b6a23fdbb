#include "journal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal_area.h"
#include "journal_read.h"
#include "journal_slot.h"
#include "legato-config.h"
#include "unit.h"

static int dir = -1; /* the journal's folder */
static struct journal *journal;

static const struct journal_options impatient = {.wait_ms = 50};

static int open_dir(void **state)
{
	temp_setup(state);
	dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0;
}

static int setup(void **state)
{
	return open_dir(state) || journal_open(&journal, dir, &impatient);
}

static int teardown(void **state)
{
	journal_close(journal);
	journal = NULL;
	close(dir);
	return temp_teardown(state);
}

static void reopen(void)
{
	journal_close(journal);
	journal = NULL;
	assert_int_equal(journal_open(&journal, dir, &impatient), 0);
}

static struct journal_record record_of(enum journal_op op, const char *path)
{
	return (struct journal_record){
		.op = op,
		.view = "work",
		.path = path,
		.wall_ns = 1,
		.mono_ns = 2,
		.process = 7,
		.offset = -1,
		.size_before = -1,
		.mode_before = -1,
	};
}

static const struct journal_outcome fine = {
	.ino = 5,
	.bytes = 10,
	.size_after = 10,
	.mode_after = 0100644,
	.count = 1,
	.last_wall_ns = 9,
};

static struct journal_ref begin(enum journal_op op, const char *path)
{
	const struct journal_record record = record_of(op, path);
	struct journal_ref ref;

	assert_int_equal(
		journal_begin(journal, &record, 0, JOURNAL_TAKES, &ref), 0);
	return ref;
}

static void append(enum journal_op op, const char *path)
{
	const struct journal_ref ref = begin(op, path);

	journal_done(journal, &ref, &fine);
}

static struct journal_batch read_all(void)
{
	struct journal_batch batch = {0};

	assert_int_equal(journal_read(dir, &batch), 0);
	return batch;
}

static void reads_what_was_appended(void **state)
{
	struct journal_record record = {
		.wall_ns = 1000,
		.mono_ns = 2000,
		.op = JOURNAL_RENAME,
		.view = "home",
		.path = "a/b\xff\n",
		.path2 = "",
		.process = 3,
		.by_opener = true,
		.offset = 4,
		.bytes = 5,
		.size_before = 6,
		.mode_before = 0100600,
	};
	struct journal_batch batch;
	const struct journal_record *seen;
	struct journal_ref ref;

	(void)state;
	assert_int_equal(
		journal_begin(journal, &record, 0, JOURNAL_TAKES, &ref), 0);
	journal_done(journal, &ref, &fine);
	batch = read_all();
	assert_int_equal(batch.n_records, 1);
	seen = &batch.records[0];
	assert_int_equal(seen->sequence, 1);
	assert_int_equal(seen->wall_ns, 1000);
	assert_int_equal(seen->mono_ns, 2000);
	assert_int_equal(seen->op, JOURNAL_RENAME);
	assert_int_equal(seen->state, JOURNAL_DONE);
	assert_string_equal(seen->view, "home");
	assert_string_equal(seen->path, "a/b\xff\n");
	assert_string_equal(seen->path2, "");
	assert_int_equal(seen->process, 3);
	assert_true(seen->by_opener);
	assert_int_equal(seen->offset, 4);
	assert_int_equal(seen->bytes, 10);
	assert_int_equal(seen->size_before, 6);
	assert_int_equal(seen->size_after, 10);
	assert_int_equal(seen->mode_before, 0100600);
	assert_int_equal(seen->mode_after, 0100644);
	assert_int_equal(seen->ino, 5);
	assert_int_equal(seen->count, 1);
	assert_int_equal(seen->last_wall_ns, 9);
	assert_false(seen->more);
	journal_batch_release(&batch);
}

static void processes_are_numbered(void **state)
{
	struct journal_process make = {
		.pid = 10,
		.ppid = 1,
		.uid = 1000,
		.start_ticks = 77,
		.exe = "/usr/bin/make",
		.command = "make\0-j4",
		.command_size = 8,
		.cwd = "/src",
	};
	struct journal_process cc = make;
	struct journal_batch batch;

	(void)state;
	assert_int_equal(journal_add_process(journal, &make, JOURNAL_TAKES), 0);
	cc.parent = make.number;
	assert_int_equal(journal_add_process(journal, &cc, JOURNAL_TAKES), 0);
	append(JOURNAL_CREATE, "x");
	batch = read_all();
	assert_int_equal(batch.n_processes, 2);
	assert_int_equal(batch.processes[0].number, 1);
	assert_int_equal(batch.processes[1].parent, 1);
	assert_int_equal(batch.processes[0].pid, 10);
	assert_int_equal(batch.processes[0].ppid, 1);
	assert_int_equal(batch.processes[0].uid, 1000);
	assert_int_equal(batch.processes[0].start_ticks, 77);
	assert_string_equal(batch.processes[0].exe, "/usr/bin/make");
	assert_int_equal(batch.processes[0].command_size, 8);
	assert_memory_equal(batch.processes[0].command, "make\0-j4", 8);
	assert_string_equal(batch.processes[0].cwd, "/src");
	/* Processes take no sequence. */
	assert_int_equal(batch.n_records, 1);
	assert_int_equal(batch.records[0].sequence, 1);
	journal_batch_release(&batch);
}

static void begun_and_never_done(void **state)
{
	struct journal_batch batch;

	(void)state;
	begin(JOURNAL_UNLINK, "x");
	append(JOURNAL_CREATE, "y");
	batch = read_all();
	assert_int_equal(batch.n_records, 2);
	assert_int_equal(batch.records[0].state, JOURNAL_BEGUN);
	assert_string_equal(batch.records[0].path, "x");
	assert_null(batch.records[0].path2);
	assert_int_equal(batch.records[0].size_after, -1);
	assert_int_equal(batch.records[1].state, JOURNAL_DONE);
	journal_batch_release(&batch);
}

static void long_names_are_cut(void **state)
{
	AUTO_FREE char *name = malloc(40000);
	struct journal_batch batch;

	(void)state;
	memset(name, 'n', 39999);
	name[39999] = '\0';
	append(JOURNAL_CREATE, name);
	append(JOURNAL_CREATE, "y");
	batch = read_all();
	assert_int_equal(batch.n_records, 2);
	assert_int_equal(strlen(batch.records[0].path), JOURNAL_TEXT_MAX);
	assert_string_equal(batch.records[1].path, "y");
	journal_batch_release(&batch);
}

/* ------------------------------------------------------------- continuing */

static void writes_become_one(void **state)
{
	const struct journal_record record = record_of(JOURNAL_WRITE, "f");
	struct journal_ref ref = begin(JOURNAL_WRITE, "f");
	uint64_t token = journal_token(journal, &ref);
	struct journal_outcome outcome;
	struct journal_batch batch;

	(void)state;
	journal_done(journal, &ref, &fine);
	for (int i = 0; i < 9; i++) {
		assert_true(journal_resume(journal, token, &record, 0, &ref,
					   &outcome));
		outcome.count++;
		outcome.bytes += 10;
		journal_done(journal, &ref, &outcome);
	}
	batch = read_all();
	assert_int_equal(batch.n_records, 1);
	assert_int_equal(batch.records[0].count, 10);
	assert_int_equal(batch.records[0].bytes, 100);
	assert_false(batch.records[0].more);
	journal_batch_release(&batch);
}

static void what_is_not_continued(void **state)
{
	struct journal_record record = record_of(JOURNAL_WRITE, "f");
	struct journal_ref ref = begin(JOURNAL_WRITE, "f");
	uint64_t token = journal_token(journal, &ref);
	struct journal_outcome outcome;
	struct journal_batch batch = {0};

	(void)state;
	/* Not done yet. */
	assert_false(
		journal_resume(journal, token, &record, 0, &ref, &outcome));
	journal_done(journal, &ref, &fine);
	assert_false(journal_resume(journal, 0, &record, 0, &ref, &outcome));
	assert_false(
		journal_resume(journal, token, &record, 1, &ref, &outcome));
	record.process++;
	assert_false(
		journal_resume(journal, token, &record, 0, &ref, &outcome));
	record.process--;
	record.op = JOURNAL_TRUNCATE;
	assert_false(
		journal_resume(journal, token, &record, 0, &ref, &outcome));
	record.op = JOURNAL_WRITE;
	assert_true(journal_resume(journal, token, &record, 0, &ref, &outcome));
	/* Another thread is at it. */
	assert_false(
		journal_resume(journal, token, &record, 0, &ref, &outcome));
	journal_done(journal, &ref, &outcome);
	assert_int_equal(journal_take(journal, &batch), 1);
	assert_false(
		journal_resume(journal, token, &record, 0, &ref, &outcome));
	journal_batch_release(&batch);
}

static void killed_in_one_call_more(void **state)
{
	const struct journal_record record = record_of(JOURNAL_WRITE, "f");
	struct journal_ref ref = begin(JOURNAL_WRITE, "f");
	struct journal_outcome outcome;
	struct journal_batch batch;

	(void)state;
	journal_done(journal, &ref, &fine);
	assert_true(journal_resume(journal, journal_token(journal, &ref),
				   &record, 0, &ref, &outcome));
	batch = read_all();
	assert_int_equal(batch.records[0].state, JOURNAL_DONE);
	assert_int_equal(batch.records[0].count, 1);
	assert_true(batch.records[0].more);
	journal_batch_release(&batch);
	reopen();
	/* The one that folds is given it all the same. */
	batch = (struct journal_batch){0};
	assert_int_equal(journal_take(journal, &batch), 1);
	assert_int_equal(batch.n_records, 1);
	assert_true(batch.records[0].more);
	journal_batch_release(&batch);
}

/* -------------------------------------------------------------- damaged files
 */

static size_t slot_bytes(const char *path)
{
	const struct journal_record record = record_of(JOURNAL_CREATE, path);

	return journal_slot_size(&record);
}

/* Writes over the area's file, behind the daemon's back. */
static void scribble(off_t at, const void *data, size_t size)
{
	int fd = open(JOURNAL_AREA_FILE, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, data, size, at), size);
	close(fd);
}

#define FIRST_SLOT                                                             \
	((off_t)(JOURNAL_HEAD_BYTES + sizeof(struct journal_segment)))

/* The tail is cut at each byte: what was before it and, where the cut slot is
 * not the last, what is behind it, is still there; nothing else is. */
static void torn_at_every_byte(void **state)
{
	const size_t size = slot_bytes("one");
	AUTO_FREE char *whole = malloc(size);
	AUTO_FREE char *zeros = calloc(1, size);
	off_t second = FIRST_SLOT + (off_t)size;
	size_t torn = 0;
	int fd;

	(void)state;
	append(JOURNAL_CREATE, "one");
	append(JOURNAL_CREATE, "two");
	append(JOURNAL_CREATE, "xyz");
	fd = open(JOURNAL_AREA_FILE, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, whole, size, second), size);
	close(fd);
	for (size_t cut = 0; cut <= size; cut++) {
		struct journal_batch batch;
		bool whole_still = memcmp(whole + cut, zeros, size - cut) == 0;
		size_t fixed = offsetof(struct journal_slot, outcomes);

		scribble(second, whole, size);
		scribble(second + (off_t)cut, zeros, size - cut);
		batch = read_all();
		assert_string_equal(batch.records[0].path, "one");
		assert_string_equal(batch.records[batch.n_records - 1].path,
				    "xyz");
		assert_int_equal(batch.n_records, whole_still ? 3 : 2);
		torn += !whole_still;
		assert_true(whole_still || cut > fixed || torn == cut + 1);
		if (whole_still) {
			assert_string_equal(batch.records[1].path, "two");
			assert_int_equal(batch.records[1].state, JOURNAL_DONE);
		}
		journal_batch_release(&batch);
	}
	assert_in_range(torn, sizeof(struct journal_slot), size);
}

/* After a loss of power: the change is known, how it went is not. */
static void a_broken_outcome_does_not_count(void **state)
{
	const struct journal_slot *slot;
	struct journal_batch batch;

	(void)state;
	append(JOURNAL_CREATE, "one");
	for (size_t at = 0; at < sizeof(slot->outcomes); at++) {
		off_t place = FIRST_SLOT +
			      (off_t)offsetof(struct journal_slot, outcomes) +
			      (off_t)at;
		unsigned char byte;
		unsigned char flipped;
		int fd = open(JOURNAL_AREA_FILE, O_RDONLY | O_CLOEXEC);

		assert_int_equal(pread(fd, &byte, 1, place), 1);
		close(fd);
		flipped = byte ^ 1;
		scribble(place, &flipped, 1);
		batch = read_all();
		assert_int_equal(batch.n_records, 1);
		/* The first is written to second. */
		assert_int_equal(batch.records[0].state,
				 at < sizeof(slot->outcomes[0])
					 ? JOURNAL_DONE
					 : JOURNAL_BEGUN);
		journal_batch_release(&batch);
		scribble(place, &byte, 1);
	}
}

static void any_flipped_byte_is_seen(void **state)
{
	const size_t size = slot_bytes("one");
	AUTO_FREE unsigned char *whole = malloc(size);
	int fd;

	(void)state;
	append(JOURNAL_CREATE, "one");
	fd = open(JOURNAL_AREA_FILE, O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, whole, size, FIRST_SLOT), size);
	close(fd);
	/* What comes before is progress, which names states that are there. */
	for (size_t at = sizeof(uint64_t);
	     at < offsetof(struct journal_slot, outcomes); at++) {
		unsigned char flipped = whole[at] ^ 0x40;
		struct journal_batch batch;

		scribble(FIRST_SLOT + (off_t)at, &flipped, 1);
		batch = read_all();
		assert_int_equal(batch.n_records, 0);
		journal_batch_release(&batch);
		scribble(FIRST_SLOT + (off_t)at, &whole[at], 1);
	}
}

static void refuses_what_it_does_not_know(void **state)
{
	const uint32_t version = JOURNAL_VERSION + 1;
	struct journal_batch batch = {0};
	struct journal *other = NULL;
	struct stat st;

	(void)state;
	journal_close(journal);
	journal = NULL;
	scribble(offsetof(struct journal_head, version), &version, 4);
	assert_int_equal(journal_open(&other, dir, &impatient),
			 -EPROTONOSUPPORT);
	assert_int_equal(journal_read(dir, &batch), -EPROTONOSUPPORT);
	scribble(0, "another", 8);
	assert_int_equal(journal_open(&other, dir, &impatient), -EBADMSG);
	assert_int_equal(journal_read(dir, &batch), -EBADMSG);
	assert_int_equal(truncate(JOURNAL_AREA_FILE, 5000), 0);
	assert_int_equal(journal_open(&other, dir, &impatient), -EBADMSG);
	assert_int_equal(journal_read(dir, &batch), -EBADMSG);
	assert_null(other);
	assert_int_equal(stat(JOURNAL_AREA_FILE, &st), 0);
	assert_int_equal(st.st_size, 5000);
	assert_int_equal(unlink(JOURNAL_AREA_FILE), 0);
	assert_int_equal(journal_read(dir, &batch), -ENOENT);
	journal_batch_release(&batch);
}

static void one_appends_at_a_time(void **state)
{
	struct journal *other = NULL;

	(void)state;
	assert_int_equal(journal_open(&other, dir, &impatient), -EWOULDBLOCK);
}

static void an_unfinished_area_is_made_again(void **state)
{
	(void)state;
	journal_close(journal);
	journal = NULL;
	assert_int_equal(truncate(JOURNAL_AREA_FILE, 0), 0);
	reopen();
	journal_close(journal);
	assert_int_equal(truncate(JOURNAL_AREA_FILE, 0), 0);
	assert_int_equal(truncate(JOURNAL_AREA_FILE, 9000), 0);
	journal = NULL;
	reopen();
	append(JOURNAL_CREATE, "x");
}

static void its_room_is_reserved(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(stat(JOURNAL_AREA_FILE, &st), 0);
	assert_int_equal(st.st_size, JOURNAL_AREA_BYTES);
	assert_true(st.st_blocks * 512 >= st.st_size);
	assert_int_equal(st.st_mode & 0777, 0600);
}

/* -------------------------------------------------------------------- folding
 */

/* Takes and commits all there is; how many records. */
static size_t fold_all(uint64_t *ret_last)
{
	struct journal_batch batch = {0};
	size_t count = 0;

	while (journal_take(journal, &batch) == 1) {
		for (size_t i = 0; i < batch.n_records; i++) {
			*ret_last = batch.records[i].sequence;
		}
		count += batch.n_records;
		journal_folded(journal, 0);
		journal_batch_clear(&batch);
	}
	journal_batch_release(&batch);
	return count;
}

static size_t fill(enum journal_room room, int wanted)
{
	const struct journal_record record = record_of(JOURNAL_UNLINK, "f");
	struct journal_ref ref;
	size_t count = 0;
	int error;

	while (!(error = journal_begin(journal, &record, 0, room, &ref))) {
		journal_done(journal, &ref, &fine);
		count++;
	}
	assert_int_equal(error, wanted);
	return count;
}

static void full_and_what_still_goes(void **state)
{
	const size_t each =
		(JOURNAL_SEGMENT_BYTES - sizeof(struct journal_segment)) /
		slot_bytes("f");
	struct journal_batch batch = {0};
	uint64_t last = 0;

	(void)state;
	assert_int_equal(journal_take(journal, &batch), 0);
	/* Nobody folds: it gives up. */
	assert_int_equal(fill(JOURNAL_TAKES, -EIO), 3 * each);
	/* Folding fails: that error, at once. */
	assert_int_equal(journal_take(journal, &batch), 1);
	journal_folded(journal, -ENOSPC);
	assert_int_equal(fill(JOURNAL_TAKES, -ENOSPC), 0);
	assert_int_equal(fill(JOURNAL_FREES, -ENOSPC), each);
	/* Nothing was lost by it. */
	assert_int_equal(fold_all(&last), 4 * each);
	assert_int_equal(last, 4 * each);
	append(JOURNAL_CREATE, "after");
	assert_int_equal(fold_all(&last), 1);
	assert_int_equal(last, 4 * each + 1);
	journal_batch_release(&batch);
}

static void folded_before_it_is_full(void **state)
{
	uint64_t last = 0;

	(void)state;
	for (size_t i = 1; i < 40000; i++) {
		append(JOURNAL_CREATE, "x");
		if (i % 500 == 0) {
			assert_int_equal(fold_all(&last), 500);
			assert_int_equal(last, i);
		}
	}
}

static void a_change_under_way_is_waited_for(void **state)
{
	const struct journal_ref ref = begin(JOURNAL_CREATE, "slow");
	uint64_t last = 0;

	(void)state;
	append(JOURNAL_CREATE, "quick");
	assert_int_equal(fold_all(&last), 1);
	assert_int_equal(last, 2);
	journal_done(journal, &ref, &fine);
	assert_int_equal(fold_all(&last), 1);
	assert_int_equal(last, 1);
}

static void another_life_takes_up_what_is_left(void **state)
{
	struct journal_process process = {.exe = "", .command = "", .cwd = ""};
	struct journal_batch batch = {0};
	uint64_t last = 0;

	(void)state;
	assert_int_equal(journal_add_process(journal, &process, JOURNAL_TAKES),
			 0);
	append(JOURNAL_CREATE, "folded");
	assert_int_equal(fold_all(&last), 1);
	append(JOURNAL_CREATE, "done");
	begin(JOURNAL_CREATE, "begun");
	reopen();
	append(JOURNAL_CREATE, "new");
	assert_int_equal(journal_add_process(journal, &process, JOURNAL_TAKES),
			 0);
	assert_int_equal(process.number, 2);
	/* The oldest first, and all of it: whether the database has it for
	 * good is the database's to know. */
	assert_int_equal(journal_take(journal, &batch), 1);
	assert_int_equal(batch.n_records, 3);
	assert_int_equal(batch.n_processes, 1);
	assert_string_equal(batch.records[0].path, "folded");
	assert_int_equal(batch.records[1].state, JOURNAL_DONE);
	assert_int_equal(batch.records[2].state, JOURNAL_BEGUN);
	assert_string_equal(batch.records[2].path, "begun");
	journal_folded(journal, 0);
	assert_int_equal(fold_all(&last), 1);
	assert_int_equal(last, 4);
	journal_batch_release(&batch);
}

/* -------------------------------------------------------------------- threads
 */

#define THREADS 4
#define EACH    30000

static void *append_many(void *data)
{
	const char *name = data;

	for (int i = 0; i < EACH; i++) {
		struct journal_record record = record_of(JOURNAL_WRITE, name);
		struct journal_outcome outcome = fine;
		struct journal_ref ref;

		record.offset = i;
		outcome.bytes = i;
		if (journal_begin(journal, &record, 0, JOURNAL_TAKES, &ref)) {
			return data;
		}
		journal_done(journal, &ref, &outcome);
	}
	return NULL;
}

struct folding {
	uint64_t count;
	uint64_t (*sequence)[EACH]; /* of each change of each thread */
	bool gone_wrong;
};

static void fold_batch(struct folding *folding,
		       const struct journal_batch *batch)
{
	for (size_t i = 0; i < batch->n_records; i++) {
		const struct journal_record *record = &batch->records[i];
		uint64_t *sequence = &folding->sequence[record->path[0] - 'a']
						       [record->offset];

		folding->gone_wrong |= record->state != JOURNAL_DONE ||
				       record->offset != record->bytes ||
				       *sequence;
		*sequence = record->sequence;
	}
	folding->count += batch->n_records;
}

static void *fold_many(void *data)
{
	struct folding *folding = data;
	struct journal_batch batch = {0};

	while (folding->count < (uint64_t)THREADS * EACH) {
		int took = journal_take(journal, &batch);

		if (took == 1) {
			fold_batch(folding, &batch);
			journal_folded(journal, 0);
			journal_batch_clear(&batch);
		} else {
			journal_wait_work(journal, 1);
		}
	}
	journal_batch_release(&batch);
	return NULL;
}

static void several_threads(void **state)
{
	static char names[THREADS][2] = {"a", "b", "c", "d"};
	AUTO_FREE uint64_t *sequences =
		calloc((size_t)THREADS * EACH, sizeof(*sequences));
	AUTO_FREE bool *given = calloc((size_t)THREADS * EACH + 1, 1);
	struct folding folding = {.sequence = (uint64_t(*)[EACH])sequences};
	pthread_t threads[THREADS];
	pthread_t folder;
	void *result;

	(void)state;
	journal_close(journal);
	assert_int_equal(
		journal_open(&journal, dir,
			     &(struct journal_options){.wait_ms = 60 * 1000}),
		0);
	assert_int_equal(pthread_create(&folder, NULL, fold_many, &folding), 0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, append_many,
						names[i]),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &result);
		assert_null(result);
	}
	pthread_join(folder, NULL);
	assert_false(folding.gone_wrong);
	/* Each number once, and those of a thread in its order. */
	for (int i = 0; i < THREADS; i++) {
		for (int k = 0; k < EACH; k++) {
			uint64_t sequence = folding.sequence[i][k];

			assert_in_range(sequence, 1, THREADS * EACH);
			assert_false(given[sequence]);
			given[sequence] = true;
			assert_true(k == 0 ||
				    sequence > folding.sequence[i][k - 1]);
		}
	}
}

struct rewriting {
	struct journal_ref ref;
	_Atomic int done;
};

static void *rewrite_many(void *data)
{
	struct rewriting *rewriting = data;
	const struct journal_record record = record_of(JOURNAL_WRITE, "f");
	uint64_t token = journal_token(journal, &rewriting->ref);

	for (int i = 0; i < 200000; i++) {
		struct journal_outcome outcome;

		if (journal_resume(journal, token, &record, 0, &rewriting->ref,
				   &outcome)) {
			outcome.count++;
			outcome.bytes = (int64_t)outcome.count * 10;
			journal_done(journal, &rewriting->ref, &outcome);
		}
	}
	rewriting->done = 1;
	return NULL;
}

/* A reader beside a writer never sees a mixture, nor a step back. */
static void read_while_it_is_written(void **state)
{
	struct rewriting rewriting = {.ref = begin(JOURNAL_WRITE, "f")};
	uint64_t count = 0;
	pthread_t thread;

	(void)state;
	journal_done(journal, &rewriting.ref, &fine);
	assert_int_equal(
		pthread_create(&thread, NULL, rewrite_many, &rewriting), 0);
	while (!rewriting.done) {
		struct journal_batch batch = read_all();

		assert_int_equal(batch.n_records, 1);
		if (batch.records[0].state == JOURNAL_DONE) {
			assert_int_equal(batch.records[0].bytes,
					 batch.records[0].count * 10);
			assert_true(batch.records[0].count >= count);
			count = batch.records[0].count;
		}
		journal_batch_release(&batch);
	}
	pthread_join(thread, NULL);
	assert_true(count > 1);
}

/* --------------------------------------------------------------------- faults
 */

#if LEGATO_FAULT_INJECTION

/* Opens and appends, in a process of its own; in which the K-th system call
 * fails, where K is not 0: what it said. */
static int append_with_fault(int k, int error)
{
	char spec[64];
	pid_t child = fork();
	int status;

	if (child == 0) {
		snprintf(spec, sizeof(spec), "any:%d:%d", k, error);
		setenv("LEGATO_FAULT", spec, 1);
		status = journal_open(&journal, dir, &impatient);
		if (!status) {
			append(JOURNAL_CREATE, "x");
		}
		_exit(-status);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void each_call_that_opens_fails(void **state)
{
	int failed = 0;

	(void)state;
	for (int k = 1; k < 40; k++) {
		int error = k % 2 ? EIO : ENOSPC;
		int seen = append_with_fault(k, error);

		assert_true(seen == 0 || seen == error);
		failed += seen != 0;
		assert_int_equal(append_with_fault(0, 0), 0);
		assert_int_equal(unlink(JOURNAL_AREA_FILE), 0);
	}
	assert_in_range(failed, 6, 20);
}

#endif

#define JOURNAL_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
#if LEGATO_FAULT_INJECTION
		/* First: faults are read once in a process. */
		cmocka_unit_test_setup_teardown(each_call_that_opens_fails,
						open_dir, teardown),
#endif
		JOURNAL_TEST(reads_what_was_appended),
		JOURNAL_TEST(processes_are_numbered),
		JOURNAL_TEST(begun_and_never_done),
		JOURNAL_TEST(long_names_are_cut),
		JOURNAL_TEST(writes_become_one),
		JOURNAL_TEST(what_is_not_continued),
		JOURNAL_TEST(killed_in_one_call_more),
		JOURNAL_TEST(torn_at_every_byte),
		JOURNAL_TEST(a_broken_outcome_does_not_count),
		JOURNAL_TEST(any_flipped_byte_is_seen),
		JOURNAL_TEST(refuses_what_it_does_not_know),
		JOURNAL_TEST(one_appends_at_a_time),
		JOURNAL_TEST(an_unfinished_area_is_made_again),
		JOURNAL_TEST(its_room_is_reserved),
		JOURNAL_TEST(full_and_what_still_goes),
		JOURNAL_TEST(folded_before_it_is_full),
		JOURNAL_TEST(a_change_under_way_is_waited_for),
		JOURNAL_TEST(another_life_takes_up_what_is_left),
		JOURNAL_TEST(several_threads),
		JOURNAL_TEST(read_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
