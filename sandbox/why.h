/*
 * why.h - `why PATH`: what a run would show there, and which entry or rule
 * says so. Nothing is made or started.
 */
#ifndef SANDBOX_WHY_H
#define SANDBOX_WHY_H

#include <stdbool.h>
#include <stdio.h>

struct manifest;
struct mounts;
struct policy;
struct spec;

/* Explains each of the spec's command's words as a path. The plan is that of a
 * run by the same spec. */
void why_print(FILE *out, const struct spec *spec, const struct policy *policy,
	       const struct manifest *manifest, const struct mounts *mounts,
	       bool json);

#endif
