#include "node.h"

#include <string.h>

#include "blocks.h"
#include "charge.h"
#include "dirlist.h"
#include "file.h"
#include "view.h"
#include "watch.h"

#define NODES_MIN_BUCKETS 1024

void lowers_free(struct lowers *lowers)
{
	if (!lowers) {
		return;
	}
	for (unsigned int i = 0; i < lowers->count; i++) {
		free(lowers->at[i].path);
	}
	free(lowers->shown);
	free(lowers);
}

static uint64_t mix(uint64_t value)
{
	value ^= value >> 32;
	value *= UINT64_C(0x9e3779b97f4a7c15);
	return value ^ value >> 29;
}

static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++) {
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	}
	return hash;
}

int nodes_init(struct nodes *nodes)
{
	*nodes = (struct nodes){.mask = NODES_MIN_BUCKETS - 1, .next_id = 1};
	nodes->by_id = calloc(NODES_MIN_BUCKETS, sizeof(*nodes->by_id));
	nodes->by_key = calloc(NODES_MIN_BUCKETS, sizeof(*nodes->by_key));
	if (!nodes->by_id || !nodes->by_key) {
		free(nodes->by_id);
		free(nodes->by_key);
		return -ENOMEM;
	}
	lock_init(&nodes->lock, LOCK_RANK_TABLE, 0);
	return 0;
}

static void release_fds(struct node *node)
{
	fdref_put(node->pinned);
	node->pinned = NULL;
	fdref_put(node->data);
	node->data = NULL;
}

static void node_free(struct node *node)
{
	release_fds(node);
	dirlist_put(node->listing);
	lowers_free(node->lowers);
	free(node->name);
	free(node->link_key);
	free(node->data_at);
	if (node->view) {
		/* relaxed: nobody else has the node any more */
		blocks_free(node->view->fs,
			    atomic_load_explicit(&node->partial,
						 memory_order_relaxed));
	}
	lock_release(&node->lock);
	free(node);
}

void nodes_release(struct nodes *nodes)
{
	for (size_t i = 0; i <= nodes->mask; i++) {
		while (nodes->by_id[i]) {
			struct node *node = nodes->by_id[i];

			nodes->by_id[i] = node->id_chain;
			node_free(node);
		}
	}
	free(nodes->by_id);
	free(nodes->by_key);
	lock_release(&nodes->lock);
}

static struct node **id_bucket(struct nodes *nodes, uint64_t id)
{
	return &nodes->by_id[mix(id) & nodes->mask];
}

static struct node **key_bucket(struct nodes *nodes, uint64_t a, uint64_t b)
{
	return &nodes->by_key[mix(a * 31 + b) & nodes->mask];
}

static void insert_id_locked(struct nodes *nodes, struct node *node)
{
	struct node **at = id_bucket(nodes, node->id);

	node->id_chain = *at;
	*at = node;
}

static void insert_key_locked(struct nodes *nodes, struct node *node)
{
	struct node **at = key_bucket(nodes, node->key_a, node->key_b);

	node->key_chain = *at;
	*at = node;
	node->keyed = true;
}

static void remove_key_locked(struct nodes *nodes, struct node *node)
{
	struct node **at;

	if (!node->keyed) {
		return;
	}
	at = key_bucket(nodes, node->key_a, node->key_b);
	while (*at != node) {
		at = &(*at)->key_chain;
	}
	*at = node->key_chain;
	node->keyed = false;
}

static void remove_locked(struct nodes *nodes, struct node *node)
{
	struct node **at = id_bucket(nodes, node->id);

	while (*at != node) {
		at = &(*at)->id_chain;
	}
	*at = node->id_chain;
	remove_key_locked(nodes, node);
	nodes->count--;
}

/* Doubles the tables once there are as many nodes as buckets. When there is
 * no memory for it, chains grow instead. */
static void grow_locked(struct nodes *nodes)
{
	struct nodes bigger = {.mask = nodes->mask * 2 + 1};

	if (nodes->count <= nodes->mask) {
		return;
	}
	bigger.by_id = calloc(bigger.mask + 1, sizeof(*bigger.by_id));
	bigger.by_key = calloc(bigger.mask + 1, sizeof(*bigger.by_key));
	if (!bigger.by_id || !bigger.by_key) {
		free(bigger.by_id);
		free(bigger.by_key);
		return;
	}
	for (size_t i = 0; i <= nodes->mask; i++) {
		struct node *node = nodes->by_id[i];

		while (node) {
			struct node *next = node->id_chain;

			insert_id_locked(&bigger, node);
			if (node->keyed) {
				insert_key_locked(&bigger, node);
			}
			node = next;
		}
	}
	free(nodes->by_id);
	free(nodes->by_key);
	nodes->by_id = bigger.by_id;
	nodes->by_key = bigger.by_key;
	nodes->mask = bigger.mask;
}

