/*
 * charge.h - who is charged with which blocks.
 *
 * Each node that is in the upper knows with how many blocks it is charged
 * (node->blocks); whoever may have changed that looks at the disk and adds the
 * difference to the quota. So a count never drifts by much: the next look mends
 * it. A change is
 *
 *   made        blocks, and one file
 *   settled     written, truncated, an entry or an attribute more in it
 *   unlinked    nothing, while the kernel may have it open: it is nameless
 * then, and what the node is charged with goes with the node gone        for
 * one that the kernel doesn't know: at once
 *
 * What has no node is counted where it is made and removed: whiteouts, and what
 * is beside the upper (links.h).
 *
 * Where nothing is counted these do nothing and make no system call.
 *
 * Locks: node->blocks changes under the node's lock (or the exclusive tree
 * lock), with a stat that was made under it.
 */
#ifndef FS_CORE_CHARGE_H
#define FS_CORE_CHARGE_H

#include <sys/stat.h>

#include "quota.h"
#include "view.h"

#define CHARGE_BLOCK_BYTES 512 /* of st_blocks */

/* Something was made, and its node interned with this `st`, or has none. */
void charge_made(struct view *view, const struct stat *st);
/* The node was copied up; `st` is the copy's. The node's lock is held. */
void charge_copied_locked(struct node *node, const struct stat *st);

void charge_settle_locked(struct node *node, const struct stat *st);
/* By a descriptor of the data. Takes the node's lock. */
void charge_settle_fd(struct node *node, int fd);
/* A directory, by its descriptor in the upper; the lock is held. */
void charge_settle_dir_locked(struct node *dir, int upper_fd);

/* The last name of what `found` describes is gone; `node` may be NULL. The
 * node's lock is held. */
void charge_unlinked_locked(struct node *node);
void charge_gone(struct view *view, const struct stat *st);
/* It got a name again. The node's lock is held. */
void charge_named_locked(struct node *node);
/* The node goes away. */
void charge_forget(struct node *node);

/* Entries without a node, each without blocks. */
void charge_entries(struct view *view, int64_t count);
/* What is in the links folder, made (1) or to be removed (-1). */
void charge_link_entry(const struct view *view, const char *name, int sign);
void charge_links_folder(const struct view *view);

/*
 * Claims for a write of *size bytes at `off`: what it may take at most, or,
 * where there is no room for that, what it really takes of blocks that the file
 * does not have yet. *size becomes what there is room for, if that is less.
 * -ENOSPC: nothing.
 */
int charge_claim_write(struct claim *claim, struct node *node, int fd,
		       off_t off, size_t *size) MUST_CHECK;
/* All or nothing: the file is to have blocks for the whole range. */
int charge_claim_range(struct claim *claim, struct node *node, int fd,
		       off_t off, off_t size) MUST_CHECK;

#endif
