/*
 * stats_page.h - the file `stats` in an execution's folder: how many requests
 * of each kind the kernel sent, and how long each took.
 *
 * The daemon maps it and counts into it, so that others see the counts while it
 * runs and after it died, without asking it. Nothing depends on them: a file
 * that cannot be made, or is of another version, is done without.
 *
 * A duration is from the request's arrival to its answer, in nanoseconds.
 * Bucket n of the histogram counts those below 2^n microseconds that no lower
 * one took; the last counts all others.
 *
 * Threads: counting from any, without a lock: each adds to one of a few tables,
 * and whoever reads adds them up.
 */
#ifndef FS_STORE_STATS_PAGE_H
#define FS_STORE_STATS_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

#define STATS_FILE "stats"

#define STATS_OPCODES 64U /* FUSE's numbers; what is above counts as 0 */
#define STATS_BUCKETS 20U /* up to 0.26 s, and above */

struct stats_row {
	uint64_t count;
	uint64_t failed; /* answered with an error */
	uint64_t total_ns;
	uint64_t buckets[STATS_BUCKETS];
};

struct stats_page; /* mapped */

/* Makes the file anew, all its space allocated. -ENOSPC, ... */
int stats_page_create(struct stats_page **ret_page, int dirfd) MUST_CHECK;
void stats_page_release(struct stats_page *page);

/* A request was answered. `shard`: any number, the same for a thread. */
void stats_page_count(struct stats_page *page, unsigned int shard,
		      unsigned int opcode, bool failed, uint64_t ns);

/* What was counted so far, by opcode. -ENOENT, -EPROTONOSUPPORT for a file of
 * another version, -EBADMSG for one that is broken. */
int stats_page_read(int dirfd,
		    struct stats_row ret_rows[STATS_OPCODES]) MUST_CHECK;

/* FUSE's name of a request ("LOOKUP"), or NULL for an unknown one. */
const char *stats_opcode_name(unsigned int opcode);

/* The upper end, in microseconds, of the bucket in which the given part (0 to
 * 1) of the row's requests had ended; 0 without any. */
uint64_t stats_row_quantile(const struct stats_row *row, double part);

#endif
