/*
 * file.h - the data of regular files.
 *
 * Input and output are addressed by node, not by open file: each call uses the
 * descriptor that holds the node's data now. So a program that opened a file
 * before its copy-up sees what is written after it.
 *
 * Descriptors are opened when data is asked for and kept in a bounded cache;
 * where the kernel asks for each open (see fuse/README.md), one is kept in
 * node->data until it is closed. Opening for
 * writing copies nothing up; the first write does.
 */
#ifndef FS_CORE_FILE_H
#define FS_CORE_FILE_H

#include "view.h"

/* Of `flags` only O_TRUNC counts: access is the kernel's to check.
 * *ret_keep_cache: pages that the kernel has cached are still right. */
int op_open(struct fs *fs, struct node *node, int flags,
	    const struct caller *caller, bool *ret_keep_cache) MUST_CHECK;
void op_release(struct node *node);

/* The bytes read: fewer than `size` only at the end of the file. */
ssize_t op_read(struct node *node, void *data, size_t size,
		off_t off) MUST_CHECK;
/* All of it, or what was written before an error, or -errno. As the caller,
 * whose writing clears set-id bits where it must. */
ssize_t op_write(struct fs *fs, struct node *node, const void *data,
		 size_t size, off_t off,
		 const struct caller *caller) MUST_CHECK;
int op_fsync(struct node *node, bool data_only) MUST_CHECK;
int op_fallocate(struct fs *fs, struct node *node, int mode, off_t off,
		 off_t size, const struct caller *caller) MUST_CHECK;
off_t op_lseek(struct node *node, off_t off, int whence) MUST_CHECK;
ssize_t op_copy_file_range(struct fs *fs, struct node *from, off_t from_off,
			   struct node *to, off_t to_off, size_t size,
			   const struct caller *caller) MUST_CHECK;

/* Truncates; a base file is copied up for it. */
int file_truncate(struct fs *fs, struct node *node, off_t size,
		  const struct caller *caller) MUST_CHECK;

/* A descriptor of the data that is open anyway: a reference, or NULL. The
 * caller holds the node's lock. */
struct fdref *file_open_fd_locked(struct node *node);

/* The node goes away, or no longer holds what its descriptors hold. */
void file_forget_fds(struct node *node);

/* Whether a base file has changed since it was last looked at, so that pages
 * the kernel has of it are old; `st` is how it is now. */
bool file_saw_change(struct node *node, const struct stat *st);

/*
 * The node's data moved to `fd` (taken over), a copy of the file that `source`
 * describes. The caller holds the node's lock. Out of memory leaves the node
 * without a descriptor; the next use opens one.
 */
void file_switch_data_locked(struct node *node, int fd,
			     const struct stat *source);

/*
 * A new file that was created open: keeps `fd` (taken over), in the cache or,
 * where the kernel asks for opens, until it is closed. Where it doesn't, Linux
 * before 6.9 sends no RELEASE for created files either.
 */
void file_adopt_created(struct node *node, int fd);

#endif
