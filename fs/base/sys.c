#include "sys.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "legato-config.h"
#include "owner.h"

#if LEGATO_FAULT_INJECTION

#include <pthread.h>
#include <signal.h>
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
	if (nth < fault.from || nth - fault.from >= fault.count) {
		return 0;
	}
	if (fault.error == 0) {
		kill(getpid(), SIGKILL);
	}
	return fault.error;
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

/*
 * Repeats a refused call as the files' owner (owner.h). Only calls relative to
 * a descriptor: AT_FDCWD is the process's own.
 */
#define AS_OWNER(result, ...)                                                  \
	as_owner(result, &(struct owner_request){__VA_ARGS__})

static ssize_t as_owner(ssize_t result, const struct owner_request *request)
{
	return result == -EACCES && owner_is_running() && request->fd >= 0
		       ? owner_call(request)
		       : result;
}

#define PROC_FD_PATH_BYTES 32

static void proc_fd_path(char path[PROC_FD_PATH_BYTES], int fd)
{
	snprintf(path, PROC_FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

int sys_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	int result;

	FAULT(openat);
	result = RETRY(openat(dirfd, name, flags | O_CLOEXEC, mode));
	return (int)AS_OWNER(result, .call = OWNER_OPENAT, .fd = dirfd,
			     .name = name, .flags = flags, .mode = mode);
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
			return (int)AS_OWNER(fd, .call = OWNER_OPEN_BENEATH,
					     .fd = dirfd, .name = path,
					     .flags = flags);
		}
	}
}

int sys_reopen(int fd, int flags)
{
	int result;
	char path[PROC_FD_PATH_BYTES];

	FAULT(openat);
	proc_fd_path(path, fd);
	result = RETRY(open(path, flags | O_CLOEXEC));
	return (int)AS_OWNER(result, .call = OWNER_REOPEN, .fd = fd,
			     .flags = flags);
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

static int next_data(int fd, off_t off, off_t *ret_start, off_t *ret_end)
{
	off_t start = lseek(fd, off, SEEK_DATA);
	off_t end = start < 0 ? start : lseek(fd, start, SEEK_HOLE);

	if (end < 0) {
		return -errno;
	}
	*ret_start = start;
	*ret_end = end;
	return 0;
}

int sys_next_extent(int fd, off_t off, off_t *ret_start, off_t *ret_end)
{
	/* Room for one extent behind the head. */
	union {
		struct fiemap map;
		char bytes[sizeof(struct fiemap) +
			   sizeof(struct fiemap_extent)];
	} ask = {.map = {.fm_start = (uint64_t)off,
			 .fm_length = FIEMAP_MAX_OFFSET - (uint64_t)off,
			 .fm_extent_count = 1}};
	struct fiemap_extent extent;

	FAULT(next_extent);
	if (ioctl(fd, FS_IOC_FIEMAP, &ask)) {
		return errno == EOPNOTSUPP || errno == ENOTTY
			       ? next_data(fd, off, ret_start, ret_end)
			       : -errno;
	}
	if (!ask.map.fm_mapped_extents) {
		return -ENXIO;
	}
	memcpy(&extent, ask.bytes + sizeof(struct fiemap), sizeof(extent));
	*ret_start = (off_t)extent.fe_logical;
	*ret_end = (off_t)(extent.fe_logical + extent.fe_length);
	return 0;
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

int sys_map(int fd, size_t size, void **ret_map)
{
	void *map;

	FAULT(map);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		return -errno;
	}
	*ret_map = map;
	return 0;
}

int sys_populate(void *at, size_t size)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t start = (uintptr_t)at & ~(page - 1);

	FAULT(populate);
	/* Linux 5.14; EINVAL before, and for a map to read. */
	return madvise((void *)start, size + ((uintptr_t)at - start),
		       MADV_POPULATE_WRITE) &&
			       (errno == EFAULT || errno == EHWPOISON)
		       ? -ENOSPC
		       : 0;
}

void sys_unmap(void *map, size_t size)
{
	munmap(map, size);
}

void sys_write_in_place(int fd)
{
	unsigned int flags;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_NOCOW_FL;
		(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
	}
}

