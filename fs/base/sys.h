/*
 * sys.h - the kernel, as functions that return 0 (or a result) or -errno.
 *
 * Nothing else in fs/ calls the kernel for files, so that a fault can be put
 * at every call (below), and errno is read in one place. Every open adds
 * O_CLOEXEC. EINTR is retried, except by sys_close, which always releases the
 * descriptor. Names are relative to `dirfd`; AT_FDCWD where said.
 *
 * A call on a name or descriptor that fails with EACCES is repeated by the
 * owner's helper where there is one (owner.h).
 *
 * Faults: built with -Dfault_injection=true, the environment variable
 * LEGATO_FAULT="CALL:K:ERRNO[:N]" (read once, at start) makes the K-th call
 * of sys_CALL, and the N-1 calls after it, fail with ERRNO, a number; with 0
 * the process is killed (SIGKILL) instead. "any" for CALL counts all of them.
 */
#ifndef FS_BASE_SYS_H
#define FS_BASE_SYS_H

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include "compiler.h"

/* Descriptors: the caller owns what is returned. */
int sys_openat(int dirfd, const char *name, int flags, mode_t mode) MUST_CHECK;
/* openat2 with RESOLVE_BENEATH, NO_SYMLINKS and NO_MAGICLINKS: `path` may
 * have several components, none of which leads out or is a link. */
int sys_open_beneath(int dirfd, const char *path, int flags) MUST_CHECK;
/* A descriptor for what `fd` (O_PATH too) stands for, through procfs. */
int sys_reopen(int fd, int flags) MUST_CHECK;
int sys_close(int fd);
/* The path that `fd` was reached by, from procfs. -ENAMETOOLONG. */
int sys_fd_path(int fd, char *ret_path, size_t size) MUST_CHECK;

ssize_t sys_pread(int fd, void *data, size_t size, off_t off) MUST_CHECK;
ssize_t sys_pwrite(int fd, const void *data, size_t size, off_t off) MUST_CHECK;
ssize_t sys_read(int fd, void *data, size_t size) MUST_CHECK;
ssize_t sys_write(int fd, const void *data, size_t size) MUST_CHECK;
ssize_t sys_copy_file_range(int from, off_t *from_off, int to, off_t *to_off,
			    size_t size) MUST_CHECK;
/* FICLONE: shares all blocks of `from`. -EOPNOTSUPP, -EXDEV where it can't. */
int sys_clone(int to, int from) MUST_CHECK;
off_t sys_lseek(int fd, off_t off, int whence) MUST_CHECK;
int sys_ftruncate(int fd, off_t size) MUST_CHECK;
int sys_fallocate(int fd, int mode, off_t off, off_t size) MUST_CHECK;
/* The first range at or after `off` that has blocks on the disk, whether they
 * were written to or not. -ENXIO: there is none. A disk that does not say so
 * exactly tells where data is. */
int sys_next_extent(int fd, off_t off, off_t *ret_start,
		    off_t *ret_end) MUST_CHECK;
int sys_fsync(int fd) MUST_CHECK;
int sys_fdatasync(int fd) MUST_CHECK;
/* Maps the file's first `size` bytes, shared, to read and write. The file must
 * have them allocated, and keep them: see mmap(2), SIGBUS. */
int sys_map(int fd, size_t size, void **ret_map) MUST_CHECK;
void sys_unmap(void *map, size_t size);
/*
 * Makes each page of a shared map ready to be stored into, with the blocks that
 * it needs. -ENOSPC: it can't be, and a store would be SIGBUS. 0 where the
 * kernel can't say, or the map is there to be read only.
 */
int sys_populate(void *at, size_t size) MUST_CHECK;
/* Where the disk copies what is written over, has it write this file in place
 * (FS_NOCOW_FL); it must be empty. Of a directory: the files that are made in
 * it from now on. Disks that do so anyway know no such flag.
 */
void sys_write_in_place(int fd);

int sys_fstatat(int dirfd, const char *name, struct stat *ret_st) MUST_CHECK;
int sys_fstat(int fd, struct stat *ret_st) MUST_CHECK;
/* When it was made; 0 where the disk does not say. */
int sys_birth_time(int dirfd, const char *name,
		   struct timespec *ret_time) MUST_CHECK;
