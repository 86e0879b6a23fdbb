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

#include <stdbool.h>

#include "compiler.h"

/* 1 if equal, 0 if not, or -errno. Attributes that may not be read count as
 * absent. */
int attrs_equal(int a_dirfd, const char *a_name, int b_dirfd,
		const char *b_name) MUST_CHECK;

/*
 * Gives the entry `to` the attributes of `from`, and takes those away that
 * `from` does not have. `from_layer`: names of `from` are escaped as in an
 * upper (xattr.h). What this user may not set (trusted.*, security.*) is left
 * out. 0 or -errno.
 */
int attrs_copy(int to_dirfd, const char *to_name, int from_dirfd,
	       const char *from_name, bool from_layer) MUST_CHECK;

/* Called with each compared attribute, its name as a program sees it. Not 0
 * ends it, and is returned. */
typedef int attrs_fn(const char *attr, const void *value, size_t size,
		     void *arg);
int attrs_each(int dirfd, const char *name, bool is_layer, attrs_fn *fn,
	       void *arg) MUST_CHECK;

#endif
