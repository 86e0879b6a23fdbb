/*
 * bounds.h - memory, processes and processors that a sandbox may use.
 *
 * By a control group where one can be made (cgroup.h). An ordinary user's
 * processes are limited without: a limit on processes (RLIMIT_NPROC) counts,
 * in the sandbox's own user namespace, only those in it. Memory and processors
 * have no such limit, since one by process would not hold the whole and breaks
 * programs that reserve addresses. What could not be limited is told, once,
 * and the run goes on.
 *
 * Threads: one.
 */
#ifndef SANDBOX_BOUNDS_H
#define SANDBOX_BOUNDS_H

#include "cgroup.h"
#include "compiler.h"

struct config;

/* "memory=4G,pids=512,cpu=2" of --limits into the configuration. 0 or an exit
 * code. */
int bounds_parse(struct config *config, const char *text) MUST_CHECK;

/* What is configured. */
void bounds_from_config(struct limits *ret_limits, const struct config *config);

/* Makes the groups. `ret_shim_pids` is what the shim is to limit processes to,
 * 0 for nothing. */
void bounds_apply(const struct limits *limits, const char *id,
		  struct cgroup *ret_cgroup, uint64_t *ret_shim_pids);

#endif
