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

struct env;
struct mounts;
struct programs;
struct spec;

#define PLAN_EXECUTION "EXECUTION"

void plan_print(FILE *out, const struct spec *spec,
		const struct programs *programs, const struct mounts *mounts,
		const struct env *env);

#endif
