#include "filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define REQUEST_MASK 0xffffffffULL

/* Where clone has its flags. */
#ifdef __s390x__
#define CLONE_FLAGS_ARG SCMP_A1
#else
#define CLONE_FLAGS_ARG SCMP_A0
#endif

static const uint64_t refused_requests[] = {TIOCSTI, TIOCLINUX};

/* Whatever their arguments. Some ask for privileges that the command does not
 * have; the filter is the second lock on that door. */
static const struct {
	int call;
	int error;
} refused_calls[] = {
	/* The kernel's keyring has no namespace but the user's. */
	{SCMP_SYS(add_key), EPERM},
	{SCMP_SYS(keyctl), EPERM},
	{SCMP_SYS(request_key), EPERM},
	/* Other kernels, and parts of this one. */
	{SCMP_SYS(kexec_load), EPERM},
	{SCMP_SYS(kexec_file_load), EPERM},
	{SCMP_SYS(init_module), EPERM},
	{SCMP_SYS(finit_module), EPERM},
	{SCMP_SYS(delete_module), EPERM},
	{SCMP_SYS(bpf), EPERM},
	/* Looks at, or waits for, the whole machine. */
	{SCMP_SYS(perf_event_open), EPERM},
	{SCMP_SYS(fanotify_init), EPERM},
	{SCMP_SYS(syslog), EPERM},
	{SCMP_SYS(userfaultfd), EPERM},
	{SCMP_SYS(lookup_dcookie), EPERM},
	/* Files by number, past any mount. */
	{SCMP_SYS(open_by_handle_at), EPERM},
	/* The machine's own. */
	{SCMP_SYS(acct), EPERM},
	{SCMP_SYS(clock_settime), EPERM},
	{SCMP_SYS(settimeofday), EPERM},
	{SCMP_SYS(ioperm), EPERM},
	{SCMP_SYS(iopl), EPERM},
	{SCMP_SYS(quotactl), EPERM},
	{SCMP_SYS(quotactl_fd), EPERM},
	{SCMP_SYS(reboot), EPERM},
	{SCMP_SYS(swapon), EPERM},
	{SCMP_SYS(swapoff), EPERM},
	{SCMP_SYS(vhangup), EPERM},
	/* Does work that no filter sees. */
	{SCMP_SYS(io_uring_setup), ENOSYS},
	{SCMP_SYS(io_uring_enter), ENOSYS},
	{SCMP_SYS(io_uring_register), ENOSYS},
};

/* Unless sandboxes are to be made inside. */
static const int mount_calls[] = {
	SCMP_SYS(mount),      SCMP_SYS(umount), SCMP_SYS(umount2),
	SCMP_SYS(pivot_root), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
	SCMP_SYS(fsmount),    SCMP_SYS(fspick), SCMP_SYS(open_tree),
	SCMP_SYS(move_mount), SCMP_SYS(setns),  SCMP_SYS(mount_setattr),
};

static const uint64_t namespace_flags[] = {
	CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
	CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP, CLONE_NEWTIME,
};

/* Old code that few use, and sockets that lead out of a virtual machine. */
static const uint64_t refused_families[] = {
	AF_KEY, AF_RDS,   AF_CAN, AF_TIPC,    AF_BLUETOOTH, AF_ALG,
	AF_NFC, AF_VSOCK, AF_KCM, AF_QIPCRTR, AF_SMC,       AF_XDP,
};

/* The other conventions that a kernel of the native one may run. */
static const uint32_t companions[][2] = {
	{SCMP_ARCH_X86_64, SCMP_ARCH_X86},
	{SCMP_ARCH_X86_64, SCMP_ARCH_X32},
	{SCMP_ARCH_AARCH64, SCMP_ARCH_ARM},
	{SCMP_ARCH_PPC64, SCMP_ARCH_PPC},
	{SCMP_ARCH_S390X, SCMP_ARCH_S390},
	{SCMP_ARCH_MIPS64, SCMP_ARCH_MIPS},
	{SCMP_ARCH_MIPS64, SCMP_ARCH_MIPS64N32},
	{SCMP_ARCH_MIPSEL64, SCMP_ARCH_MIPSEL},
	{SCMP_ARCH_MIPSEL64, SCMP_ARCH_MIPSEL64N32},
};

static int add_companions(scmp_filter_ctx filter)
{
	uint32_t native = seccomp_arch_native();

	for (size_t i = 0; i < ARRAY_SIZE(companions); i++) {
		int error;

		if (companions[i][0] != native) {
			continue;
		}
		error = seccomp_arch_add(filter, companions[i][1]);
		if (error && error != -EEXIST) {
			return error;
		}
	}
	return 0;
}

static int refuse_requests(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(refused_requests); i++) {
		error = seccomp_rule_add(
			filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, REQUEST_MASK,
				refused_requests[i]));
	}
	return error;
}

static int refuse_calls(scmp_filter_ctx filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(refused_calls); i++) {
		error = seccomp_rule_add(
			filter,
			SCMP_ACT_ERRNO((uint32_t)refused_calls[i].error),
			refused_calls[i].call, 0);
	}
	for (size_t i = 0; !error && i < ARRAY_SIZE(refused_families); i++) {
		error = seccomp_rule_add(
			filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket),
			1, SCMP_A0(SCMP_CMP_EQ, refused_families[i]));
	}
	return error;
}

/* New namespaces by each of their flags. clone3's are in memory, where no
 * filter can look: it is said not to exist, and libc goes back to clone. */
static int refuse_nesting(scmp_filter_ctx filter)
{
	int error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS),
				     SCMP_SYS(clone3), 0);

	for (size_t i = 0; !error && i < ARRAY_SIZE(mount_calls); i++) {
		error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM),
					 mount_calls[i], 0);
	}
	for (size_t i = 0; !error && i < ARRAY_SIZE(namespace_flags); i++) {
		uint64_t flag = namespace_flags[i];

		error = seccomp_rule_add(
			filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
		/* The time namespace's flag is part of clone's signal. */
		if (!error && flag != CLONE_NEWTIME) {
			error = seccomp_rule_add(
				filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone),
				1,
				CLONE_FLAGS_ARG(SCMP_CMP_MASKED_EQ, flag,
						flag));
		}
	}
	return error;
}

static int add_rules(scmp_filter_ctx filter, bool nested)
{
	int error = refuse_requests(filter);

	error = error ? error : refuse_calls(filter);
	return error || nested ? error : refuse_nesting(filter);
}

int filter_open(bool nested)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	AUTO_FD fd = memfd_create("seccomp", MFD_CLOEXEC);
	int error = filter && fd >= 0 ? 0 : -ENOMEM;

	error = error ? error : add_companions(filter);
	error = error ? error : add_rules(filter, nested);
	error = error ? error : seccomp_export_bpf(filter, fd);
	seccomp_release(filter);
	if (!error && lseek(fd, 0, SEEK_SET) != 0) {
		error = -errno;
	}
	return error ? error : TAKE_FD(fd);
}

int filter_install(int fd)
{
	struct sock_filter code[BPF_MAXINSNS];
	ssize_t size = pread(fd, code, sizeof(code), 0);
	struct sock_fprog program = {.filter = code};

	if (size <= 0 || (size_t)size % sizeof(code[0]) != 0) {
		return size < 0 ? -errno : -EBADMSG;
	}
	program.len = (unsigned short)((size_t)size / sizeof(code[0]));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		return -errno;
	}
	return 0;
}
