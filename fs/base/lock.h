/*
 * lock.h - mutexes that know their rank.
 *
 * A thread takes locks only upward: each lock it takes has a rank above every
 * lock it holds, or the same rank and a higher `order` (the node id). With
 * LEGATO_LOCK_CHECKS (debug builds) a breach aborts with both ranks printed;
 * otherwise a lock is a plain mutex.
 */
#ifndef FS_BASE_LOCK_H
#define FS_BASE_LOCK_H

#include <pthread.h>
#include <stdint.h>

#include "compiler.h"

enum lock_rank {
	LOCK_RANK_HANDLE = 0, /* an open directory's snapshot */
	LOCK_RANK_COPYUP = 1, /* held for a whole copy-up */
	LOCK_RANK_BLOCKS = 2, /* which blocks of a partial file are there */
	LOCK_RANK_TREE = 3,   /* a view's shape: exclusive for rename */
	LOCK_RANK_DIR = 4,    /* a directory's entries */
	LOCK_RANK_FILE = 5,   /* a file's place and descriptor */
	LOCK_RANK_TABLE = 6,
	LOCK_RANK_FDCACHE = 7,
	LOCK_RANK_PROCESSES = 8,
	LOCK_RANK_QUEUE = 9,
};

struct lock {
	/* private */
	pthread_mutex_t mutex;
	enum lock_rank rank;
	uint64_t order;
};

/* `order` ranks locks of one rank among each other. */
void lock_init(struct lock *lock, enum lock_rank rank, uint64_t order);
void lock_release(struct lock *lock);
void lock_take(struct lock *lock);
void lock_drop(struct lock *lock);

/*
 * Waits for `cond`, which goes by CLOCK_MONOTONIC (lock_cond_init), with the
 * lock dropped meanwhile. 0, or -ETIMEDOUT after `ms`. The caller holds no lock
 * of a higher rank, and looks again at what it waits for.
 */
void lock_cond_init(pthread_cond_t *cond);
int lock_wait(struct lock *lock, pthread_cond_t *cond,
	      unsigned int ms) MUST_CHECK;

/* For scoped locking: `AUTO_UNLOCK struct lock *held = lock_taken(&x);` */
struct lock *lock_taken(struct lock *lock);
void lock_auto_drop(struct lock **lock);
#define AUTO_UNLOCK AUTO(lock_auto_drop)

/* The same for a lock with readers. Writers are preferred, so that a stream
 * of readers can't starve them; a thread must not take it shared twice. */
struct rwlock {
	/* private */
	pthread_rwlock_t rwlock;
	enum lock_rank rank;
};

void rwlock_init(struct rwlock *lock, enum lock_rank rank);
void rwlock_release(struct rwlock *lock);
void rwlock_take_shared(struct rwlock *lock);
void rwlock_take_exclusive(struct rwlock *lock);
void rwlock_drop(struct rwlock *lock);

#endif
