/*
 * handles.h - open directories by number.
 *
 * What the kernel is given for an open directory is a number, looked up in a
 * table, never a pointer: a request with a wrong one gets EBADF.
 *
 * Threads: any. A handle is used by several requests at once (threads that
 * share a descriptor), so its snapshot is guarded by its lock.
 */
#ifndef FS_FUSE_HANDLES_H
#define FS_FUSE_HANDLES_H

#include <stdatomic.h>
#include <stdint.h>

#include "dirlist.h"
#include "lock.h"

struct dir_handle {
	struct lock lock;
	/* guarded by: lock. What is being read; NULL before. */
	struct dirlist *list;
	/* private */
	atomic_uint refs;
};

struct handles {
	/* private */
	struct lock lock;
	struct dir_handle **table;
	size_t size;
	size_t first_free;
};

void handles_init(struct handles *handles);
void handles_release(struct handles *handles);

/* A new handle; 0 or -ENOMEM. */
int handles_open(struct handles *handles, uint64_t *ret_number) MUST_CHECK;
/* A reference, or NULL for a wrong number. */
struct dir_handle *handles_get(struct handles *handles, uint64_t number);
void handle_put(struct dir_handle *handle);
void handle_auto_put(struct dir_handle **handle);
/* Ignores a wrong number. */
void handles_close(struct handles *handles, uint64_t number);

#endif
