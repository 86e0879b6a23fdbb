/*
 * copyup.h - from the base to the upper, before the first change.
 *
 * The data of a large file stays where it is: copyup_data.h.
 *
 * Atomic: a copy is completed in the work folder (data, owner, mode,
 * attributes, origin, times), then one rename makes it visible; a reader sees
 * the base's file or the whole copy. Directories above come first, empty.
 *
 * A copy-up holds the node's lock of rank COPYUP and, while data is copied,
 * nothing else: lookups never wait for it. What writes to a node calls this
 * first and holds no lock, so nothing changes the source node meanwhile; its
 * names may go, and then the copy is left with no name, as the file was.
 *
 * Not synced to disk: the upper is for throwing away. SIGKILL loses nothing.
 */
#ifndef FS_CORE_COPYUP_H
#define FS_CORE_COPYUP_H

#include "view.h"

/*
 * Makes sure that `node` is in the upper. The caller holds no lock. -EACCES for
 * a base file that the daemon may not read, -ENOSPC, -ESTALE when the base was
 * changed under us, ...; on failure nothing changed.
 */
int copyup_ensure(struct fs *fs, struct node *node) MUST_CHECK;

/*
 * The same for a regular file that is to have `size` bytes, of which no more
 * than needed are copied: 1 where it was copied up, truncated; 0 where it is in
 * the upper and still has to be truncated.
 */
int copyup_truncated(struct fs *fs, struct node *node, off_t size) MUST_CHECK;

/* Makes sure that the upper has the name of a file that is in the upper under
 * another one (links.h). The caller holds no lock. */
int copyup_name(struct node *parent, const char *name) MUST_CHECK;

/* Makes the upper's root look as the topmost base's, once in its life. The
 * view is not served yet. */
int copyup_root(struct view *view) MUST_CHECK;

#endif
