/*
 * recorder.h - the journal of one execution while it is served.
 *
 * Opens the append area, and runs the thread (SCHED_BATCH) that folds it into
 * the database once a second, or when a segment is full. record.h is what the
 * operations call.
 *
 * Calling sequence: recorder_start before requests come, recorder_stop after
 * the last.
 */
#ifndef FS_CORE_RECORDER_H
#define FS_CORE_RECORDER_H

#include <pthread.h>
#include <stdatomic.h>

#include "compiler.h"
#include "index.h"
#include "journal.h"
#include "processes.h"

struct recorder {
	struct journal *journal;
	struct processes processes;
	/* Of names: grows when a path may have come to mean another file. */
	atomic_ulong epoch;
	/* private */
	int dir_fd;
	struct index *index; /* the thread's */
	pthread_t thread;
	atomic_bool stopping;
	int fold_error;           /* the thread's: as it was last told */
	atomic_int refused_error; /* as it was last told */
};

/*
 * Opens or makes the folder `journal` in the execution's. `max_processes`: see
 * processes.h. -EBADMSG, -EPROTONOSUPPORT: what is there can't be gone on with;
 * -ENOSPC, ...
 */
int recorder_start(struct recorder **ret_recorder, int execution_dirfd,
		   unsigned int max_processes) MUST_CHECK;
/* Folds what is left. Takes NULL. */
void recorder_stop(struct recorder *recorder);

/* A change can't be recorded and so is refused: tells it in the log, once. */
void recorder_tell_refused(struct recorder *recorder, int error);

#endif
