/*
 * fdcache.h - descriptors shared between threads, and a bounded cache of them.
 *
 * A `struct fdref` is a descriptor with a reference count: whoever holds a
 * reference may use the descriptor, and the last one to put it closes it. So
 * no thread can close a number that another still uses.
 *
 * The cache maps (node id, slot) to a fdref: slot 0 is a directory in the
 * upper, slot i + 1 the directory's i-th lower. It holds one reference of its
 * own to at most `capacity` entries, the least recently used goes first. A
 * reference handed out stays valid when the entry is evicted or dropped.
 *
 * Threads: all functions from any thread. The cache's lock has rank FDCACHE,
 * is a leaf, and no system call is made under it.
 */
#ifndef FS_CORE_FDCACHE_H
#define FS_CORE_FDCACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lock.h"

struct fdref {
	int fd;
	bool writable;
	/* private */
	atomic_uint refs;
};

/* Takes over `fd` (closes it on failure); one reference, the caller's.
 * NULL when out of memory. */
struct fdref *fdref_new(int fd, bool writable);
/* Another reference; NULL stays NULL. */
struct fdref *fdref_get(struct fdref *ref);
/* Gives one back; takes NULL. */
void fdref_put(struct fdref *ref);
void fdref_auto_put(struct fdref **ref);
#define AUTO_FDREF AUTO(fdref_auto_put) struct fdref

struct fdcache_entry;

struct fdcache {
	/* private */
	struct lock lock;
	struct fdcache_entry **buckets;
	struct fdcache_entry *newest;
	struct fdcache_entry *oldest;
	unsigned int count;
	unsigned int capacity;
	unsigned int bucket_mask;
};

/* 0 or -ENOMEM. */
int fdcache_init(struct fdcache *cache, unsigned int capacity) MUST_CHECK;
void fdcache_release(struct fdcache *cache);

/* A reference (the caller puts it), or NULL when it is not there. */
struct fdref *fdcache_find(struct fdcache *cache, uint64_t node_id,
			   unsigned int slot);

/* Remembers `ref` (takes a reference of its own), replacing what was there.
 * Quietly does nothing when out of memory: it is only a cache. */
void fdcache_insert(struct fdcache *cache, uint64_t node_id, unsigned int slot,
		    struct fdref *ref);

void fdcache_drop(struct fdcache *cache, uint64_t node_id, unsigned int slot);

#endif
