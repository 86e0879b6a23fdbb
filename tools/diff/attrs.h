/*
 * attrs.h - whether two entries have the same extended attributes.
 *
 * Compared: user.*, trusted.*, security.capability and POSIX ACLs, as a
 * program in the view sees them. Not compared: the layer format's own, and
 * the rest of security.* and system.*, which belong to the machine's policy
 * and not to the agent.
 *
 * Entries are (dirfd, name) as in content.h. Threads: any; no state.
 */
#ifndef TOOLS_DIFF_ATTRS_H
#define TOOLS_DIFF_ATTRS_H

#include "compiler.h"

/* 1 if equal, 0 if not, or -errno. Attributes that may not be read count as
 * absent. */
int attrs_equal(int a_dirfd, const char *a_name, int b_dirfd,
		const char *b_name) MUST_CHECK;

#endif
