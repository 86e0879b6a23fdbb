#include "copyup_data.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "charge.h"
#include "elsewhere.h"
#include "fdio.h"
#include "partial.h"
#include "partial_format.h"
#include "sys.h"

/* Longer than the finest step of a disk's times, so that a change after the
 * copy-up shows in them; and a file that is being written is often written
 * again. */
#define QUIET_SECONDS 2

/* A file, its map, and what their names take. */
#define PARTIAL_CLAIM_BYTES (2 * QUOTA_ENTRY_BYTES)

static bool is_quiet(const struct stat *st)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return st->st_mtim.tv_sec + QUIET_SECONDS < now.tv_sec;
}

static bool wants_blocks(const struct copy *copy)
{
	const struct view *view = copy->node->view;
	off_t from = view->fs->blocks_from_bytes;
	off_t size = copy->st.st_size;

	if (copy->truncate && copy->size < size) {
		size = copy->size;
	}
	return S_ISREG(copy->st.st_mode) && view->by_blocks && from &&
	       size >= from && copy->st.st_size <= PARTIAL_MAX_BYTES &&
	       !copy->node->data_at &&
	       /* relaxed: a hint */
	       !atomic_load_explicit(&view->no_blocks, memory_order_relaxed) &&
	       (!copy->path || strlen(copy->path) <= PARTIAL_PATH_MAX) &&
	       is_quiet(&copy->st) && blocks_may_hold(view->fs);
}

/* As much as the source takes of its disk, but no more than is copied. */
static int64_t whole_bytes(const struct copy *copy)
{
	int64_t bytes = (int64_t)copy->st.st_blocks * CHARGE_BLOCK_BYTES;

	return copy->truncate && copy->size < bytes ? copy->size : bytes;
}

int copyup_data_claim(struct copy *copy, struct claim *claim)
{
	struct quota *quota = &copy->node->view->fs->quota;

	copy->by_blocks = wants_blocks(copy);
	if (copy->by_blocks) {
		/* It is at its old size until it is truncated. */
		copy->truncate = false;
		return claim_take(claim, quota, PARTIAL_CLAIM_BYTES, 2);
	}
	return claim_take(claim, quota, whole_bytes(copy) + QUOTA_ENTRY_BYTES,
			  1);
}

/* Opens the source for reading. */
static int open_source(const struct copy *copy)
{
	const struct node *node = copy->node;
	int fd;

	if (node->data_at) {
		return elsewhere_open(node->view, node->data_at);
	}
	fd = place_open(&copy->from, O_RDONLY | O_NOATIME | O_NONBLOCK);
	return fd == -EPERM ? place_open(&copy->from, O_RDONLY | O_NONBLOCK)
			    : fd;
}

static int make_whole(const struct copy *copy, int from)
{
	off_t size = copy->st.st_size;
	int error;

	if (!copy->truncate) {
		return fdio_copy(copy->fd, from, size);
	}
	error = fdio_copy(copy->fd, from,
			  copy->size < size ? copy->size : size);
	return error ? error : sys_ftruncate(copy->fd, copy->size);
}

/* Whether the disk shared the blocks. They count as the copy's. */
static bool share(const struct copy *copy, int from)
{
	AUTO_CLAIM claim = CLAIM_INIT;

	return !claim_take(&claim, &copy->node->view->fs->quota,
			   whole_bytes(copy), 0) &&
	       !sys_clone(copy->fd, from);
}

/* Whether the file is what it was when the copy-up began. */
static int check_source(const struct copy *copy, int from)
{
	struct stat st;
	int error = sys_fstat(from, &st);

	return error ? error : origin_matches(&copy->origin, &st) ? 0 : -EAGAIN;
}

/* A file without a tag is whole for whoever reads the upper. */
static int write_tag(struct copy *copy)
{
	int error = partial_new_tag(&copy->origin.partial_tag);

	return error ? error
		     : origin_write(copy->to_fd, copy->temp, &copy->origin);
}

static int make_partial(struct copy *copy, int from)
{
	struct blocks_source source = {
		.origin = copy->origin,
		.disk_blocks = (uint64_t)copy->st.st_blocks,
		.layer = copy->layer,
		.path = copy->path,
	};
	struct stat st;
	int error = sys_ftruncate(copy->fd, copy->st.st_size);

	error = error ? error : sys_fstat(copy->fd, &st);
	if (error) {
		return error;
	}
	source.fd = sys_reopen(from, O_RDONLY | O_NONBLOCK | O_NOATIME);
	if (source.fd == -EPERM) {
		source.fd = sys_reopen(from, O_RDONLY | O_NONBLOCK);
	}
	return source.fd < 0 ? source.fd
			     : blocks_new(copy->node->view, &source, st.st_ino,
					  &copy->blocks);
}

static int make_by_blocks(struct copy *copy, int from)
{
	int error = check_source(copy, from);

	if (error || share(copy, from)) {
		return error;
	}
	error = write_tag(copy);
	error = error ? error : make_partial(copy, from);
	if (error == -EOPNOTSUPP || error == -EPERM) {
		/* relaxed: a hint */
		atomic_store_explicit(&copy->node->view->no_blocks, true,
				      memory_order_relaxed);
		return -EAGAIN;
	}
	return error;
}

int copyup_data_make(struct copy *copy)
{
	AUTO_FD from = open_source(copy);

	if (from < 0) {
		return from;
	}
	copy->fd = sys_openat(copy->to_fd, copy->temp,
			      O_RDWR | O_CREAT | O_EXCL, 0600);
	if (copy->fd < 0) {
		return copy->fd;
	}
	return copy->by_blocks ? make_by_blocks(copy, from)
			       : make_whole(copy, from);
}
