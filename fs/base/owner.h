/*
 * owner.h - an ordinary user's files whatever their mode.
 *
 * A file of mode 0444 must be written to when a program opened it before the
 * mode was set; a file in a directory of mode 0555 must be copied up there.
 * The kernel has by then checked what the program may do (default_permissions);
 * only the daemon's own step is in the way. Root has CAP_DAC_OVERRIDE for it.
 * An ordinary user has it, too, over the own files, in a user namespace that
 * maps the user to itself. A process can't enter one once it has threads, and
 * in there other users' numbers are lost, so a helper process lives there and
 * repeats a call that failed with EACCES: it gets the descriptors over a
 * socket and gives back the result.
 *
 * The namespace maps one group, the primary one: a file of the user's with
 * another group stays shut.
 *
 * Only sys.c calls this, and only after EACCES; the helper runs the same
 * sys_* functions. Without a helper (root, or no user namespaces to be had)
 * EACCES stays.
 *
 * Threads: owner_start before any; the calls from any, one at a time (a lock
 * that is a leaf).
 */
#ifndef FS_BASE_OWNER_H
#define FS_BASE_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "compiler.h"

/* Starts the helper; it ends with this process. Does nothing as root. Failure
 * is logged and no more: 0 where it runs, else -errno. */
int owner_start(void);
void owner_stop(void);

/* Whether there is one. */
bool owner_is_running(void);

enum owner_call {
	OWNER_OPENAT,
	OWNER_OPEN_BENEATH,
	OWNER_REOPEN,
	OWNER_FSTATAT,
	OWNER_BIRTH_TIME,
	OWNER_READLINKAT,
	OWNER_FCHMODAT,
	OWNER_FCHOWNAT,
	OWNER_UTIMENSAT,
	OWNER_MKDIRAT,
	OWNER_MKNODAT,
	OWNER_SYMLINKAT,
	OWNER_LINKAT,
	OWNER_LINK_FD,
	OWNER_UNLINKAT,
	OWNER_RENAMEAT2,
	OWNER_GETXATTRAT,
	OWNER_SETXATTRAT,
	OWNER_REMOVEXATTRAT,
	OWNER_LISTXATTRAT,
};

/* A call's arguments; what it does not use stays 0. Pointers are borrowed. */
struct owner_request {
	enum owner_call call;
	int fd;
	int second_fd; /* used by calls with two names */
	bool has_second_fd;
	const char *name;
	const char *second_name; /* also the name of an attribute */
	const void *value;       /* of an attribute */
	size_t value_size;
	int flags;
	mode_t mode;
	dev_t dev;
	uid_t uid;
	gid_t gid;
	const struct timespec *times;
	void *ret_data; /* stat, link target, attribute */
	size_t ret_size;
};

/* The call's result as the sys_* function has it (a descriptor, a size, 0 or
 * -errno), or -EACCES where there is no helper. */
ssize_t owner_call(const struct owner_request *request) MUST_CHECK;

#endif
