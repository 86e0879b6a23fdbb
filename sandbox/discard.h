/*
 * discard.h - throwing executions away: the verbs discard and sweep.
 *
 * A large tree takes a while: its folder is renamed, which is what counts, and
 * a child removes it. Should that be killed, the next sweep goes on.
 * Threads: none may run beside.
 */
#ifndef SANDBOX_DISCARD_H
#define SANDBOX_DISCARD_H

#include "compiler.h"

struct execution;

/* The caller holds the lock, and releases `execution` afterwards. 0 or -errno:
 * -EBUSY while something is mounted in it. */
int discard_in_background(struct execution *execution) MUST_CHECK;

#endif
