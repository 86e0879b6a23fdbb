#include "recorder.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "err.h"
#include "log.h"
#include "sys.h"

/* How old the database may be. */
#define FOLD_MS 1000

/* How long a change waits for room before it is refused. */
#define WAIT_MS (30 * 1000)

/* After a failure, so that changes that are refused don't make it a storm. */
#define FAILED_PAUSE_NS (100 * 1000 * 1000)

/* The database's state is told when it changes. */
static void tell_fold(struct recorder *recorder, int error)
{
	if (error && error != recorder->fold_error) {
		log_error("cannot write '%s/%s': %s; changes are refused once "
			  "the journal is full",
			  JOURNAL_DIR, INDEX_FILE, err_text(error));
	} else if (!error && recorder->fold_error) {
		log_info("'%s/%s' is written again", JOURNAL_DIR, INDEX_FILE);
	}
	recorder->fold_error = error;
}

/* Folds all there is. */
static int fold(struct recorder *recorder, struct journal_batch *batch)
{
	int error = 0;

	while (!error && journal_take(recorder->journal, batch) == 1) {
		error = index_fold(recorder->index, batch->processes,
				   batch->n_processes, batch->records,
				   batch->n_records);
		journal_folded(recorder->journal, error);
		tell_fold(recorder, error);
		journal_batch_clear(batch);
	}
	journal_batch_clear(batch);
	return error;
}

/*
 * The thread interrupts nobody who wakes up. It isn't given a lower share of
 * the processor, though: changes may come to wait for room, and the daemon's
 * end for the last fold, and on a busy machine they would wait for long.
 */
static void lower_own_priority(void)
{
	const struct sched_param none = {0};

	/* What it can't have it does without. */
	(void)!pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
}

static void *write_database(void *data)
{
	const struct timespec pause = {.tv_nsec = FAILED_PAUSE_NS};
	struct recorder *recorder = data;
	struct journal_batch batch = {0};
	bool last = false;

	lower_own_priority();
	while (!last) {
		journal_wait_work(recorder->journal, FOLD_MS);
		/* acquire: pairs with recorder_stop */
		last = atomic_load_explicit(&recorder->stopping,
					    memory_order_acquire);
		if (fold(recorder, &batch) && !last) {
			nanosleep(&pause, NULL);
		}
	}
	journal_batch_release(&batch);
	return NULL;
}

static void recorder_free(struct recorder *recorder)
{
	processes_release(&recorder->processes);
	index_close(recorder->index);
	journal_close(recorder->journal);
	auto_close_fd(&recorder->dir_fd);
	free(recorder);
}

static int open_all(struct recorder *recorder, int execution_dirfd,
		    unsigned int max_processes)
{
	const struct journal_options options = {.wait_ms = WAIT_MS};
	int error;

	recorder->dir_fd = journal_make_dir(execution_dirfd);
	if (recorder->dir_fd < 0) {
		return recorder->dir_fd;
	}
	error = journal_open(&recorder->journal, recorder->dir_fd, &options);
	error = error ? error
		      : index_open(&recorder->index, recorder->dir_fd,
				   INDEX_WRITE);
	return error ? error
		     : processes_init(&recorder->processes, recorder->journal,
				      max_processes);
}

int recorder_start(struct recorder **ret_recorder, int execution_dirfd,
		   unsigned int max_processes)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	int error;

	if (!recorder) {
		return -ENOMEM;
	}
	error = open_all(recorder, execution_dirfd, max_processes);
	error = error ? error
		      : -pthread_create(&recorder->thread, NULL, write_database,
					recorder);
	if (error) {
		recorder_free(recorder);
		return error;
	}
	*ret_recorder = recorder;
	return 0;
}

void recorder_stop(struct recorder *recorder)
{
	if (!recorder) {
		return;
	}
	/* release: pairs with write_database */
	atomic_store_explicit(&recorder->stopping, true, memory_order_release);
	journal_wake(recorder->journal);
	pthread_join(recorder->thread, NULL);
	recorder_free(recorder);
}

void recorder_tell_refused(struct recorder *recorder, int error)
{
	/* relaxed: a line in the log more or less */
	if (atomic_exchange_explicit(&recorder->refused_error, error,
				     memory_order_relaxed) != error) {
		log_error("the journal is full: changes are refused: %s",
			  err_text(error));
	}
}
