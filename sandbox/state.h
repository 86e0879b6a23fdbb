/*
 * state.h - one execution as the listing verbs show it.
 */
#ifndef SANDBOX_STATE_H
#define SANDBOX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "execution.h"
#include "manifest.h"

enum state {
	STATE_LIVING, /* somebody holds the lock */
	STATE_ENDED,  /* and it was recorded */
	STATE_KILLED, /* nobody holds it, and no end was recorded */
};

struct entry {
	struct execution execution;
	struct manifest manifest; /* empty where it can't be read */
	int manifest_error;       /* why */
	enum state state;
};

/* Opens the execution `id` stands for (execution_open). 0 or -errno. */
int entry_open(struct entry *ret_entry, const char *scratch_dir,
	       const char *id) MUST_CHECK;
void entry_release(struct entry *entry);

const char *state_name(enum state state);

/* When it ended, or was made if that is not known: since 1970. */
int64_t entry_time_ns(const struct entry *entry);

/* What it holds on the disk. Walks its changes, never a base. */
int64_t entry_size_bytes(const struct entry *entry);

int64_t state_now_ns(void);

/* The failure of execution_open as a line; returns EXIT_TROUBLE. */
int entry_failure(const char *id, int error);

#endif