static bool goes_by_name(const struct node_seed *seed)
{
	return S_ISDIR(seed->type) || (!S_ISREG(seed->type) && !seed->in_upper);
}

static void name_key(const struct node *parent, const char *name, uint64_t *a,
		     uint64_t *b)
{
	*a = parent ? parent->id : 0;
	*b = hash_name(name);
}

static void file_key(const struct view *view, dev_t dev, ino_t ino, uint64_t *a,
		     uint64_t *b)
{
	*a = mix((uint64_t)dev + ((uint64_t)view->index << 56));
	*b = ino;
}

static void seed_key(const struct node_seed *seed, uint64_t *a, uint64_t *b)
{
	if (goes_by_name(seed)) {
		name_key(seed->parent, seed->name, a, b);
	} else {
		file_key(seed->view, seed->dev, seed->ino, a, b);
	}
}

/* Names of directories change only under the tree lock, which the caller
 * holds. */
static bool is_same(const struct node *node, const struct node_seed *seed,
		    uint64_t a, uint64_t b)
{
	if (node->key_a != a || node->key_b != b || node->type != seed->type ||
	    node->view != seed->view) {
		return false;
	}
	return !node->keyed_by_name || (node->parent == seed->parent &&
					strcmp(node->name, seed->name) == 0);
}

static struct node *find_locked(struct nodes *nodes,
				const struct node_seed *seed, uint64_t a,
				uint64_t b)
{
	struct node *node = *key_bucket(nodes, a, b);

	while (node && !is_same(node, seed, a, b)) {
		node = node->key_chain;
	}
	return node;
}

/* A node that is in no table yet, with one reference. */
static struct node *make_node(struct nodes *nodes, struct node_seed *seed)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node) {
		return NULL;
	}
	node->name = strdup(seed->name);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->id = nodes->next_id++;
	node->view = seed->view;
	node->type = seed->type;
	node->parent = node_get(seed->parent);
	atomic_init(&node->in_upper, seed->in_upper);
	node->lower_index = seed->lower_index;
	node->lowers = seed->lowers;
	seed->lowers = NULL;
	node->ino = seed->reported_ino;
	node->blocks = seed->in_upper ? seed->blocks : 0;
	atomic_init(&node->refs, 1);
	lock_init(&node->lock,
		  node_is_dir(node) ? LOCK_RANK_DIR : LOCK_RANK_FILE, node->id);
	return node;
}

int nodes_intern(struct nodes *nodes, struct node_seed *seed,
		 struct node **ret_node, bool *ret_made)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);
	struct node *node;
	uint64_t a;
	uint64_t b;

	(void)held;
	seed_key(seed, &a, &b);
	node = find_locked(nodes, seed, a, b);
	*ret_made = !node;
	if (node) {
		*ret_node = node_get(node);
		return 0;
	}
	node = make_node(nodes, seed);
	if (!node) {
		return -ENOMEM;
	}
	node->key_a = a;
	node->key_b = b;
	node->keyed_by_name = goes_by_name(seed);
	nodes->count++;
	grow_locked(nodes);
	insert_id_locked(nodes, node);
	insert_key_locked(nodes, node);
	*ret_node = node;
	return 0;
}

struct node *nodes_find(struct nodes *nodes, const struct node_seed *seed)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);
	uint64_t a;
	uint64_t b;

	(void)held;
	seed_key(seed, &a, &b);
	return node_get(find_locked(nodes, seed, a, b));
}

struct node *nodes_get(struct nodes *nodes, uint64_t id)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);
	struct node *node = *id_bucket(nodes, id);

	(void)held;
	while (node && node->id != id) {
		node = node->id_chain;
	}
	return node_get(node);
}

bool node_has_links(struct node *node)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&node->lock);

	(void)held;
	return node->link_key;
}

struct node *node_get(struct node *node)
{
	if (node) {
		/* relaxed: the caller's reference, or the table's lock, keeps
		 * it alive */
		atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
	}
	return node;
}

/* Gives a reference back under the table's lock; true if it was the last, and
 * then the node is in no table any more. */
static bool put_locked(struct nodes *nodes, struct node *node)
{
	if (atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) >
	    1) {
		return false;
	}
	blocks_park(node);
	remove_locked(nodes, node);
	return true;
}

