/*
 * quota_page.h - what an execution may use and does use: the file `quota` in
 * its folder, mapped by the daemon that counts and by whoever asks or changes
 * the limits, while it lives and after.
 *
 * Each value is one atomic word. The kernel keeps the page when a process is
 * killed, so after SIGKILL it is right but for the changes that were under way
 * in that instant: at most one for each thread of the daemon. quota_count.h
 * mends that.
 *
 * Used counts all inodes of the uppers and the links folders, as st_blocks
 * says. `nameless` is the part of it that is gone once the daemon is: files
 * that were unlinked while open, and O_TMPFILE.
 *
 * Threads and processes: any.
 */
#ifndef FS_STORE_QUOTA_PAGE_H
#define FS_STORE_QUOTA_PAGE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "quota_limits.h"

#define QUOTA_PAGE_FILE    "quota"
#define QUOTA_PAGE_VERSION 1

struct quota_amount {
	int64_t bytes;
	int64_t files;
};

/* On disk in the machine's byte order; `check` is of what never changes. */
struct quota_page {
	char magic[8];
	uint32_t version;
	uint32_t check;
	_Atomic uint64_t limit_bytes;
	_Atomic uint64_t limit_files;
	_Atomic uint64_t min_free;
	_Atomic uint64_t limits_check;
	_Atomic int64_t used_bytes;
	_Atomic int64_t used_files;
	_Atomic int64_t nameless_bytes;
	_Atomic int64_t nameless_files;
};

/*
 * Maps the page in the folder. -ENOENT; -EPROTONOSUPPORT: another version's,
 * which is left alone; -EBADMSG: none at all.
 */
int quota_page_open(int dirfd, struct quota_page **ret_page) MUST_CHECK;

/* Makes it, or makes it anew. Nothing is used yet. -ENOSPC, ... */
int quota_page_make(int dirfd, const struct quota_limits *limits,
		    struct quota_page **ret_page) MUST_CHECK;

/* Takes NULL. */
void quota_page_close(struct quota_page *page);

struct quota_limits quota_page_limits(struct quota_page *page);
void quota_page_set_limits(struct quota_page *page,
			   const struct quota_limits *limits);

struct quota_amount quota_page_used(struct quota_page *page);
struct quota_amount quota_page_nameless(struct quota_page *page);
void quota_page_add(struct quota_page *page, int64_t bytes, int64_t files);
void quota_page_add_nameless(struct quota_page *page, int64_t bytes,
			     int64_t files);

/* The daemon that had nameless files is gone, and so are they. */
void quota_page_forget_nameless(struct quota_page *page);

#endif
