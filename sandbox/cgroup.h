/*
 * cgroup.h - one control group per sandbox: what limits it as a whole.
 *
 * Two kinds of systems, which cgroup_plan tells apart by /proc/self/cgroup and
 * the mounts:
 *
 *	v1   a group for memory, pids and cpu each, below the launcher's own
 *	v2   one group in /legato, a folder of ours below the top, since the
 *	     launcher's own group has processes and so can't share out
 *
 * Both need the right to make groups, which root has. Only groups made here
 * are written to, moved into and removed. What no group limits is told by
 * cgroup_make, for bounds.h.
 *
 * Calling sequence: cgroup_make, cgroup_join in a child before exec,
 * cgroup_add, cgroup_remove after the end of all in it. Threads: one.
 */
#ifndef SANDBOX_CGROUP_H
#define SANDBOX_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "compiler.h"

#define CGROUP_FOLDERS_MAX 4

enum limit {
	LIMIT_MEMORY, /* bytes */
	LIMIT_PIDS,
	LIMIT_CPU, /* thousandths of a processor */
	LIMIT_COUNT,
};

struct limits {
	uint64_t values[LIMIT_COUNT]; /* 0: none */
};

/* One folder to be made. */
struct cgroup_folder {
	char *path;
	char *shared; /* v2: the folder above, made too where missing */
	bool limits[LIMIT_COUNT];
	bool is_v2;
};

struct cgroup_plan {
	struct cgroup_folder folders[CGROUP_FOLDERS_MAX];
	int count;
};

/* Pure: `self` is the text of /proc/self/cgroup, `mounts` of
 * /proc/self/mounts, `id` the group's name. */
void cgroup_plan(struct cgroup_plan *ret_plan, const char *self,
		 const char *mounts, const char *id,
		 const struct limits *limits);
void cgroup_plan_release(struct cgroup_plan *plan);

struct cgroup {
	/* private */
	struct cgroup_plan plan;
	int procs_fds[CGROUP_FOLDERS_MAX];
};

/* Makes the groups; `ret_done` says which limits hold. Failure is no more than
 * that. Nothing is made without limits. */
void cgroup_make(struct cgroup *ret_cgroup, const char *id,
		 const struct limits *limits, bool ret_done[LIMIT_COUNT]);

/* Between fork and exec: this process, and so what it starts. 0 or -errno. */
int cgroup_join(const struct cgroup *cgroup) MUST_CHECK;

/* Another process, for `exec`. 0 or -errno. */
int cgroup_add(const struct cgroup *cgroup, pid_t pid) MUST_CHECK;

/* Kills what is in it (v2), and removes it. */
void cgroup_remove(struct cgroup *cgroup);

#endif
