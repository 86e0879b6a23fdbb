/*
 * filter.h - the system call filter of the sandbox.
 *
 * The command shares the terminal's session, so that job control works; the
 * two ioctls with which a program types into its terminal, and so into the
 * shell that started us, are refused with EPERM: TIOCSTI, and TIOCLINUX (the
 * console's paste). The kernel looks at the low 32 bits of the request only
 * (CVE-2019-10063), so the filter does too.
 */
#ifndef SANDBOX_FILTER_H
#define SANDBOX_FILTER_H

#include "compiler.h"

/* A descriptor to read the filter from, for bwrap's --seccomp; the caller's.
 * Covers every system call convention of this processor. -errno. */
int filter_open(void) MUST_CHECK;

#endif
