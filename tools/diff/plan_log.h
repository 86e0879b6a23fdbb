/*
 * plan_log.h - a plan on disk, so that an interrupted one can be finished.
 *
 * Format: "legato-apply 1", then the fields of each step (plan.h), numbers in
 * decimal, paths as they are; each field ends with NUL. It is written once,
 * before the first step, and removed after the last one.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_PLAN_LOG_H
#define TOOLS_DIFF_PLAN_LOG_H

#include "compiler.h"
#include "plan.h"

/* Replaces the file `name` in `dirfd`, durably. 0 or -errno. */
int plan_log_write(const struct plan *plan, int dirfd,
		   const char *name) MUST_CHECK;

/* Fills an empty plan. -ENOENT, -EBADMSG for what is no such file, ... */
int plan_log_read(struct plan *plan, int dirfd, const char *name) MUST_CHECK;

#endif