/* Gives one back without the lock unless it is the last one. */
static bool put_fast(struct node *node)
{
	unsigned int refs =
		atomic_load_explicit(&node->refs, memory_order_relaxed);

	while (refs > 1) {
		/* release: our uses happen before the free by the last */
		if (atomic_compare_exchange_weak_explicit(
			    &node->refs, &refs, refs - 1, memory_order_release,
			    memory_order_relaxed)) {
			return true;
		}
	}
	return false;
}

void node_put(struct nodes *nodes, struct node *node)
{
	/* A loop, not recursion: each node keeps its parent. */
	while (node && !put_fast(node)) {
		struct node *parent;
		bool last;

		lock_take(&nodes->lock);
		last = put_locked(nodes, node);
		lock_drop(&nodes->lock);
		if (!last) {
			return;
		}
		parent = node->parent;
		if (node_is_dir(node) && node->view) {
			watch_forget(node);
			view_forget_dir_fds(node);
		} else if (!node_is_dir(node)) {
			file_forget_fds(node);
		}
		release_fds(node);
		/* Only now the disk has its space back. */
		charge_forget(node);
		node_free(node);
		node = parent;
	}
}

void node_add_lookup(struct nodes *nodes, struct node *node)
{
	lock_take(&nodes->lock);
	if (node->nlookup++ == 0) {
		node_get(node);
	}
	lock_drop(&nodes->lock);
}

void node_forget(struct nodes *nodes, struct node *node, uint64_t count)
{
	bool last;

	lock_take(&nodes->lock);
	if (count > node->nlookup) {
		count = node->nlookup;
	}
	last = count > 0 && node->nlookup == count;
	node->nlookup -= count;
	lock_drop(&nodes->lock);
	if (last) {
		node_put(nodes, node);
	}
}

bool node_is_keyed_by(const struct node *node, dev_t dev, ino_t ino)
{
	struct nodes *nodes = &node->view->fs->nodes;
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);
	uint64_t a;
	uint64_t b;

	(void)held;
	file_key(node->view, dev, ino, &a, &b);
	return node->key_a == a && node->key_b == b;
}

void node_rekey(struct nodes *nodes, struct node *node, dev_t dev, ino_t ino)
{
	lock_take(&nodes->lock);
	if (node->keyed) {
		remove_key_locked(nodes, node);
		file_key(node->view, dev, ino, &node->key_a, &node->key_b);
		node->keyed_by_name = false;
		insert_key_locked(nodes, node);
	}
	lock_drop(&nodes->lock);
}

void node_unkey(struct nodes *nodes, struct node *node)
{
	lock_take(&nodes->lock);
	remove_key_locked(nodes, node);
	lock_drop(&nodes->lock);
}

void node_move_nofail(struct nodes *nodes, struct node *node,
		      struct node *parent, char *name)
{
	struct node *old_parent = node->parent;
	char *old_name = node->name;

	lock_take(&nodes->lock);
	node->parent = node_get(parent);
	node->name = name;
	if (node->keyed_by_name && node->keyed) {
		remove_key_locked(nodes, node);
		name_key(parent, name, &node->key_a, &node->key_b);
		insert_key_locked(nodes, node);
	}
	lock_drop(&nodes->lock);
	free(old_name);
	node_put(nodes, old_parent);
}

size_t nodes_count(struct nodes *nodes)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);

	(void)held;
	return nodes->count;
}

uint64_t nodes_last_id(struct nodes *nodes)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);

	(void)held;
	return nodes->next_id - 1;
}

/* Names change with the table's lock held, too (node_move_nofail). */
uint64_t node_name(struct node *node, struct buf *name)
{
	struct nodes *nodes = &node->view->fs->nodes;
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);

	(void)held;
	buf_adds(name, node->name);
	return node->parent ? node->parent->id : 0;
}

static bool is_at_or_below(const struct node *node, const struct node *top)
{
	while (node && node != top) {
		node = node->parent;
	}
	return node;
}

/* Parents change with the table's lock held, too. */
int nodes_below(struct nodes *nodes, const struct node *top, uint64_t **ret_ids,
		size_t *ret_count)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&nodes->lock);
	uint64_t *ids = calloc(nodes->count + 1, sizeof(*ids));
	size_t count = 0;

	(void)held;
	if (!ids) {
		return -ENOMEM;
	}
	for (size_t i = 0; i <= nodes->mask; i++) {
		struct node *node = nodes->by_id[i];

		for (; node; node = node->id_chain) {
			if (is_at_or_below(node, top)) {
				ids[count++] = node->id;
			}
		}
	}
	*ret_ids = ids;
	*ret_count = count;
	return 0;
}
