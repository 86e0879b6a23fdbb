/*
 * view.h - what is mounted where in the sandbox.
 *
 * The plan is a list of mounts, parents before children. Most are the
 * system's, read-only; the views come out of the execution's mount.
 *
 * Invariant: no mount point is ever made in the user's files. One that lies
 * in a scratch view (the checkout in the home, the home in /tmp) is made in
 * that view's base, so it shows in no diff; one that lies in the checkout is
 * refused; all others are in the sandbox's own root, which is in memory.
 *
 * Invariant: no mount point lies behind a link that an agent made. bwrap
 * before 0.12 follows links in the tree that it builds (GHSA-pxhw-h44j-8pfx);
 * at the first start of an execution the scratch views hold nothing but the
 * folders made here. A start over an existing home would have to look again.
 *
 * Calling sequence: view_declare (into the manifest), view_plan,
 * view_make (on disk), use, mounts_release. Threads: one.
 */
#ifndef SANDBOX_VIEW_H
#define SANDBOX_VIEW_H

#include "compiler.h"
#include "mounts.h"

struct execution;
struct policy;
struct manifest;
struct spec;

#define VIEW_EXEC_AT "/run/legato/exec" /* where the shim is */

/* Adds the views of `spec` to the manifest; their folders are below
 * `execution_path`, which need not exist. */
void view_declare(struct manifest *manifest, const struct spec *spec,
		  const struct policy *policy, const char *execution_path);

/* The mounts for the manifest's views; `shim` is the path of legato-exec.
 * 0 or an exit code. The manifest and the policy must outlive the plan. */
int view_plan(struct mounts *ret_mounts, const struct spec *spec,
	      const struct policy *policy, const struct manifest *manifest,
	      const char *execution_path, const char *shim) MUST_CHECK;

/* Makes the views' folders, and in them the mount points. 0 or an exit
 * code. */
int view_make(const struct execution *execution,
	      const struct manifest *manifest,
	      const struct mounts *mounts) MUST_CHECK;

#endif
