/*
 * plan_run.h - carries a plan out on a real folder.
 *
 * Every step finds its place by openat2 beneath the folder and through no
 * link, looks again at what is there, and changes one entry by one rename or
 * unlink. What is not as the plan says, and not what the step would make of
 * it either, is left alone, told as "base moved", and counted as a conflict;
 * the other steps go on. Any other failure ends the run: it can be run again.
 *
 * Threads: one at a time per folder (apply.h has a lock).
 */
#ifndef TOOLS_DIFF_PLAN_RUN_H
#define TOOLS_DIFF_PLAN_RUN_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "layer.h"
#include "plan.h"
#include "sides.h"
#include "trouble.h"

struct plan_target {
	const struct layer *folder; /* borrowed */
	const struct sides *sides;  /* borrowed: where the sources are */
	int staging_fd;             /* for PLACE_STAGED; -1: there are none */
	/* The folder is the base itself: what is there must be the very file
	 * that was compared. Else only its kind counts. */
	bool in_place;
	/* What is replaced or deleted keeps a link NAME + suffix; or NULL. */
	const char *backup_suffix;
	struct trouble *trouble;
	size_t n_conflicts; /* counted up */
};

/* 0, or the -errno of the step that failed, which was told. */
int plan_run(struct plan_target *target, const struct plan *plan) MUST_CHECK;

/* What a step is made from, as an O_PATH descriptor that the caller owns, or
 * -errno. */
int plan_open_source(const struct sides *sides, int staging_fd,
		     const struct plan_step *step) MUST_CHECK;

/* Whether attributes of what lies there have their names as in an upper. */
bool plan_is_layer(enum change_place place);

#endif
