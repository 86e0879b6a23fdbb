/*
 * ops.h - the kernel's requests, decoded, and one reply for each.
 *
 * A handler finds its node by number, calls one op_* of core, which returns 0
 * or -errno, and replies exactly once. No lock is held over a reply. The
 * lookup that a reply hands to the kernel is counted before the reply is sent,
 * and given back when the kernel did not take it (libfuse: -ENOENT from
 * fuse_reply_entry and its kin means that the request was interrupted).
 *
 * Threads: libfuse's workers; everything here may run in any of them.
 */
#ifndef FS_FUSE_OPS_H
#define FS_FUSE_OPS_H

#include <fuse_lowlevel.h>

#include "handles.h"
#include "ids.h"
#include "lookup.h"
#include "view.h"

/* The session's user data. */
struct server {
	struct fs fs;
	struct handles dirs;
	struct ids ids;
	bool ask_open; /* the kernel asks for each open of a file */
	/* Of all node ids: a file handle of an earlier mount, whose ids are
	 * other files here, is stale. */
	uint32_t generation;
};

/* The parts of the table, by file. */
void ops_add_names(struct fuse_lowlevel_ops *ops); /* ops_names.c */
void ops_add_dir(struct fuse_lowlevel_ops *ops);   /* ops_dir.c */
void ops_add_file(struct fuse_lowlevel_ops *ops);  /* ops_file.c */
void ops_add_attr(struct fuse_lowlevel_ops *ops);  /* ops_attr.c */

/* For how long the kernel may believe an answer, in seconds: only this mount
 * can change it, or the base may change under us ("within a second"). */
double ops_timeout(bool stable);

struct server *ops_server(fuse_req_t req);
struct caller ops_caller(fuse_req_t req);

/* The node of the request, with a reference; NULL: replied with ESTALE. */
struct node *ops_node(fuse_req_t req, fuse_ino_t ino);
void ops_put(fuse_req_t req, struct node *node);

/* Replies with a core result: 0 or -errno. */
void ops_reply(fuse_req_t req, int error);

/* Turns the disk's stat into what programs see. */
void ops_show_stat(fuse_req_t req, struct stat *st);

/* Fills in what the kernel is told about a node. */
void ops_fill_entry(fuse_req_t req, const struct entry *entry,
		    struct fuse_entry_param *param);

/* Replies with the entry, or with the error if there is one; takes over the
 * entry's reference. */
void ops_reply_entry(fuse_req_t req, int error, struct entry *entry);

#endif
