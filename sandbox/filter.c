#include "filter.h"

#include <seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define REQUEST_MASK 0xffffffffULL

static const uint64_t refused_requests[] = {TIOCSTI, TIOCLINUX};

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

static int add_rules(scmp_filter_ctx filter)
{
	for (size_t i = 0; i < ARRAY_SIZE(refused_requests); i++) {
		int error = seccomp_rule_add(
			filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
			SCMP_A1(SCMP_CMP_MASKED_EQ, REQUEST_MASK,
				refused_requests[i]));

		if (error) {
			return error;
		}
	}
	return 0;
}

int filter_open(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	AUTO_FD fd = memfd_create("seccomp", MFD_CLOEXEC);
	int error = filter && fd >= 0 ? 0 : -ENOMEM;

	error = error ? error : add_companions(filter);
	error = error ? error : add_rules(filter);
	error = error ? error : seccomp_export_bpf(filter, fd);
	seccomp_release(filter);
	if (!error && lseek(fd, 0, SEEK_SET) != 0) {
		error = -errno;
	}
	return error ? error : TAKE_FD(fd);
}
