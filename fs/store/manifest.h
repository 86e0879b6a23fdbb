/*
 * manifest.h - execution.json: what an execution is and where its views are.
 *
 * Written by the launcher (and by `legato-fs mount`), read by every tool; each
 * write replaces the file atomically. Format 1 is described in README.md; a
 * file with another format number is refused with -EPROTONOSUPPORT, never
 * changed.
 *
 * Calling sequence: manifest_init or manifest_read, use, manifest_release.
 * All strings are heap copies owned by the manifest. Threads: one at a time.
 */
#ifndef FS_STORE_MANIFEST_H
#define FS_STORE_MANIFEST_H

#include <stddef.h>
#include <stdint.h>

#include "compiler.h"
#include "quota_limits.h"

#define MANIFEST_FILE   "execution.json"
#define MANIFEST_FORMAT 1

enum manifest_view_kind {
	MANIFEST_OVERLAY, /* a throwaway layer over a real folder */
	MANIFEST_SCRATCH, /* starts empty; its base holds mount points only */
};

struct manifest_view {
	char *name; /* one component; the folder below views/ and the mount */
	enum manifest_view_kind kind;
	char *base;     /* absolute path, never written */
	char *mount_at; /* where the sandbox shows it; NULL when it does not */
	/* What of the base it must never show: paths beneath the base
	 * (path_relative_valid), NULL-terminated; NULL without any. */
	char **masks;
};

struct manifest {
	char *id;
	char *name;                /* friendly name, NULL without */
	char *role;                /* "review", ...; NULL without */
	char *checkout;            /* absolute path, NULL without */
	char **command;            /* NULL-terminated, NULL without */
	int64_t created_ns;        /* wall clock, since 1970 */
	int64_t ended_ns;          /* 0 while it runs, or when it was killed */
	int exit_code;             /* valid when ended_ns is not 0 */
	struct quota_limits quota; /* at the start; see quota_page.h */
	struct manifest_view *views;
	size_t n_views;
};

void manifest_init(struct manifest *manifest);
void manifest_release(struct manifest *manifest);

/* Adds a view, copying the strings. 0 or -ENOMEM. */
int manifest_add_view(struct manifest *manifest, const char *name,
		      enum manifest_view_kind kind, const char *base,
		      const char *mount_at) MUST_CHECK;

/* Adds a mask to the view called `view`. 0, -ENOENT (no such view), -EINVAL
 * (not a path beneath the base), -ENOMEM. */
int manifest_add_mask(struct manifest *manifest, const char *view,
		      const char *path) MUST_CHECK;

/* The view called `name`, or NULL; owned by the manifest. */
const struct manifest_view *manifest_view(const struct manifest *manifest,
					  const char *name);

/* Reads execution.json in the folder. -ENOENT, -EBADMSG for broken content,
 * -EPROTONOSUPPORT for another format, -ENOMEM, ... */
int manifest_read(struct manifest *ret_manifest, int dirfd) MUST_CHECK;

/* Replaces execution.json in the folder, atomically and durably. */
int manifest_write(const struct manifest *manifest, int dirfd) MUST_CHECK;

/* The same without a wait for the disk; manifest_sync, later, waits. 0 or
 * -errno. */
int manifest_write_for_now(const struct manifest *manifest,
			   int dirfd) MUST_CHECK;
int manifest_sync(int dirfd) MUST_CHECK;

#endif
