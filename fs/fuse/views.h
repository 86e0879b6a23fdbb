/*
 * views.h - the views of an execution, from its folder.
 */
#ifndef FS_FUSE_VIEWS_H
#define FS_FUSE_VIEWS_H

#include "execution.h"
#include "view.h"

/* For serve_options.add_views; `data` is a const struct execution *. */
int views_add(void *data, struct fs *fs) MUST_CHECK;

/* Sends the log to the folder's from here on. 0, or -errno with the reason on
 * stderr. */
int views_open_log(const struct execution *execution, bool debug) MUST_CHECK;

#endif
