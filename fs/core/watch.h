/*
 * watch.h - seeing that somebody else changes the base.
 *
 * A directory of the base that the kernel has been told about is watched with
 * inotify, so that the kernel may believe our answers until it is told
 * otherwise. Where there is no watch (none left of our share, or a disk whose
 * changes can pass unseen: network file systems, stacked ones) the answers are
 * good for a second.
 *
 * What inotify doesn't tell: a write through a shared map (seen when the file
 * is closed, or written to otherwise), and one through another name of the file
 * in a folder that is not watched (so files with several names are never
 * believed for long).
 *
 * A watch is set before the layers are looked at, so that no change is missed
 * in between. It lives as long as the directory's node.
 *
 * Threads: watch_dir and watch_forget from any, the latter when nobody else
 * has the node; watch_find from the thread that reads the events. The lock
 * (rank TABLE) is a leaf.
 */
#ifndef FS_CORE_WATCH_H
#define FS_CORE_WATCH_H

#include "view.h"

/* 0 or -errno: then nothing is ever watched. */
int watches_init(struct watches *watches) MUST_CHECK;
void watches_release(struct watches *watches);

/* Ends the watching, once no other thread asks for it. The kernel lets some
 * 20 ms go by before nobody can see a watch any more: a thread waits for that,
 * and watches_release for the thread. */
void watches_stop(struct watches *watches);

/* Watches what the directory consists of in the base, unless that was tried
 * before. The caller holds the directory's lock, or the tree lock exclusively,
 * and the tree lock at least shared. */
void watch_dir(struct node *dir);

/* Whether no change in the base can pass unseen: nothing of the directory is
 * there, or all of it is watched. */
bool watch_is_complete(const struct node *dir);

void watch_forget(struct node *dir);

/*
 * Changes that were found without a watch, by looking: the ids of base files
 * whose cached pages are old, for the thread that tells the kernel. Any thread
 * may report. changes_take hands over what there is: an array for the caller
 * to free, NULL when empty. Without an event_fd (-1) reports are dropped.
 */
void changes_init(struct changes *changes);
void changes_release(struct changes *changes);
void changes_report(struct changes *changes, uint64_t id);
uint64_t *changes_take(struct changes *changes, size_t *ret_count);

/* The id of the directory's node, or 0. */
uint64_t watch_find(struct watches *watches, int number);

/* The kernel ended the watch: the directory was removed or unmounted. */
void watch_ended(struct watches *watches, int number);

/*
 * The directory is another one in the base by now (or none): what was kept of
 * it is dropped, and it is watched anew when it is next looked at. `ino` is the
 * number to report; 0 leaves it. The caller holds no lock.
 */
void watch_base_replaced(struct node *dir, uint64_t ino);

#endif
