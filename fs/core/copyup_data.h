/*
 * copyup_data.h - how the data of a base file comes to its copy.
 *
 *   whole    all of it is copied, holes kept
 *   shared   the disk shares the blocks (reflink): whole, at no cost
 *   partial  nothing is copied; blocks.h has the rest
 *
 * Small files are copied whole, as are: files of others' layers whose data is
 * elsewhere; files that were modified a moment ago, since somebody may be
 * writing to them, and what is left in the base must not change; all, where the
 * upper's disk has no attributes, or too many bases are held open.
 *
 * No lock is held but the node's COPYUP lock.
 */
#ifndef FS_CORE_COPYUP_DATA_H
#define FS_CORE_COPYUP_DATA_H

#include "blocks.h"
#include "origin.h"
#include "place.h"
#include "quota.h"
#include "view.h"

/* A copy being prepared in the work folder, and what it is made from. */
struct copy {
	struct node *node;
	struct place from; /* released by the caller of make_copy */
	struct stat st;
	struct origin origin; /* st, and the time of birth; and a tag */
	/* Where the base's file is; path NULL: the node has no name left. */
	unsigned int layer;
	char *path; /* owned */
	int to_fd;  /* the work folder */
	char temp[VIEW_TEMP_BYTES];
	int fd;        /* of a regular file, O_RDWR; -1 for others */
	bool truncate; /* the copy is to have `size` bytes */
	off_t size;
	bool by_blocks;        /* to be partial, if it can't be shared */
	struct blocks *blocks; /* owned until the node has it; else NULL */
};

/* Decides how, once `st` is known, and claims what that takes. */
int copyup_data_claim(struct copy *copy, struct claim *claim) MUST_CHECK;

/* Makes the regular file `temp` with its data. -EAGAIN: not in that way; start
 * again. */
int copyup_data_make(struct copy *copy) MUST_CHECK;

#endif
