/*
 * doctor.h - what this system has of what a sandbox needs or is faster with.
 *
 * Each probe tries the thing itself where that harms nothing, rather than
 * guess from versions. A finding is FINDING_FAILS only if no run can work;
 * what a system merely lacks is FINDING_COSTS, with what that costs.
 * Threads: one.
 */
#ifndef SANDBOX_DOCTOR_H
#define SANDBOX_DOCTOR_H

#include "buf.h"
#include "compiler.h"

enum finding_state {
	FINDING_OK,
	FINDING_COSTS,
	FINDING_FAILS,
};

struct finding {
	enum finding_state state;
	struct buf text; /* what was found, and what that costs */
	struct buf fix;  /* what to do; "": nothing, or nothing is to be done */
};

struct doctor_probe {
	const char *name;
	void (*probe)(struct finding *finding, const char *scratch_dir);
};

extern const struct doctor_probe doctor_probes[];
extern const size_t doctor_n_probes;

/* Why user namespaces are refused, by the system's settings; pure but for
 * `root`, the folder that holds them ("" outside of tests). */
void doctor_explain_namespaces(struct finding *finding, const char *root);

/* The first number of the system call uname's release as MAJOR * 1000 +
 * MINOR. */
int doctor_kernel_version(const char *release);

#endif
