/*
 * processes.h - who a request comes from, by a number that is on the record.
 *
 * The kernel names a thread. What is recorded is the program that its process
 * runs, read from procfs once, while it waits for its answer and so lives; its
 * parents too, up to the sandbox's first process.
 *
 * How a number is known to be right still: for each thread `stat` of its procfs
 * folder is kept open. It stands for that very thread: once that is dead it
 * says so, whoever has the pid by then. And it shows an exec: the name, or
 * where the program and its stack are, have changed. It is read again when an
 * eighth of the time for which the program is known has passed since, at least
 * once a millisecond. (A fresh program needs about that long to start, so a
 * shell that opens a file and then becomes the compiler is told from it.) In
 * between nothing is read, and no lock taken: each thread of ours remembers the
 * last few.
 *
 * Bounded: what was not used for long is forgotten, and gets another number
 * when it comes again.
 *
 * Threads: any; no lock of core's may be held, because procfs may wait for a
 * page of the process that only we can deliver. The lock has rank PROCESSES.
 */
#ifndef FS_CORE_PROCESSES_H
#define FS_CORE_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

#include "compiler.h"
#include "journal.h"
#include "lock.h"

struct process_entry;

struct processes {
	/* private */
	struct journal *journal;
	struct lock lock;
	uint64_t instance;
	int proc_fd;       /* -1: no procfs, so no process is known */
	pid_t last_parent; /* it and its own are not of the sandbox */
	struct process_entry *entries; /* guarded by: lock, all of them */
	unsigned int max;
	unsigned int hand; /* guarded by: lock. The next to go */
};

/* At most `max` threads are known at a time, each with a descriptor. 0 or
 * -ENOMEM. */
int processes_init(struct processes *processes, struct journal *journal,
		   unsigned int max) MUST_CHECK;
void processes_release(struct processes *processes);

/* The number of what the thread runs now. 0: not known: it has ended, or there
 * was no room in the journal. */
uint64_t processes_identify(struct processes *processes, pid_t thread);

/* The same for one that may have ended: as it was last seen. */
uint64_t processes_recall(struct processes *processes, pid_t thread);

#endif
