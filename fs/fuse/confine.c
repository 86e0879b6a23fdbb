#include "confine.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "compiler.h"
#include "err.h"
#include "legato-config.h"
#include "log.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||     \
	__has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

/* Whatever their arguments. Those that older libraries and SQLite use beside
 * the newer ones are among them. */
static const int allowed_calls[] = {
	/* bytes */
	SCMP_SYS(read),
	SCMP_SYS(write),
	SCMP_SYS(readv),
	SCMP_SYS(writev),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(preadv),
	SCMP_SYS(pwritev),
	SCMP_SYS(preadv2),
	SCMP_SYS(pwritev2),
	SCMP_SYS(lseek),
	SCMP_SYS(ftruncate),
	SCMP_SYS(fallocate),
	SCMP_SYS(fsync),
	SCMP_SYS(fdatasync),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(sendfile),
	SCMP_SYS(splice),
	SCMP_SYS(vmsplice),
	SCMP_SYS(tee),
	SCMP_SYS(fadvise64),
	SCMP_SYS(readahead),
	/* names */
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(stat),
	SCMP_SYS(lstat),
	SCMP_SYS(fstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(statx),
	SCMP_SYS(statfs),
	SCMP_SYS(fstatfs),
	SCMP_SYS(access),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents64),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(mknodat),
	SCMP_SYS(symlinkat),
	SCMP_SYS(linkat),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(rmdir),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	/* attributes */
	SCMP_SYS(chmod),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	SCMP_SYS(chown),
	SCMP_SYS(lchown),
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(utimensat),
	SCMP_SYS(umask),
	SCMP_SYS(getxattr),
	SCMP_SYS(lgetxattr),
	SCMP_SYS(fgetxattr),
	SCMP_SYS(setxattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(listxattr),
	SCMP_SYS(llistxattr),
	SCMP_SYS(flistxattr),
	SCMP_SYS(removexattr),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(fremovexattr),
	/* a caller's, for one call */
	SCMP_SYS(setfsuid),
	SCMP_SYS(setfsgid),
	SCMP_SYS(setfsuid32),
	SCMP_SYS(setfsgid32),
	/* descriptors */
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(flock),
	SCMP_SYS(pipe2),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(eventfd2),
	SCMP_SYS(signalfd4),
	SCMP_SYS(inotify_init1),
	SCMP_SYS(inotify_add_watch),
	SCMP_SYS(inotify_rm_watch),
	SCMP_SYS(sendmsg), /* on the sockets that it has */
	SCMP_SYS(recvmsg),
	/* memory */
	SCMP_SYS(brk),
	SCMP_SYS(mmap),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(mprotect),
	SCMP_SYS(madvise),
	SCMP_SYS(msync),
	/* threads and time */
	SCMP_SYS(futex),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(set_tid_address),
	SCMP_SYS(membarrier),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_getparam),
	SCMP_SYS(sched_getscheduler),
	SCMP_SYS(sched_setscheduler),
	SCMP_SYS(sched_get_priority_min),
	SCMP_SYS(sched_get_priority_max),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(nanosleep),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(time),
	SCMP_SYS(getrandom),
	SCMP_SYS(getrusage),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getegid),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(wait4), /* for the helpers that it had made */
	SCMP_SYS(waitid),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

/* Of the many that there are. */
static const uint64_t allowed_requests[] = {
	FICLONE,
	FS_IOC_FIEMAP,
	FS_IOC_GETFLAGS,
	FS_IOC_SETFLAGS,
	FUSE_DEV_IOC_CLONE,
	FUSE_DEV_IOC_BACKING_OPEN,
	FUSE_DEV_IOC_BACKING_CLOSE,
};

/* Not those that have signals sent to others: F_SETOWN, F_SETSIG. */
static const uint64_t allowed_fcntls[] = {
	F_DUPFD,     F_DUPFD_CLOEXEC, F_GETFD,      F_SETFD,      F_GETFL,
	F_SETFL,     F_GETLK,         F_SETLK,      F_SETLKW,     F_OFD_GETLK,
	F_OFD_SETLK, F_OFD_SETLKW,    F_GETPIPE_SZ, F_SETPIPE_SZ,
};

#define REQUEST_MASK 0xffffffffULL

/* Where clone has its flags. */
#ifdef __s390x__
#define CLONE_FLAGS_ARG 1
#else
#define CLONE_FLAGS_ARG 0
#endif

static int allow_second(scmp_filter_ctx filter, int call,
			const uint64_t *values, size_t count)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		error = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, call, 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, REQUEST_MASK, values[i]));
	}
	return error;
}