int sys_fstatvfs(int fd, struct statvfs *ret_st) MUST_CHECK;
int sys_faccessat(int dirfd, const char *name, int mode) MUST_CHECK;
ssize_t sys_readlinkat(int dirfd, const char *name, char *target,
		       size_t size) MUST_CHECK;

/* Links are never followed in the last component. As with the attribute calls
 * below, the name "" means `dirfd` itself, an O_PATH descriptor included.
 * sys_fchmodat is not for links (they have no mode). */
int sys_fchmodat(int dirfd, const char *name, mode_t mode) MUST_CHECK;
int sys_fchownat(int dirfd, const char *name, uid_t uid, gid_t gid) MUST_CHECK;
int sys_utimensat(int dirfd, const char *name,
		  const struct timespec times[2]) MUST_CHECK;

int sys_mkdirat(int dirfd, const char *name, mode_t mode) MUST_CHECK;
int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t dev) MUST_CHECK;
int sys_symlinkat(const char *target, int dirfd, const char *name) MUST_CHECK;
int sys_linkat(int from_dirfd, const char *from, int to_dirfd,
	       const char *to) MUST_CHECK;
/* Gives the file behind a descriptor (O_TMPFILE too) a name. */
int sys_link_fd(int fd, int to_dirfd, const char *to) MUST_CHECK;
int sys_unlinkat(int dirfd, const char *name, int flags) MUST_CHECK;
int sys_renameat2(int from_dirfd, const char *from, int to_dirfd,
		  const char *to, unsigned int flags) MUST_CHECK;

/*
 * Extended attributes of `name` in `dirfd`, never following a link; with ""
 * those of `dirfd` itself, O_PATH descriptors included.
 */
ssize_t sys_getxattrat(int dirfd, const char *name, const char *attr,
		       void *value, size_t size) MUST_CHECK;
int sys_setxattrat(int dirfd, const char *name, const char *attr,
		   const void *value, size_t size, int flags) MUST_CHECK;
int sys_removexattrat(int dirfd, const char *name, const char *attr) MUST_CHECK;
ssize_t sys_listxattrat(int dirfd, const char *name, char *list,
			size_t size) MUST_CHECK;

/*
 * The creator's identity for the calling thread: sys_fsids_set switches its
 * file system uid and gid, sys_fsids_reset goes back to the process's own.
 * Raw system calls, so only this thread changes. Both in one scope.
 */
struct sys_fsids {
	uid_t uid;
	gid_t gid;
};
struct sys_fsids sys_fsids_set(uid_t uid, gid_t gid);
void sys_fsids_reset(const struct sys_fsids *saved);

/* inotify: a descriptor that does not block; a watch on the directory behind
 * `dirfd` (O_PATH too): its number; removing one, which may be gone already. */
int sys_inotify_init(void) MUST_CHECK;
int sys_inotify_add(int fd, int dirfd, uint32_t mask) MUST_CHECK;
void sys_inotify_remove(int fd, int number);

/* Fills `data` with random bytes. */
int sys_random(void *data, size_t size) MUST_CHECK;

/* An event counter that does not block. */
int sys_eventfd(void) MUST_CHECK;

/* The file system's magic number, see statfs(2). */
int sys_fs_type(int fd, uint32_t *ret_type) MUST_CHECK;

/* Sets the calling thread's umask, which it has for itself from the first
 * call on (unshare(CLONE_FS)); nothing is done while it is the same. */
void sys_thread_umask(mode_t mask);
mode_t sys_current_umask(void);

/* flock: LOCK_EX | LOCK_NB and such. */
int sys_flock(int fd, int operation) MUST_CHECK;

/* Takes a duplicate of `dirfd`'s folder as a stream; closedir() it. */
int sys_opendirat(int dirfd, const char *name, DIR **ret_dir) MUST_CHECK;
/* The same, leaving the time of the last access as it is where that is
 * allowed: what no program asked for must not show. */
int sys_opendirat_quietly(int dirfd, const char *name,
			  DIR **ret_dir) MUST_CHECK;
/* The next entry, or NULL at the end; the entry lives until the next call.
 * 0 or -errno. */
int sys_readdir(DIR *dir, struct dirent **ret_entry) MUST_CHECK;

#endif
