#include "sys.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "legato-config.h"

#if LEGATO_FAULT_INJECTION

#include <pthread.h>
#include <stdatomic.h>

struct fault {
	char call[32];
	unsigned long from;
	unsigned long count;
	int error;
};

static struct fault fault;
static pthread_once_t fault_once = PTHREAD_ONCE_INIT;
static atomic_ulong fault_calls;

static void fault_read(void)
{
	const char *spec = getenv("LEGATO_FAULT");

	fault.count = 1;
	if (!spec || sscanf(spec, "%31[^:]:%lu:%d:%lu", fault.call, &fault.from,
			    &fault.error, &fault.count) < 3) {
		fault.call[0] = '\0';
	}
}

/* The error that this call must fail with, or 0. */
static int fault_for(const char *call)
{
	unsigned long nth;

	pthread_once(&fault_once, fault_read);
	if (!fault.call[0] ||
	    (strcmp(fault.call, "any") != 0 && strcmp(fault.call, call) != 0)) {
		return 0;
	}
	/* relaxed: only the count matters, nothing is published by it */
	nth = atomic_fetch_add_explicit(&fault_calls, 1, memory_order_relaxed);
	nth++;
	return nth >= fault.from && nth - fault.from < fault.count ? fault.error
								   : 0;
}

#define FAULT(call)                                                            \
	do {                                                                   \
		int fault_error_ = fault_for(#call);                           \
		if (fault_error_) {                                            \
			return -fault_error_;                                  \
		}                                                              \
	} while (0)

#else
#define FAULT(call)                                                            \
	do {                                                                   \
	} while (0)
#endif

/* Evaluates `expr` until it is not interrupted; -errno instead of -1. */
#define RETRY(expr)                                                            \
	({                                                                     \
		__typeof__(expr) result_;                                      \
		do {                                                           \
			result_ = (expr);                                      \
		} while (result_ == -1 && errno == EINTR);                     \
		result_ == -1 ? -errno : result_;                              \
	})

#define PROC_FD_PATH_BYTES 32

static void proc_fd_path(char path[PROC_FD_PATH_BYTES], int fd)
{
	snprintf(path, PROC_FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

int sys_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	FAULT(openat);
	return RETRY(openat(dirfd, name, flags | O_CLOEXEC, mode));
}

int sys_open_beneath(int dirfd, const char *path, int flags)
{
	struct open_how how = {
		.flags = (unsigned int)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};

	FAULT(openat);
	/* EAGAIN: a rename somewhere raced with the check of ".." */
	for (;;) {
		long fd = RETRY(syscall(SYS_openat2, dirfd, *path ? path : ".",
					&how, sizeof(how)));
		if (fd != -EAGAIN) {
			return (int)fd;
		}
	}
}

int sys_reopen(int fd, int flags)
{
	char path[PROC_FD_PATH_BYTES];

	FAULT(openat);
	proc_fd_path(path, fd);
	return RETRY(open(path, flags | O_CLOEXEC));
}

int sys_close(int fd)
{
	/* Linux frees the number even if it reports EINTR: never again. */
	return close(fd) == -1 ? -errno : 0;
}

int sys_fd_path(int fd, char *ret_path, size_t size)
{
	char path[PROC_FD_PATH_BYTES];
	ssize_t n;

	proc_fd_path(path, fd);
	n = readlink(path, ret_path, size);
	if (n < 0) {
		return -errno;
	}
	if ((size_t)n >= size) {
		return -ENAMETOOLONG;
	}
	ret_path[n] = '\0';
	return 0;
}

ssize_t sys_pread(int fd, void *data, size_t size, off_t off)
{
	FAULT(pread);
	return RETRY(pread(fd, data, size, off));
}

ssize_t sys_pwrite(int fd, const void *data, size_t size, off_t off)
{
	FAULT(pwrite);
	return RETRY(pwrite(fd, data, size, off));
}

ssize_t sys_read(int fd, void *data, size_t size)
{
	FAULT(read);
	return RETRY(read(fd, data, size));
}

ssize_t sys_write(int fd, const void *data, size_t size)
{
	FAULT(write);
	return RETRY(write(fd, data, size));
}

ssize_t sys_copy_file_range(int from, off_t *from_off, int to, off_t *to_off,
			    size_t size)
{
	FAULT(copy_file_range);
	return RETRY(copy_file_range(from, from_off, to, to_off, size, 0));
}

int sys_clone(int to, int from)
{
	FAULT(clone);
	return RETRY(ioctl(to, FICLONE, from));
}

off_t sys_lseek(int fd, off_t off, int whence)
{
	FAULT(lseek);
	return RETRY(lseek(fd, off, whence));
}

int sys_ftruncate(int fd, off_t size)
{
	FAULT(ftruncate);
	return RETRY(ftruncate(fd, size));
}

int sys_fallocate(int fd, int mode, off_t off, off_t size)
{
	FAULT(fallocate);
	return RETRY(fallocate(fd, mode, off, size));
}

int sys_fsync(int fd)
{
	FAULT(fsync);
	return RETRY(fsync(fd));
}

int sys_fdatasync(int fd)
{
	FAULT(fsync);
	return RETRY(fdatasync(fd));
}

int sys_syncfs(int fd)
{
	FAULT(fsync);
	return RETRY(syncfs(fd));
}

int sys_fstatat(int dirfd, const char *name, struct stat *ret_st)
{
	FAULT(fstatat);
	return RETRY(fstatat(dirfd, name, ret_st,
			     AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

int sys_fstat(int fd, struct stat *ret_st)
{
	FAULT(fstat);
	return RETRY(fstat(fd, ret_st));
}

int sys_fstatvfs(int fd, struct statvfs *ret_st)
{
	FAULT(fstatvfs);
	return RETRY(fstatvfs(fd, ret_st));
}

int sys_faccessat(int dirfd, const char *name, int mode)
{
	FAULT(faccessat);
	return RETRY(
		faccessat(dirfd, name, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW));
}

ssize_t sys_readlinkat(int dirfd, const char *name, char *target, size_t size)
{
	FAULT(readlinkat);
	return RETRY(readlinkat(dirfd, name, target, size));
}

/* The kernel's fchmodat2 is too new (Linux 6.6) and glibc's emulation of
 * AT_SYMLINK_NOFOLLOW makes four calls. */
int sys_fchmodat(int dirfd, const char *name, mode_t mode)
{
	char path[PROC_FD_PATH_BYTES];

	FAULT(fchmodat);
	if (*name) {
		return RETRY(fchmodat(dirfd, name, mode, 0));
	}
	proc_fd_path(path, dirfd);
	return RETRY(chmod(path, mode));
}

int sys_fchmod(int fd, mode_t mode)
{
	FAULT(fchmod);
	return RETRY(fchmod(fd, mode));
}

int sys_fchownat(int dirfd, const char *name, uid_t uid, gid_t gid)
{
	FAULT(fchownat);
	return RETRY(fchownat(dirfd, name, uid, gid,
			      AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
}

int sys_fchown(int fd, uid_t uid, gid_t gid)
{
	FAULT(fchown);
	return RETRY(fchown(fd, uid, gid));
}

int sys_utimensat(int dirfd, const char *name, const struct timespec times[2])
{
	char path[PROC_FD_PATH_BYTES];

	FAULT(utimensat);
	if (*name) {
		return RETRY(
			utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW));
	}
	proc_fd_path(path, dirfd);
	return RETRY(utimensat(AT_FDCWD, path, times, 0));
}

int sys_futimens(int fd, const struct timespec times[2])
{
	FAULT(futimens);
	return RETRY(futimens(fd, times));
}

int sys_mkdirat(int dirfd, const char *name, mode_t mode)
{
	FAULT(mkdirat);
	return RETRY(mkdirat(dirfd, name, mode));
}

int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t dev)
{
	FAULT(mknodat);
	return RETRY(mknodat(dirfd, name, mode, dev));
}

int sys_symlinkat(const char *target, int dirfd, const char *name)
{
	FAULT(symlinkat);
	return RETRY(symlinkat(target, dirfd, name));
}

int sys_linkat(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	FAULT(linkat);
	return RETRY(linkat(from_dirfd, from, to_dirfd, to, 0));
}

int sys_link_fd(int fd, int to_dirfd, const char *to)
{
	char path[PROC_FD_PATH_BYTES];

	FAULT(linkat);
	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH. */
	proc_fd_path(path, fd);
	return RETRY(linkat(AT_FDCWD, path, to_dirfd, to, AT_SYMLINK_FOLLOW));
}

int sys_unlinkat(int dirfd, const char *name, int flags)
{
	FAULT(unlinkat);
	return RETRY(unlinkat(dirfd, name, flags));
}

int sys_renameat2(int from_dirfd, const char *from, int to_dirfd,
		  const char *to, unsigned int flags)
{
	FAULT(renameat2);
	return RETRY(renameat2(from_dirfd, from, to_dirfd, to, flags));
}

/* "/proc/self/fd/N" or "/proc/self/fd/N/NAME": the *xattrat calls are too new
 * (Linux 6.13) and f*xattr refuse O_PATH descriptors. */
#define XATTR_PATH_BYTES (PROC_FD_PATH_BYTES + 256)

static int xattr_path(char path[XATTR_PATH_BYTES], int dirfd, const char *name)
{
	int len = snprintf(path, XATTR_PATH_BYTES, "/proc/self/fd/%d%s%s",
			   dirfd, *name ? "/" : "", name);

	return len < 0 || len >= XATTR_PATH_BYTES ? -ENAMETOOLONG : 0;
}

ssize_t sys_getxattrat(int dirfd, const char *name, const char *attr,
		       void *value, size_t size)
{
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(getxattr);
	if (error) {
		return error;
	}
	/* The magic link itself must be followed to reach `dirfd`. */
	return *name ? RETRY(lgetxattr(path, attr, value, size))
		     : RETRY(getxattr(path, attr, value, size));
}

int sys_setxattrat(int dirfd, const char *name, const char *attr,
		   const void *value, size_t size, int flags)
{
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(setxattr);
	if (error) {
		return error;
	}
	return *name ? RETRY(lsetxattr(path, attr, value, size, flags))
		     : RETRY(setxattr(path, attr, value, size, flags));
}

int sys_removexattrat(int dirfd, const char *name, const char *attr)
{
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(removexattr);
	if (error) {
		return error;
	}
	return *name ? RETRY(lremovexattr(path, attr))
		     : RETRY(removexattr(path, attr));
}

ssize_t sys_listxattrat(int dirfd, const char *name, char *list, size_t size)
{
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(listxattr);
	if (error) {
		return error;
	}
	return *name ? RETRY(llistxattr(path, list, size))
		     : RETRY(listxattr(path, list, size));
}

struct sys_fsids sys_fsids_set(uid_t uid, gid_t gid)
{
	struct sys_fsids saved;

	/* gid first: without its privileges a thread can't change it. The
	 * calls return the previous id and never fail visibly. */
	saved.gid = (gid_t)syscall(SYS_setfsgid, gid);
	saved.uid = (uid_t)syscall(SYS_setfsuid, uid);
	return saved;
}

void sys_fsids_reset(const struct sys_fsids *saved)
{
	syscall(SYS_setfsuid, saved->uid);
	syscall(SYS_setfsgid, saved->gid);
}

int sys_flock(int fd, int operation)
{
	FAULT(flock);
	return RETRY(flock(fd, operation));
}

int sys_opendirat(int dirfd, const char *name, DIR **ret_dir)
{
	AUTO_FD fd = sys_openat(dirfd, *name ? name : ".",
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	DIR *dir;

	if (fd < 0) {
		return fd;
	}
	dir = fdopendir(fd);
	if (!dir) {
		return -errno;
	}
	TAKE_FD(fd);
	*ret_dir = dir;
	return 0;
}

int sys_readdir(DIR *dir, struct dirent **ret_entry)
{
	struct dirent *entry;

	FAULT(readdir);
	errno = 0;
	entry = readdir(dir);
	if (!entry && errno) {
		return -errno;
	}
	*ret_entry = entry;
	return 0;
}
