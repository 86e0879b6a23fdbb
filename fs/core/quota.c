#include "quota.h"

#include <time.h>

#include "sys.h"

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

/* relaxed, all over this file: each word is right by itself, and none of them
 * publishes anything */
#define LOAD(word)      atomic_load_explicit(&(word), memory_order_relaxed)
#define STORE(word, to) atomic_store_explicit(&(word), to, memory_order_relaxed)

/* Returns the sum. */
static int64_t add(_Atomic int64_t *word, int64_t more)
{
	return atomic_fetch_add_explicit(word, more, memory_order_relaxed) +
	       more;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

void quota_init(struct quota *quota)
{
	*quota = (struct quota){.disk_fd = -1};
}

void quota_start(struct quota *quota, struct quota_page *page, int disk_fd)
{
	quota->page = page;
	quota->disk_fd = disk_fd;
}

void quota_release(struct quota *quota)
{
	if (quota->page) {
		quota_page_forget_nameless(quota->page);
		quota_page_close(quota->page);
		quota->page = NULL;
	}
}

/* Bytes above the floor, by the disk's count. INT64_MAX where it can't be
 * asked: then the disk itself says when it is full. */
static int64_t ask_free(struct quota *quota, uint64_t min_free)
{
	struct statvfs st;
	uint64_t available;
	int64_t above;

	if (sys_fstatvfs(quota->disk_fd, &st)) {
		return INT64_MAX;
	}
	available = (uint64_t)st.f_bavail * st.f_frsize;
	above = available > min_free ? (int64_t)(available - min_free) : 0;
	STORE(quota->free_bytes, above);
	STORE(quota->free_ns, now_ns());
	return above;
}

/* What is left above the floor, as far as that has to be known. What was added
 * since it was asked for is taken off by quota_add. */
static int64_t free_above(struct quota *quota, uint64_t min_free)
{
	int64_t left = LOAD(quota->free_bytes);

	return left < QUOTA_FREE_NEAR || now_ns() - LOAD(quota->free_ns) >
						 QUOTA_FREE_AGE_NS
		       ? ask_free(quota, min_free)
		       : left;
}

/* What is left of a limit. */
static int64_t left_of(uint64_t limit, int64_t used)
{
	return limit == QUOTA_NONE     ? INT64_MAX
	       : (int64_t)limit > used ? (int64_t)limit - used
				       : 0;
}

static bool fits(struct quota *quota, const struct quota_limits *limits,
		 int64_t claimed_bytes, int64_t claimed_files)
{
	const struct quota_amount used = quota_page_used(quota->page);

	return claimed_bytes <= left_of(limits->bytes, used.bytes) &&
	       claimed_files <= left_of(limits->files, used.files) &&
	       (!limits->min_free ||
		claimed_bytes <= free_above(quota, limits->min_free));
}

/* Whether space may be about to come back; waits a little if so. What the disk
 * says is free (for the floor) comes a moment after the file is gone. */
static bool wait_for_forget(struct quota *quota)
{
	const struct timespec pause = {.tv_nsec = NS_PER_MS};
	const struct quota_amount nameless = quota_page_nameless(quota->page);
	const bool is_late = LOAD(quota->page->min_free);

	if ((!nameless.files && !is_late) ||
	    now_ns() - LOAD(quota->unlinked_ns) > QUOTA_FORGET_NS) {
		return false;
	}
	nanosleep(&pause, NULL);
	return true;
}

int claim_take(struct claim *claim, struct quota *quota, int64_t bytes,
	       int64_t files)
{
	struct quota_limits limits;
	int64_t claimed_bytes;
	int64_t claimed_files;

	/* What takes nothing always works. */
	if (!quota->page || (!bytes && !files)) {
		return 0;
	}
	limits = quota_page_limits(quota->page);
	if (!quota_limits_any(&limits)) {
		return 0;
	}
	claimed_bytes = add(&quota->claimed_bytes, bytes);
	claimed_files = files ? add(&quota->claimed_files, files) : 0;
	*claim = (struct claim){quota, bytes, files};
	while (!fits(quota, &limits, claimed_bytes, claimed_files)) {
		if (!wait_for_forget(quota)) {
			claim_drop(claim);
			return -ENOSPC;
		}
	}
	return 0;
}

void claim_drop(struct claim *claim)
{
	if (!claim->quota) {
		return;
	}
	add(&claim->quota->claimed_bytes, -claim->bytes);
	if (claim->files) {
		add(&claim->quota->claimed_files, -claim->files);
	}
	claim->quota = NULL;
}

int64_t quota_room(struct quota *quota)
{
	struct quota_limits limits;
	int64_t room;

	if (!quota->page) {
		return INT64_MAX;
	}
	limits = quota_page_limits(quota->page);
	room = left_of(limits.bytes, quota_page_used(quota->page).bytes);
	if (limits.min_free) {
		int64_t above = free_above(quota, limits.min_free);

		room = above < room ? above : room;
	}
	room -= LOAD(quota->claimed_bytes);
	return room > 0 ? room : 0;
}

void quota_add(struct quota *quota, int64_t bytes, int64_t files)
{
	if (!quota->page) {
		return;
	}
	quota_page_add(quota->page, bytes, files);
	if (bytes && LOAD(quota->page->min_free)) {
		add(&quota->free_bytes, -bytes);
	}
}

void quota_add_nameless(struct quota *quota, int64_t bytes, int64_t files)
{
	if (!quota->page) {
		return;
	}
	quota_page_add_nameless(quota->page, bytes, files);
	if (files) {
		STORE(quota->unlinked_ns, now_ns());
	}
}

static fsblkcnt_t at_most(fsblkcnt_t value, uint64_t limit)
{
	return value < limit ? value : limit;
}

void quota_show(struct quota *quota, struct statvfs *st)
{
	struct quota_limits limits;
	struct quota_amount used;
	uint64_t floor;

	if (!quota->page) {
		return;
	}
	limits = quota_page_limits(quota->page);
	used = quota_page_used(quota->page);
	floor = limits.min_free / st->f_frsize;
	st->f_bfree -= at_most(st->f_bfree, floor);
	st->f_bavail -= at_most(st->f_bavail, floor);
	if (limits.bytes != QUOTA_NONE) {
		uint64_t left = (uint64_t)left_of(limits.bytes, used.bytes) /
				st->f_frsize;

		st->f_blocks =
			at_most(st->f_blocks, limits.bytes / st->f_frsize);
		st->f_bfree = at_most(st->f_bfree, left);
		st->f_bavail = at_most(st->f_bavail, left);
	}
	if (limits.files != QUOTA_NONE) {
		uint64_t left = (uint64_t)left_of(limits.files, used.files);

		/* A disk that makes inodes as needed says 0 of 0. */
		st->f_files = st->f_files ? at_most(st->f_files, limits.files)
					  : limits.files;
		st->f_ffree = st->f_files == limits.files && !st->f_ffree
				      ? left
				      : at_most(st->f_ffree, left);
		st->f_favail = st->f_ffree;
	}
}
