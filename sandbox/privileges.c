#include "privileges.h"

#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ROW(capability)                                                        \
	{                                                                      \
#capability, capability                                        \
	}

const struct privilege privileges_root[] = {
	ROW(CAP_CHOWN),      ROW(CAP_DAC_OVERRIDE),
	ROW(CAP_FOWNER),     ROW(CAP_FSETID),
	ROW(CAP_KILL),       ROW(CAP_SETGID),
	ROW(CAP_SETUID),     ROW(CAP_SETPCAP),
	ROW(CAP_SYS_CHROOT), ROW(CAP_NET_BIND_SERVICE),
	ROW(CAP_SETFCAP),
};
const size_t privileges_n_root = ARRAY_SIZE(privileges_root);

static uint64_t kept(int is_root)
{
	uint64_t set = 0;

	for (size_t i = 0; is_root && i < privileges_n_root; i++) {
		set |= UINT64_C(1) << privileges_root[i].number;
	}
	return set;
}

int privileges_drop(int is_root)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};
	uint64_t set = kept(is_root);

	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (!(set & UINT64_C(1) << i) &&
		    prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0) {
			return -errno;
		}
	}
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) {
		return -errno;
	}
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		data[i].effective = (uint32_t)(set >> (32 * i));
		data[i].permitted = data[i].effective;
	}
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}
