/*
 * plan.h - `run --dry-run`: what a run would do, for a person to read.
 *
 * The last paragraph is the exact call of bwrap, quoted for a shell. The
 * values of the caller's variables are not printed; they stand there as
 * "$NAME". What only a real run knows is in capitals: EXECUTION and the
 * numbers of descriptors.
 */
#ifndef SANDBOX_PLAN_H
#define SANDBOX_PLAN_H

#include <stdio.h>

#include "mounts.h"

struct env;
struct manifest;
struct programs;
struct spec;
struct strv;

#define PLAN_EXECUTION "EXECUTION"

struct plan {
	const struct spec *spec;
	const struct programs *programs;
	const struct manifest *manifest;
	const struct mounts *mounts;
	const struct env *env;
};

void plan_print(FILE *out, const struct plan *plan);
/* The same for a program; of variables only the names. */
void plan_print_json(FILE *out, const struct plan *plan);

/* For both: the arguments of bwrap, and what a mount's kind is called. */
void plan_add_call(const struct plan *plan, struct strv *args);
const char *plan_kind_name(enum mount_kind kind);

#endif
