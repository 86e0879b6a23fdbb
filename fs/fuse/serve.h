/*
 * serve.h - serving views over one connection until told to stop.
 */
#ifndef FS_FUSE_SERVE_H
#define FS_FUSE_SERVE_H

#include <stdbool.h>

#include "attach.h"
#include "execution.h"
#include "ids.h"
#include "view.h"

struct serve_options {
	/* Adds the views to a fresh `fs`. 0, or -errno with the reason on
	 * stderr. */
	int (*add_views)(void *data, struct fs *fs);
	void *views_data;
	int execution_fd; /* its folder, where a journal is kept; -1: none */
	bool no_journal;
	/* Gives up what serving does not take (confine.h), and leaves the
	 * unmounting to a keeper. */
	bool confined;
	const char *mount_point; /* absolute */
	bool single;             /* the one view is the mount's root */
	struct attach_options attach;
	struct ids ids;
	int control_fd; /* see fs/README.md; -1 for none */
	bool ask_open;  /* see fuse/README.md, "Opens" */
	/* As fs->blocks_from_bytes; -1: the default. */
	off_t blocks_from_bytes;
	/* In its folder requests are counted (stats_page.h); NULL: nowhere. */
	const struct execution *execution;
	/* Called once the mount is there, with its /dev/fuse descriptor. 0 or
	 * -errno, which ends it. */
	int (*ready)(void *data, int fuse_fd);
	void *ready_data;
};

/* A size in bytes for blocks_from_bytes; -EINVAL, told on stderr. */
int serve_parse_blocks_from(const char *text, off_t *ret_bytes) MUST_CHECK;

/*
 * Mounts, serves, unmounts. The calling thread must be the process's only
 * one. 0 after a clean end; -errno when it could not start, with the reason
 * on stderr.
 */
int serve(const struct serve_options *options) MUST_CHECK;

#endif
