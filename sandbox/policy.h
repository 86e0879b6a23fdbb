/*
 * policy.h - all that decides what a run sees: the tables, the rules of what is
 * hidden, what is shown, and what of the checkout is masked.
 *
 * Calling sequence: policy_init, use, policy_release. The spec must outlive
 * it. Threads: one.
 */
#ifndef SANDBOX_POLICY_H
#define SANDBOX_POLICY_H

#include "compiler.h"
#include "expand.h"
#include "hidden.h"
#include "seen.h"
#include "strv.h"
#include "tables.h"

struct spec;

struct policy {
	struct tables tables;
	struct expand expand;
	struct hidden hidden;
	struct seen seen;
	struct strv masks; /* absolute places in the checkout */
	char *git;         /* the repository, where it lies outside; or NULL */
	struct strv git_masks;
	/* private */
	char *cwd;
};

/* 0, or prints and returns EXIT_NOT_SET_UP. Release in any case. */
int policy_init(struct policy *ret_policy, const struct spec *spec) MUST_CHECK;
void policy_release(struct policy *policy);

#endif
