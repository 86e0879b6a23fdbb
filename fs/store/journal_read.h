/*
 * journal_read.h - what is in the append area, for whoever did not write it.
 *
 * Works on the area of a living daemon (without stopping or slowing it), of one
 * that has ended, and of one that was killed. What is not in the area any more
 * is in the database (index.h): so read the area first and then the database,
 * and take a record that both have from the database. (What is still in the
 * area may be folded meanwhile; the database never loses any.)
 *
 * Reads a copy, so that nothing that happens to the file can harm.
 */
#ifndef FS_STORE_JOURNAL_READ_H
#define FS_STORE_JOURNAL_READ_H

#include "compiler.h"
#include "journal_batch.h"

/* The folder `journal` in an execution's folder: a descriptor for the caller.
 * -ENOENT: no journal was kept. */
int journal_open_dir(int execution_dirfd) MUST_CHECK;

/*
 * Adds to `batch` (which the caller releases) all that the area holds, in the
 * order of sequences, a parent before its children. Records of changes that
 * are under way have the state JOURNAL_BEGUN; so have those in which a daemon
 * died. -ENOENT: no area; -EBADMSG: not one, or a damaged one;
 * -EPROTONOSUPPORT: another version's; -ENOMEM, -EIO, ...
 */
int journal_read(int journal_dirfd, struct journal_batch *batch) MUST_CHECK;

#endif