static int allow_all(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(allowed_calls); i++) {
		error = seccomp_rule_add(filter, SCMP_ACT_ALLOW,
					 allowed_calls[i], 0);
	}
	error = error ? error
		      : allow_second(filter, SCMP_SYS(ioctl), allowed_requests,
				     ARRAY_SIZE(allowed_requests));
	return error ? error
		     : allow_second(filter, SCMP_SYS(fcntl), allowed_fcntls,
				    ARRAY_SIZE(allowed_fcntls));
}

/* What is allowed to or for itself only. */
static int allow_own(scmp_filter_ctx filter)
{
	const uint64_t self = (uint64_t)getpid();
	const struct {
		int call;
		struct scmp_arg_cmp arg;
	} rules[] = {
		{SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_EQ, self)},
		{SCMP_SYS(kill), SCMP_A0(SCMP_CMP_EQ, self)},
		{SCMP_SYS(prlimit64), SCMP_A2(SCMP_CMP_EQ, 0)},
		{SCMP_SYS(prctl), SCMP_A0(SCMP_CMP_EQ, PR_SET_NAME)},
		{SCMP_SYS(unshare), SCMP_A0(SCMP_CMP_EQ, CLONE_FS)},
		/* Threads: a process would be without this flag. */
		{SCMP_SYS(clone), SCMP_CMP(CLONE_FLAGS_ARG, SCMP_CMP_MASKED_EQ,
					   CLONE_THREAD, CLONE_THREAD)},
	};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(rules); i++) {
		error = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW,
					       rules[i].call, 1, &rules[i].arg);
	}
	return error;
}

/* Where libc tries a newer call first it goes back to the older one. To clone
 * too: clone3 has its flags in memory, where no filter can look. */
static int install_filter(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	int error = filter ? 0 : -ENOMEM;

	error = error ? error : allow_all(filter);
	error = error ? error : allow_own(filter);
	/* All threads, and no new privileges. */
	error = error ? error
		      : seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	error = error ? error : seccomp_load(filter);
	seccomp_release(filter);
	return error;
}

#if LEGATO_FAULT_INJECTION

/* Whether the filter refused it, and nothing else. */
#define REFUSED(call)                                                          \
	({                                                                     \
		errno = 0;                                                     \
		(call) == -1 && errno == ENOSYS;                               \
	})

/* Tries, for a test, what must not work any more: a line in the log each. */
static void confine_probe(void)
{
	char *const nothing[] = {NULL};
	int ends[2];
	const struct {
		const char *what;
		bool refused;
	} tries[] = {
		{"socket", REFUSED(socket(AF_INET, SOCK_STREAM, 0))},
		{"socketpair",
		 REFUSED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends))},
		{"fork", REFUSED(fork())},
		{"execve", REFUSED(execve("/bin/true", nothing, nothing))},
		{"kill", REFUSED(kill(getppid(), 0))},
		{"ptrace", REFUSED(ptrace(PTRACE_ATTACH, getppid(), 0, 0))},
		{"setuid", REFUSED(syscall(SYS_setuid, getuid()))},
		{"unshare", REFUSED(unshare(CLONE_NEWUSER))},
		{"mount", REFUSED(mount("none", "/", NULL, MS_BIND, NULL))},
		{"umount", REFUSED(umount2("/none", MNT_DETACH))},
		{"io_uring", REFUSED(syscall(SYS_io_uring_setup, 1, NULL))},
		{"ioctl", REFUSED(ioctl(STDIN_FILENO, TIOCSTI, ""))},
		{"prctl", REFUSED(prctl(PR_SET_DUMPABLE, 1))},
		{"signals of descriptors",
		 REFUSED(fcntl(STDIN_FILENO, F_SETOWN, getppid()))},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		log_info("probe: %s %s", tries[i].what,
			 tries[i].refused ? "refused" : "allowed");
	}
}

#endif

void confine(void)
{
	int error;

	if (HAS_SANITIZER) {
		log_info("not confined: built with a sanitizer");
		return;
	}
	/* Ending a thread takes it; later it could not be looked for. */
	(void)!dlopen("libgcc_s.so.1", RTLD_NOW);
	if (prctl(PR_SET_DUMPABLE, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) {
		log_warn("not confined: %s", err_name(-errno));
	}
	error = install_filter();
	if (error) {
		log_warn("system calls are not filtered: %s", err_name(error));
	}
#if LEGATO_FAULT_INJECTION
	if (getenv("LEGATO_PROBE")) {
		confine_probe();
	}
#endif
}
