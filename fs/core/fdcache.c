#include "fdcache.h"

#include "sys.h"

struct fdcache_entry {
	uint64_t node_id;
	unsigned int slot;
	struct fdref *ref;
	struct fdcache_entry *chain;
	struct fdcache_entry *newer;
	struct fdcache_entry *older;
};

struct fdref *fdref_new(int fd, bool writable)
{
	struct fdref *ref = malloc(sizeof(*ref));

	if (!ref) {
		sys_close(fd);
		return NULL;
	}
	ref->fd = fd;
	ref->writable = writable;
	atomic_init(&ref->refs, 1);
	return ref;
}

struct fdref *fdref_get(struct fdref *ref)
{
	if (ref) {
		/* relaxed: the caller's own reference keeps it alive */
		atomic_fetch_add_explicit(&ref->refs, 1, memory_order_relaxed);
	}
	return ref;
}

void fdref_put(struct fdref *ref)
{
	/* acq_rel: all uses happen before the close, whoever does it */
	if (ref && atomic_fetch_sub_explicit(&ref->refs, 1,
					     memory_order_acq_rel) == 1) {
		sys_close(ref->fd);
		free(ref);
	}
}

void fdref_auto_put(struct fdref **ref)
{
	int saved = errno;

	fdref_put(*ref);
	errno = saved;
}

static struct fdcache_entry **bucket(struct fdcache *cache, uint64_t node_id,
				     unsigned int slot)
{
	uint64_t hash = (node_id + slot) * UINT64_C(0x9e3779b97f4a7c15);

	return &cache->buckets[(hash >> 32) & cache->bucket_mask];
}

int fdcache_init(struct fdcache *cache, unsigned int capacity)
{
	unsigned int buckets = 64;

	while (buckets < capacity) {
		buckets *= 2;
	}
	*cache = (struct fdcache){
		.buckets = calloc(buckets, sizeof(*cache->buckets)),
		.capacity = capacity,
		.bucket_mask = buckets - 1,
	};
	if (!cache->buckets) {
		return -ENOMEM;
	}
	lock_init(&cache->lock, LOCK_RANK_FDCACHE, 0);
	return 0;
}

static struct fdcache_entry *find_locked(struct fdcache *cache,
					 uint64_t node_id, unsigned int slot)
{
	struct fdcache_entry *entry = *bucket(cache, node_id, slot);

	while (entry && (entry->node_id != node_id || entry->slot != slot)) {
		entry = entry->chain;
	}
	return entry;
}

static void list_remove_locked(struct fdcache *cache,
			       struct fdcache_entry *entry)
{
	*(entry->newer ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void list_add_locked(struct fdcache *cache, struct fdcache_entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

/* Takes the entry out; the caller frees it and puts its ref, unlocked. */
static void detach_locked(struct fdcache *cache, struct fdcache_entry *entry)
{
	struct fdcache_entry **at = bucket(cache, entry->node_id, entry->slot);

	while (*at != entry) {
		at = &(*at)->chain;
	}
	*at = entry->chain;
	list_remove_locked(cache, entry);
	cache->count--;
}

static void entry_free(struct fdcache_entry *entry)
{
	if (entry) {
		fdref_put(entry->ref);
		free(entry);
	}
}

void fdcache_release(struct fdcache *cache)
{
	while (cache->oldest) {
		struct fdcache_entry *entry = cache->oldest;

		detach_locked(cache, entry);
		entry_free(entry);
	}
	if (cache->buckets) {
		free(cache->buckets);
		cache->buckets = NULL;
		lock_release(&cache->lock);
	}
}

struct fdref *fdcache_find(struct fdcache *cache, uint64_t node_id,
			   unsigned int slot)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&cache->lock);
	struct fdcache_entry *entry = find_locked(cache, node_id, slot);

	(void)held;
	if (!entry) {
		return NULL;
	}
	if (entry != cache->newest) {
		list_remove_locked(cache, entry);
		list_add_locked(cache, entry);
	}
	return fdref_get(entry->ref);
}

void fdcache_insert(struct fdcache *cache, uint64_t node_id, unsigned int slot,
		    struct fdref *ref)
{
	struct fdcache_entry *entry = malloc(sizeof(*entry));
	struct fdcache_entry *evicted = NULL;
	struct fdcache_entry *replaced;

	if (!entry) {
		return;
	}
	*entry = (struct fdcache_entry){
		.node_id = node_id, .slot = slot, .ref = fdref_get(ref)};
	lock_take(&cache->lock);
	replaced = find_locked(cache, node_id, slot);
	if (replaced) {
		detach_locked(cache, replaced);
	} else if (cache->count >= cache->capacity) {
		evicted = cache->oldest;
		detach_locked(cache, evicted);
	}
	entry->chain = *bucket(cache, node_id, slot);
	*bucket(cache, node_id, slot) = entry;
	list_add_locked(cache, entry);
	cache->count++;
	lock_drop(&cache->lock);
	entry_free(replaced);
	entry_free(evicted);
}

void fdcache_drop(struct fdcache *cache, uint64_t node_id, unsigned int slot)
{
	struct fdcache_entry *entry;

	lock_take(&cache->lock);
	entry = find_locked(cache, node_id, slot);
	if (entry) {
		detach_locked(cache, entry);
	}
	lock_drop(&cache->lock);
	entry_free(entry);
}
