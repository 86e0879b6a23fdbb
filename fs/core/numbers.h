/*
 * numbers.h - inode numbers that a disk gives a second time.
 *
 * A copied-up file keeps the number that it had in the base. The disk knows
 * nothing of that: once the base's file is gone, another file may get its
 * number, and where somebody only renamed it, it still has it. Such a
 * latecomer, in the base or in an upper, is told apart by bits 56 to 62 of the
 * number that the view reports, which come from its time of birth, so that they
 * stay. Its own copy-up writes them down (origin.h).
 *
 * What numbers are taken is known from the copy-ups of this life, and from the
 * copied-up files of earlier ones once they were looked up.
 *
 * Threads: any; no other lock is taken inside.
 */
#ifndef FS_CORE_NUMBERS_H
#define FS_CORE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "lock.h"

struct numbers {
	/* private */
	struct lock lock;
	struct number {
		uint64_t dev;
		uint64_t ino; /* 0: free */
	} * slots;            /* guarded by: lock. Open addressing */
	size_t mask;
	size_t used;
};

void numbers_init(struct numbers *numbers);
void numbers_release(struct numbers *numbers);

/* A copied-up file has the number from now on. Without memory for it a
 * latecomer is not told apart. */
void numbers_take(struct numbers *numbers, uint64_t dev, uint64_t ino);

bool numbers_is_taken(struct numbers *numbers, uint64_t dev, uint64_t ino);

/* Changes st->st_ino of `name` in `dirfd`, which is not copied up, if its
 * number is taken. -errno of the disk. */
int numbers_tell_apart(struct numbers *numbers, int dirfd, const char *name,
		       struct stat *st) MUST_CHECK;

/* The bits alone, and a number with them. */
uint8_t numbers_variant(uint64_t ino);
uint64_t numbers_with(uint64_t ino, uint8_t variant);

#endif
