/*
 * index_vfs.h - SQLite's own file access, without its way to die of a full
 * disk.
 *
 * In WAL mode all connections share an index, `-shm`, that is mapped. SQLite
 * makes it as long as it has to be by one byte in each page, so where a disk
 * has blocks smaller than a page (ext4 makes a small disk so), or copies what
 * is written over (btrfs), the first store into a page may need space, and
 * where there is none the process gets SIGBUS. With this each page is made
 * writable, with its blocks, before SQLite stores into it; where that can't be,
 * SQLite is told that the disk is full, and gives that error.
 *
 * For whoever opens the database, to read it too: readers note in the index
 * what they read.
 *
 * Threads: any.
 */
#ifndef FS_STORE_INDEX_VFS_H
#define FS_STORE_INDEX_VFS_H

#include "compiler.h"

/* The name for sqlite3_open_v2; NULL, for the default, where SQLite's own
 * access isn't the one that this is made for. */
const char *index_vfs_name(void) MUST_CHECK;

#endif
