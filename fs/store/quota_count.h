/*
 * quota_count.h - what an execution uses, by looking at all of it.
 *
 * The cost follows what was changed: uppers and links folders are walked,
 * never a base. A file with several names counts once.
 *
 * Threads: one at a time.
 */
#ifndef FS_STORE_QUOTA_COUNT_H
#define FS_STORE_QUOTA_COUNT_H

#include "manifest.h"
#include "quota_page.h"

/* Counts the views of the execution whose folder is `dirfd`. What vanishes
 * meanwhile is not counted. -EACCES, -ENOMEM, ... */
int quota_count(int dirfd, const struct manifest *manifest,
		struct quota_amount *ret_used) MUST_CHECK;

/*
 * Puts the count in the page, nameless files added. -EAGAIN: what is used
 * changed during the count, several times over.
 */
int quota_recount(int dirfd, const struct manifest *manifest,
		  struct quota_page *page) MUST_CHECK;

#endif
