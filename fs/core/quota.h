/*
 * quota.h - whether there is room for a change.
 *
 * A change that takes space first claims what it may take at most; then it is
 * made, and what it took by the disk's count is added to the page (charge.h);
 * then the claim is dropped. So nothing is half done for want of room, and
 * threads together can't take more than there is.
 *
 * What always works adds without a claim: whiteouts and copied-up directories
 * (removing a name of the base takes them), and what a rename of them takes.
 * So what is used can be above a limit by an inode, and what its directory's
 * entry takes, for each name of the base that was removed or renamed at the
 * limit; and by a disk's own blocks for keeping track of a file's (ext4: one
 * block for some 340 extents).
 *
 * The floor of free space is asked of the disk at most every
 * QUOTA_FREE_AGE_NS, and each time while less than QUOTA_FREE_NEAR is left
 * above it.
 *
 * An unlinked file takes space until the kernel has forgotten it, which it
 * tells a moment after the unlink, and the disk has freed it; a claim that
 * finds no room waits for that, as long as QUOTA_FORGET_NS. Without an unlink
 * just before nothing waits.
 *
 * Without limits a claim costs two loads; with them, two additions to words
 * that the threads share. No lock.
 *
 * Threads: any.
 */
#ifndef FS_CORE_QUOTA_H
#define FS_CORE_QUOTA_H

#include <stdatomic.h>
#include <sys/statvfs.h>

#include "quota_page.h"

#define QUOTA_FREE_AGE_NS INT64_C(100000000)
#define QUOTA_FREE_NEAR   (INT64_C(16) << 20)
#define QUOTA_FORGET_NS   INT64_C(1000000000)

struct quota {
	struct quota_page *page; /* owned; NULL: nothing is counted */
	int disk_fd;             /* on the scratch disk; borrowed */
	/* private */
	_Atomic int64_t claimed_bytes;
	_Atomic int64_t claimed_files;
	_Atomic int64_t free_bytes; /* above the floor, at free_ns */
	_Atomic int64_t free_ns;
	_Atomic int64_t unlinked_ns; /* a file last lost its name, or went */
};

/* Nothing is counted. */
void quota_init(struct quota *quota);
/* Counts in `page` (taken over) from here on. */
void quota_start(struct quota *quota, struct quota_page *page, int disk_fd);
/* All nodes are gone. */
void quota_release(struct quota *quota);

static inline bool quota_counts(const struct quota *quota)
{
	return quota->page;
}

struct claim {
	struct quota *quota; /* NULL: nothing is claimed */
	int64_t bytes;
	int64_t files;
};

#define CLAIM_INIT                                                             \
	{                                                                      \
		0                                                              \
	}
#define AUTO_CLAIM AUTO(claim_drop) struct claim

/* What making one entry may take at most, in bytes: its own first block and
 * one more for its directory. */
#define QUOTA_ENTRY_BYTES INT64_C(8192)

/* 0, or -ENOSPC. `claim` is CLAIM_INIT. */
int claim_take(struct claim *claim, struct quota *quota, int64_t bytes,
	       int64_t files) MUST_CHECK;
/* Takes an empty one. */
void claim_drop(struct claim *claim);

/* How many bytes there is room for, at least 0. */
int64_t quota_room(struct quota *quota);

/* Adds what was taken, or given back. */
void quota_add(struct quota *quota, int64_t bytes, int64_t files);
/* The same, where it is of files without a name. */
void quota_add_nameless(struct quota *quota, int64_t bytes, int64_t files);

/* Makes the disk's answer the quota's: its size, and what is left, never more
 * than the disk has. */
void quota_show(struct quota *quota, struct statvfs *st);

#endif
