/*
 * elsewhere.h - base files whose data is in a layer below the one that has
 * their attributes (metacopy.h). Only layers of others' making have them.
 */
#ifndef FS_CORE_ELSEWHERE_H
#define FS_CORE_ELSEWHERE_H

#include "lookup.h"

/* Where the data of a file is. */
struct elsewhere {
	unsigned int layer;
	blkcnt_t blocks;
	char path[]; /* beneath the layer's root */
};

/*
 * Completes a regular file that was found in the parent's lower `index`, whose
 * descriptor is `dirfd`: found->data_at, if its data is elsewhere. -EBADMSG
 * where it has to be and isn't, or where only the privilege to see that it is
 * may be missing. The caller holds what lookup_layers needs.
 */
int elsewhere_find(struct node *parent, unsigned int index, int dirfd,
		   const char *name, struct found *found) MUST_CHECK;

/* The same in the upper, where such files are not supported: -EBADMSG. */
int elsewhere_refuse(const struct view *view, int dirfd,
		     const char *name) MUST_CHECK;

/* Opens the data for reading; -EIO where it is gone. */
int elsewhere_open(const struct view *view,
		   const struct elsewhere *at) MUST_CHECK;

#endif