int sys_fstatat(int dirfd, const char *name, struct stat *ret_st)
{
	int result;

	FAULT(fstatat);
	result = RETRY(fstatat(dirfd, name, ret_st,
			       AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
	return (int)AS_OWNER(result, .call = OWNER_FSTATAT, .fd = dirfd,
			     .name = name, .ret_data = ret_st,
			     .ret_size = sizeof(*ret_st));
}

int sys_birth_time(int dirfd, const char *name, struct timespec *ret_time)
{
	struct statx st;
	int error;

	FAULT(statx);
	error = RETRY(statx(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH,
			    STATX_BTIME, &st));
	if (error) {
		return (int)AS_OWNER(error, .call = OWNER_BIRTH_TIME,
				     .fd = dirfd, .name = name,
				     .ret_data = ret_time,
				     .ret_size = sizeof(*ret_time));
	}
	*ret_time = (struct timespec){0};
	if (st.stx_mask & STATX_BTIME) {
		ret_time->tv_sec = st.stx_btime.tv_sec;
		ret_time->tv_nsec = st.stx_btime.tv_nsec;
	}
	return 0;
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
	ssize_t result;

	FAULT(readlinkat);
	result = RETRY(readlinkat(dirfd, name, target, size));
	return AS_OWNER(result, .call = OWNER_READLINKAT, .fd = dirfd,
			.name = name, .ret_data = target, .ret_size = size);
}

/* The kernel's fchmodat2 is too new (Linux 6.6) and glibc's emulation of
 * AT_SYMLINK_NOFOLLOW makes four calls. */
int sys_fchmodat(int dirfd, const char *name, mode_t mode)
{
	char path[PROC_FD_PATH_BYTES];
	int result;

	FAULT(fchmodat);
	proc_fd_path(path, dirfd);
	result = *name ? RETRY(fchmodat(dirfd, name, mode, 0))
		       : RETRY(chmod(path, mode));
	return (int)AS_OWNER(result, .call = OWNER_FCHMODAT, .fd = dirfd,
			     .name = name, .mode = mode);
}

int sys_fchownat(int dirfd, const char *name, uid_t uid, gid_t gid)
{
	int result;

	FAULT(fchownat);
	result = RETRY(fchownat(dirfd, name, uid, gid,
				AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH));
	return (int)AS_OWNER(result, .call = OWNER_FCHOWNAT, .fd = dirfd,
			     .name = name, .uid = uid, .gid = gid);
}

int sys_utimensat(int dirfd, const char *name, const struct timespec times[2])
{
	char path[PROC_FD_PATH_BYTES];
	int result;

	FAULT(utimensat);
	proc_fd_path(path, dirfd);
	result = *name ? RETRY(utimensat(dirfd, name, times,
					 AT_SYMLINK_NOFOLLOW))
		       : RETRY(utimensat(AT_FDCWD, path, times, 0));
	return (int)AS_OWNER(result, .call = OWNER_UTIMENSAT, .fd = dirfd,
			     .name = name, .times = times);
}

int sys_mkdirat(int dirfd, const char *name, mode_t mode)
{
	int result;

	FAULT(mkdirat);
	result = RETRY(mkdirat(dirfd, name, mode));
	return (int)AS_OWNER(result, .call = OWNER_MKDIRAT, .fd = dirfd,
			     .name = name, .mode = mode);
}

int sys_mknodat(int dirfd, const char *name, mode_t mode, dev_t dev)
{
	int result;

	FAULT(mknodat);
	result = RETRY(mknodat(dirfd, name, mode, dev));
	return (int)AS_OWNER(result, .call = OWNER_MKNODAT, .fd = dirfd,
			     .name = name, .mode = mode, .dev = dev);
}

int sys_symlinkat(const char *target, int dirfd, const char *name)
{
	int result;

	FAULT(symlinkat);
	result = RETRY(symlinkat(target, dirfd, name));
	return (int)AS_OWNER(result, .call = OWNER_SYMLINKAT, .fd = dirfd,
			     .name = name, .second_name = target);
}

int sys_linkat(int from_dirfd, const char *from, int to_dirfd, const char *to)
{
	int result;

	FAULT(linkat);
	result = RETRY(linkat(from_dirfd, from, to_dirfd, to, 0));
	return (int)AS_OWNER(result, .call = OWNER_LINKAT, .fd = from_dirfd,
			     .name = from, .second_fd = to_dirfd,
			     .has_second_fd = true, .second_name = to);
}

int sys_link_fd(int fd, int to_dirfd, const char *to)
{
	int result;
	char path[PROC_FD_PATH_BYTES];

	FAULT(linkat);
	/* AT_EMPTY_PATH would need CAP_DAC_READ_SEARCH. */
	proc_fd_path(path, fd);
	result = RETRY(linkat(AT_FDCWD, path, to_dirfd, to, AT_SYMLINK_FOLLOW));
	return (int)AS_OWNER(result, .call = OWNER_LINK_FD, .fd = fd,
			     .second_fd = to_dirfd, .has_second_fd = true,
			     .second_name = to);
}

int sys_unlinkat(int dirfd, const char *name, int flags)
{
	int result;

	FAULT(unlinkat);
	result = RETRY(unlinkat(dirfd, name, flags));
	return (int)AS_OWNER(result, .call = OWNER_UNLINKAT, .fd = dirfd,
			     .name = name, .flags = flags);
}

int sys_renameat2(int from_dirfd, const char *from, int to_dirfd,
		  const char *to, unsigned int flags)
{
	int result;

	FAULT(renameat2);
	result = RETRY(renameat2(from_dirfd, from, to_dirfd, to, flags));
	return (int)AS_OWNER(result, .call = OWNER_RENAMEAT2, .fd = from_dirfd,
			     .name = from, .second_fd = to_dirfd,
			     .has_second_fd = true, .second_name = to,
			     .flags = (int)flags);
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
	ssize_t result;
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(getxattr);
	if (error) {
		return error;
	}
	/* The magic link itself must be followed to reach `dirfd`. */
	result = *name ? RETRY(lgetxattr(path, attr, value, size))
		       : RETRY(getxattr(path, attr, value, size));
	return AS_OWNER(result, .call = OWNER_GETXATTRAT, .fd = dirfd,
			.name = name, .second_name = attr, .ret_data = value,
			.ret_size = size);
}

int sys_setxattrat(int dirfd, const char *name, const char *attr,
		   const void *value, size_t size, int flags)
{
	int result;
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(setxattr);
	if (error) {
		return error;
	}
	result = *name ? RETRY(lsetxattr(path, attr, value, size, flags))
		       : RETRY(setxattr(path, attr, value, size, flags));
	return (int)AS_OWNER(result, .call = OWNER_SETXATTRAT, .fd = dirfd,
			     .name = name, .second_name = attr, .value = value,
			     .value_size = size, .flags = flags);
}

int sys_removexattrat(int dirfd, const char *name, const char *attr)
{
	int result;
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(removexattr);
	if (error) {
		return error;
	}
	result = *name ? RETRY(lremovexattr(path, attr))
		       : RETRY(removexattr(path, attr));
	return (int)AS_OWNER(result, .call = OWNER_REMOVEXATTRAT, .fd = dirfd,
			     .name = name, .second_name = attr);
}

ssize_t sys_listxattrat(int dirfd, const char *name, char *list, size_t size)
{
	ssize_t result;
	char path[XATTR_PATH_BYTES];
	int error = xattr_path(path, dirfd, name);

	FAULT(listxattr);
	if (error) {
		return error;
	}
	result = *name ? RETRY(llistxattr(path, list, size))
		       : RETRY(listxattr(path, list, size));
	return AS_OWNER(result, .call = OWNER_LISTXATTRAT, .fd = dirfd,
			.name = name, .ret_data = list, .ret_size = size);
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

static _Thread_local mode_t thread_umask;

mode_t sys_current_umask(void)
{
	return thread_umask;
}

void sys_thread_umask(mode_t mask)
{
	static _Thread_local bool is_own;

	if (is_own && mask == thread_umask) {
		return;
	}
	/* It takes no privilege and fails only without memory; then all
	 * threads go on sharing one umask. */
	is_own = is_own || !unshare(CLONE_FS);
	umask(mask);
	thread_umask = mask;
}

int sys_inotify_init(void)
{
	FAULT(inotify_init);
	return RETRY(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
}

int sys_inotify_add(int fd, int dirfd, uint32_t mask)
{
	char path[PROC_FD_PATH_BYTES];

	FAULT(inotify_add);
	proc_fd_path(path, dirfd);
	return RETRY(inotify_add_watch(fd, path, mask));
}

void sys_inotify_remove(int fd, int number)
{
	/* EINVAL: the kernel has removed it with the directory. */
	(void)!inotify_rm_watch(fd, number);
}

int sys_random(void *data, size_t size)
{
	ssize_t n;

	FAULT(random);
	n = RETRY(getrandom(data, size, 0));
	/* Up to 256 bytes come whole. */
	return n < 0 ? (int)n : (size_t)n == size ? 0 : -EIO;
}

int sys_eventfd(void)
{
	FAULT(eventfd);
	return RETRY(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

int sys_fs_type(int fd, uint32_t *ret_type)
{
	struct statfs st;
	int error;

	FAULT(fstatfs);
	error = RETRY(fstatfs(fd, &st));
	if (!error) {
		*ret_type = (uint32_t)st.f_type;
	}
	return error;
}

int sys_flock(int fd, int operation)
{
	FAULT(flock);
	return RETRY(flock(fd, operation));
}

/* Takes `opened` over, a descriptor or an error. */
static int stream_of(int opened, DIR **ret_dir)
{
	AUTO_FD fd = opened;
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

#define OPEN_DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW)

int sys_opendirat(int dirfd, const char *name, DIR **ret_dir)
{
	return stream_of(
		sys_openat(dirfd, *name ? name : ".", OPEN_DIR_FLAGS, 0),
		ret_dir);
}

int sys_opendirat_quietly(int dirfd, const char *name, DIR **ret_dir)
{
	int fd = sys_openat(dirfd, *name ? name : ".",
			    OPEN_DIR_FLAGS | O_NOATIME, 0);

	return fd == -EPERM ? sys_opendirat(dirfd, name, ret_dir)
			    : stream_of(fd, ret_dir);
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
