/*
 * blocks_state.h - what blocks.c (life of a partial file) and blocks_io.c (its
 * input and output) share. Nobody else includes it.
 */
#ifndef FS_CORE_BLOCKS_STATE_H
#define FS_CORE_BLOCKS_STATE_H

#include <stdatomic.h>

#include "blocks.h"
#include "partial.h"
#include "place.h"

struct blocks {
	struct rwlock lock;
	/* Nothing of it is the base's any more; never false again. */
	atomic_bool whole;
	atomic_bool has_map;        /* false: nobody will look for it */
	atomic_bool is_told;        /* the base's change is in the log */
	atomic_bool is_synced;      /* somebody relies on what is on the disk */
	atomic_ulong absent_blocks; /* of 512 bytes, as shown */
	_Atomic int64_t map_blocks; /* as charged */
	bool is_broken;             /* set before the node has it */
	const struct view *view;    /* while parked */
	struct blocks *next;        /* guarded by: fs->parked_lock */
	ino_t ino;
	struct partial partial; /* guarded by: lock */
	struct fdref *base; /* guarded by: the node's lock; NULL: not open */
	struct fdref *map;  /* the same */
};

/* A flag that only ever changes once; what it stands for has its lock. */
static inline bool blocks_flag(const atomic_bool *flag)
{
	/* acquire: what was done before it was set is seen, too */
	return atomic_load_explicit((atomic_bool *)flag, memory_order_acquire);
}

static inline void blocks_set_flag(atomic_bool *flag, bool value)
{
	/* release: pairs with blocks_flag() */
	atomic_store_explicit(flag, value, memory_order_release);
}

/* A reference to the descriptor of the base's file, or of the map (NULL: there
 * is none), opened if need be. 0, or -ESTALE, -EMFILE, ... The caller puts it.
 */
int blocks_base_fd(struct node *node, struct blocks *blocks,
		   struct fdref **ret_ref) MUST_CHECK;
int blocks_map_fd(struct node *node, struct blocks *blocks,
		  struct fdref **ret_ref) MUST_CHECK;
void blocks_release_held(struct fs *fs, struct fdref **slot);

/* What the caller is told of the base's change, or of a broken map: -EIO, with
 * a line in the log the first time. Other errors stay what they are. */
int blocks_report(struct blocks *blocks, int error) MUST_CHECK;

/* For stat; the lock is held, or nobody has it yet. */
void blocks_note_absent(struct blocks *blocks);

#endif
