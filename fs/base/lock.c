#include "lock.h"

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "legato-config.h"

#if LEGATO_LOCK_CHECKS

#define LOCK_HELD_MAX 16

struct held {
	const void *lock;
	enum lock_rank rank;
	uint64_t order;
};

static _Thread_local struct held held[LOCK_HELD_MAX];
static _Thread_local unsigned int held_count;

static void breach(const char *what, enum lock_rank rank, uint64_t order)
{
	fprintf(stderr, "lock rank breach: %s rank %d order %llu\n", what,
		(int)rank, (unsigned long long)order);
	for (unsigned int i = 0; i < held_count; i++) {
		fprintf(stderr, "  holds rank %d order %llu\n",
			(int)held[i].rank, (unsigned long long)held[i].order);
	}
	abort();
}

static void note_taken(const void *lock, enum lock_rank rank, uint64_t order)
{
	for (unsigned int i = 0; i < held_count; i++) {
		if (held[i].rank > rank ||
		    (held[i].rank == rank && held[i].order >= order)) {
			breach("takes", rank, order);
		}
	}
	if (held_count == LOCK_HELD_MAX) {
		breach("takes too many, last", rank, order);
	}
	held[held_count++] = (struct held){lock, rank, order};
}

static void note_dropped(const void *lock)
{
	for (unsigned int i = held_count; i-- > 0;) {
		if (held[i].lock == lock) {
			held[i] = held[--held_count];
			return;
		}
	}
	breach("drops a lock that it does not hold", 0, 0);
}

#else

static void note_taken(const void *lock, enum lock_rank rank, uint64_t order)
{
	(void)lock;
	(void)rank;
	(void)order;
}

static void note_dropped(const void *lock)
{
	(void)lock;
}

#endif

/* Locks of ours are never destroyed while held nor taken twice: an error
 * here is a bug of ours and going on would corrupt. */
static void must(int error)
{
	if (error) {
		fprintf(stderr, "lock failed: error %d\n", error);
		abort();
	}
}

void lock_init(struct lock *lock, enum lock_rank rank, uint64_t order)
{
	must(pthread_mutex_init(&lock->mutex, NULL));
	lock->rank = rank;
	lock->order = order;
}

void lock_release(struct lock *lock)
{
	must(pthread_mutex_destroy(&lock->mutex));
}

void lock_take(struct lock *lock)
{
	note_taken(lock, lock->rank, lock->order);
	must(pthread_mutex_lock(&lock->mutex));
}

void lock_drop(struct lock *lock)
{
	must(pthread_mutex_unlock(&lock->mutex));
	note_dropped(lock);
}

void lock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;

	must(pthread_condattr_init(&attr));
	must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
	must(pthread_cond_init(cond, &attr));
	must(pthread_condattr_destroy(&attr));
}

int lock_wait(struct lock *lock, pthread_cond_t *cond, unsigned int ms)
{
	struct timespec until;
	int error;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += (long)(ms % 1000) * 1000 * 1000;
	if (until.tv_nsec >= 1000L * 1000 * 1000) {
		until.tv_sec++;
		until.tv_nsec -= 1000L * 1000 * 1000;
	}
	note_dropped(lock);
	error = pthread_cond_timedwait(cond, &lock->mutex, &until);
	note_taken(lock, lock->rank, lock->order);
	if (error && error != ETIMEDOUT) {
		must(error);
	}
	return -error;
}

struct lock *lock_taken(struct lock *lock)
{
	lock_take(lock);
	return lock;
}

void lock_auto_drop(struct lock **lock)
{
	if (*lock) {
		lock_drop(*lock);
	}
}

void rwlock_init(struct rwlock *lock, enum lock_rank rank)
{
	pthread_rwlockattr_t attr;

	must(pthread_rwlockattr_init(&attr));
	must(pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP));
	must(pthread_rwlock_init(&lock->rwlock, &attr));
	must(pthread_rwlockattr_destroy(&attr));
	lock->rank = rank;
}

void rwlock_release(struct rwlock *lock)
{
	must(pthread_rwlock_destroy(&lock->rwlock));
}

void rwlock_take_shared(struct rwlock *lock)
{
	note_taken(lock, lock->rank, 0);
	must(pthread_rwlock_rdlock(&lock->rwlock));
}

void rwlock_take_exclusive(struct rwlock *lock)
{
	note_taken(lock, lock->rank, 0);
	must(pthread_rwlock_wrlock(&lock->rwlock));
}

void rwlock_drop(struct rwlock *lock)
{
	must(pthread_rwlock_unlock(&lock->rwlock));
	note_dropped(lock);
}
