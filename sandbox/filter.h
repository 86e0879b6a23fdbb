/*
 * filter.h - the system call filter of the sandbox.
 *
 * Refuses what an agent never needs and what gives more of the kernel than a
 * build does: the keyring, loading, tracing the machine, devices' ports, other
 * address families; and, unless the run is to hold sandboxes of its own
 * (--nested), new namespaces and mounts. io_uring is said not to exist, so
 * that programs do without.
 *
 * The command may share the terminal's session; the two ioctls with which a
 * program types into its terminal, and so into the shell that started us, are
 * refused in any case: TIOCSTI, and TIOCLINUX (the console's paste). The
 * kernel looks at the low 32 bits of the request only (CVE-2019-10063), so
 * the filter does too.
 *
 * Not refused: what debuggers need (ptrace and the like), which reaches no
 * process outside.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include <stdbool.h>

#include "compiler.h"

/* A descriptor to read the filter from, for bwrap's --seccomp; the caller's.
 * Covers every system call convention of this processor. -errno. */
int filter_open(bool nested) MUST_CHECK;

/* Puts the filter in `fd` on this process and what it becomes, and gives up
 * new privileges. 0 or -errno. */
int filter_install(int fd) MUST_CHECK;

#endif
