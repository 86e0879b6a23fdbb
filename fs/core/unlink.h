/*
 * unlink.h - names go away: unlink, rmdir, and what rename replaces.
 *
 * What the base has under the name is hidden by a whiteout, put in place in
 * one step together with the removal. A removal that can't leave its whiteout
 * fails and changes nothing.
 *
 * A node whose last name goes stays usable: it is reached through a descriptor
 * (node->pinned) that is opened before.
 */
#ifndef FS_CORE_UNLINK_H
#define FS_CORE_UNLINK_H

#include "lookup.h"
#include "view.h"

int op_unlink(struct fs *fs, struct node *parent, const char *name,
	      const struct caller *caller) MUST_CHECK;
int op_rmdir(struct fs *fs, struct node *parent, const char *name,
	     const struct caller *caller) MUST_CHECK;

/*
 * For rename. Pins the node that is at (parent, name) before the name goes
 * and gives a reference to it, or NULL when there is none to care for.
 */
int unlink_prepare(struct node *parent, const char *name,
		   const struct found *found,
		   struct node **ret_node) MUST_CHECK;
/* The name is gone: the node is where prepare pinned it, and a file whose
 * names are counted has one less. `removed` false undoes the preparation. Puts
 * the node, which may be NULL. */
void unlink_finish(struct view *view, struct node *node,
		   const struct found *found, bool removed);

/*
 * Makes an upper directory that shows nothing really empty: what it hid, it
 * hides as an opaque directory from then on. Nothing visible changes.
 */
int unlink_whiteouts(struct view *view, int dirfd, const char *name) MUST_CHECK;

/* Removes an upper directory that shows nothing (so has only whiteouts), with
 * a whiteout in its place where `whiteout`. */
int unlink_upper_dir(struct view *view, int dirfd, const char *name,
		     bool whiteout) MUST_CHECK;

#endif
