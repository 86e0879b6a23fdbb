/*
 * scratch.h - whether a folder can hold executions.
 *
 * It must be the user's, so that nobody else puts an execution of theirs in
 * the way, and its disk must have what an upper needs: flock and extended
 * attributes named user.*. Some network and FAT disks have not; a link to
 * another disk is fine.
 * Threads: any.
 */
#ifndef SANDBOX_SCRATCH_H
#define SANDBOX_SCRATCH_H

#include "compiler.h"

/* Whose it is, where it exists. 0 or an exit code. */
int scratch_check(const char *path) MUST_CHECK;

/* What its disk lacks, tried in the folder `dir_fd`; NULL if nothing. */
const char *scratch_lacks(int dir_fd) MUST_CHECK;

#endif
