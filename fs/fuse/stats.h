/*
 * stats.h - counting requests and how long each takes, where they come in from
 * the kernel and where their answers go out, so that no handler knows of it.
 *
 * Threads: as libfuse's workers, each of which serves one request at a time.
 */
#ifndef FS_FUSE_STATS_H
#define FS_FUSE_STATS_H

#include <fuse_lowlevel.h>

#include "compiler.h"
#include "stats_page.h"

/*
 * Has the session read and write through us; `fd` is its /dev/fuse descriptor,
 * which it owns. `page` outlives the session; NULL: nothing is counted.
 * 0 or -errno.
 */
int stats_attach(struct fuse_session *session, int fd,
		 struct stats_page *page) MUST_CHECK;

#endif
