/*
 * execution.h - the folder of one execution: make, find, lock, throw away.
 *
 * Layout (README.md has the whole): <scratch_dir>/<id>/, mode 0700, with
 * `lock`, `execution.json`, `views/<view>/{upper,work,base}`, `mnt`, `log`.
 *
 * Liveness is the lock on `lock` (flock), never a pid: whoever holds a
 * duplicate of the descriptor that took it is an owner. The launcher takes it,
 * the daemon inherits it, the agent never has it.
 *
 * An id is `YYYYMMDD-HHMMSS-xxxx`: the time in UTC, two letters for the
 * fraction of the second, two random ones. Ids sort by time, and a person can
 * type one or a unique prefix of it.
 *
 * Threads: one at a time per struct.
 */
#ifndef FS_STORE_EXECUTION_H
#define FS_STORE_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

#define EXECUTION_LOCK_FILE "lock"
#define EXECUTION_LOG_FILE  "log"
#define EXECUTION_MOUNT_DIR "mnt"
#define EXECUTION_VIEWS_DIR "views"

struct execution {
	char *id;    /* owned */
	char *path;  /* owned, absolute: <scratch_dir>/<id> */
	int dir_fd;  /* owned */
	int lock_fd; /* owned; -1 unless this process took the lock */
};

#define EXECUTION_INIT                                                         \
	{                                                                      \
		.dir_fd = -1, .lock_fd = -1                                    \
	}

/* $XDG_STATE_HOME/legato/sandbox, or ~/.local/state/legato/sandbox. Caller
 * frees. -ENOENT when neither variable is set. */
int execution_default_scratch(char **ret_path) MUST_CHECK;

/*
 * Makes a new folder in `scratch_dir` (made too, 0700, where missing) and
 * takes its lock. -EACCES, -ENOSPC, ...; nothing is left behind then.
 */
int execution_create(struct execution *ret_execution,
		     const char *scratch_dir) MUST_CHECK;

/*
 * Opens the execution whose id starts with `prefix`, or whose friendly name
 * is `prefix`, without its lock; NULL means the newest. -ENOENT, -ENOTUNIQ.
 */
int execution_open(struct execution *ret_execution, const char *scratch_dir,
		   const char *prefix) MUST_CHECK;

/* Takes the lock without waiting. -EWOULDBLOCK while somebody lives. */
int execution_lock(struct execution *execution) MUST_CHECK;

/* Whether an owner lives. False when the lock file is gone. */
bool execution_is_living(const struct execution *execution);

/* Closes the descriptors (so drops the lock) and frees. */
void execution_release(struct execution *execution);

/*
 * Removes the folder and all beneath it (remove.h). The caller holds the lock,
 * which is the last file to go. -EBUSY, with nothing touched, while something
 * is mounted beneath.
 */
int execution_remove(struct execution *execution) MUST_CHECK;

/*
 * Throwing away in two steps, for who has no time: execution_set_aside renames
 * the folder, so that its id means nothing any more, and execution_remove then
 * empties it, now or (a sweep) later. The caller of both holds the lock.
 * -EBUSY, with nothing done, while something is mounted beneath.
 */
int execution_set_aside(struct execution *execution) MUST_CHECK;

/* As execution_ids and execution_open, for those that were set aside; takes
 * whole names only. */
int execution_ids_aside(const char *scratch_dir, char ***ret_names,
			size_t *ret_count) MUST_CHECK;
int execution_open_aside(struct execution *ret_execution,
			 const char *scratch_dir, const char *name) MUST_CHECK;

/* The ids in `scratch_dir`, oldest first; each and the array are the
 * caller's to free (execution_ids_free). A missing folder has none. */
int execution_ids(const char *scratch_dir, char ***ret_ids,
		  size_t *ret_count) MUST_CHECK;
void execution_ids_free(char **ids, size_t count);

/* Makes views/<view>/{upper,work} and, where `with_base`, base; 0700. */
int execution_make_view(const struct execution *execution, const char *view,
			bool with_base) MUST_CHECK;

#endif
