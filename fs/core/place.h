/*
 * place.h - where a node is in the layers right now, for a system call.
 */
#ifndef FS_CORE_PLACE_H
#define FS_CORE_PLACE_H

#include "view.h"

/* `name` in the directory `dir`; "" means `dir` itself. */
struct place {
	struct fdref *dir; /* a reference */
	const char *name;  /* borrowed from the node */
};

/*
 * The place of the node. The caller holds the tree lock and the node's lock,
 * uses the place while it does, and releases it. -ENOENT: it is gone.
 */
int place_of(struct node *node, struct place *ret_place) MUST_CHECK;
void place_release(struct place *place);
#define AUTO_PLACE AUTO(place_release) struct place

/* Opens the file at the place (O_NOFOLLOW). */
int place_open(const struct place *place, int flags) MUST_CHECK;

#endif
