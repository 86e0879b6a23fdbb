#include "charge.h"

#include "sys.h"

/* What disks allocate at least; a larger one than the disk's makes a claim
 * larger than it need be, a smaller one an overshoot of less than a block. */
#define ALLOCATION_BYTES INT64_C(4096)

static struct quota *quota_of(const struct view *view)
{
	return &view->fs->quota;
}

static void add_blocks(struct node *node, int64_t blocks, int64_t files)
{
	struct quota *quota = quota_of(node->view);

	quota_add(quota, blocks * CHARGE_BLOCK_BYTES, files);
	if (node->nameless) {
		quota_add_nameless(quota, blocks * CHARGE_BLOCK_BYTES, files);
	}
}

void charge_made(struct view *view, const struct stat *st)
{
	quota_add(quota_of(view), (int64_t)st->st_blocks * CHARGE_BLOCK_BYTES,
		  1);
}

void charge_copied_locked(struct node *node, const struct stat *st)
{
	node->blocks = (uint64_t)st->st_blocks;
	charge_made(node->view, st);
	/* Of one that has no name left the copy has none either. */
	if (node->removed) {
		charge_unlinked_locked(node);
	}
}

void charge_settle_locked(struct node *node, const struct stat *st)
{
	int64_t more = (int64_t)st->st_blocks - (int64_t)node->blocks;

	if (more) {
		node->blocks = (uint64_t)st->st_blocks;
		add_blocks(node, more, 0);
	}
}

void charge_settle_fd(struct node *node, int fd)
{
	struct stat st;

	if (!quota_counts(quota_of(node->view))) {
		return;
	}
	lock_take(&node->lock);
	/* What can't be looked at now is settled the next time. */
	if (!sys_fstat(fd, &st)) {
		charge_settle_locked(node, &st);
	}
	lock_drop(&node->lock);
}

void charge_settle_dir_locked(struct node *dir, int upper_fd)
{
	struct stat st;

	if (quota_counts(quota_of(dir->view)) && !sys_fstat(upper_fd, &st)) {
		charge_settle_locked(dir, &st);
	}
}

void charge_unlinked_locked(struct node *node)
{
	if (!node->nameless && node_in_upper(node)) {
		node->nameless = true;
		quota_add_nameless(quota_of(node->view),
				   (int64_t)node->blocks * CHARGE_BLOCK_BYTES,
				   1);
	}
}

void charge_gone(struct view *view, const struct stat *st)
{
	quota_add(quota_of(view), -(int64_t)st->st_blocks * CHARGE_BLOCK_BYTES,
		  -1);
}

void charge_named_locked(struct node *node)
{
	if (node->nameless) {
		node->nameless = false;
		quota_add_nameless(quota_of(node->view),
				   -(int64_t)node->blocks * CHARGE_BLOCK_BYTES,
				   -1);
	}
}

void charge_forget(struct node *node)
{
	if (node->nameless) {
		add_blocks(node, -(int64_t)node->blocks, -1);
	}
}

void charge_entries(struct view *view, int64_t count)
{
	quota_add(quota_of(view), 0, count);
}

void charge_link_entry(const struct view *view, const char *name, int sign)
{
	struct stat st;

	if (quota_counts(quota_of(view)) &&
	    !sys_fstatat(view->links->fd, name, &st)) {
		quota_add(quota_of(view),
			  sign * (int64_t)st.st_blocks * CHARGE_BLOCK_BYTES,
			  sign);
	}
}

void charge_links_folder(const struct view *view)
{
	struct stat st;

	if (quota_counts(quota_of(view)) && !sys_fstat(view->links->fd, &st)) {
		/* relaxed: whoever exchanges last has looked last, or the next
		 * look mends it */
		int64_t before = atomic_exchange_explicit(
			&((struct view *)view)->links_blocks, st.st_blocks,
			memory_order_relaxed);

		quota_add(quota_of(view),
			  ((int64_t)st.st_blocks - before) * CHARGE_BLOCK_BYTES,
			  0);
	}
}

static off_t round_down(off_t off)
{
	return off / ALLOCATION_BYTES * ALLOCATION_BYTES;
}

static off_t round_up(off_t off)
{
	return round_down(off + ALLOCATION_BYTES - 1);
}

/*
 * How far from `off`, at most to `end`, the file can have blocks when it takes
 * no more than *room bytes. *room is what is left.
 */
static off_t reach(int fd, off_t off, off_t end, int64_t *room)
{
	const off_t last = round_up(end);
	off_t at = round_down(off);

	while (at < last) {
		off_t start;
		off_t stop;

		if (sys_next_extent(fd, at, &start, &stop) || start >= last) {
			start = last;
			stop = last;
		}
		start = round_down(start);
		if (start > at && start - at > *room) {
			at += round_down(*room);
			*room -= round_down(*room);
			return at < off ? off : at < end ? at : end;
		}
		*room -= start > at ? start - at : 0;
		at = round_up(stop);
	}
	return end;
}

static int64_t most_for(off_t off, off_t size)
{
	return round_up(off + size) - round_down(off);
}

int charge_claim_write(struct claim *claim, struct node *node, int fd,
		       off_t off, size_t *size)
{
	struct quota *quota = quota_of(node->view);
	int error = claim_take(claim, quota, most_for(off, (off_t)*size), 0);
	int64_t room;
	int64_t left;
	off_t end;

	if (error != -ENOSPC) {
		return error;
	}
	room = quota_room(quota);
	left = room;
	end = reach(fd, off, off + (off_t)*size, &left);
	if (end <= off) {
		return -ENOSPC;
	}
	error = claim_take(claim, quota, room - left, 0);
	if (!error) {
		*size = (size_t)(end - off);
	}
	return error;
}

int charge_claim_range(struct claim *claim, struct node *node, int fd,
		       off_t off, off_t size)
{
	struct quota *quota = quota_of(node->view);
	int error = claim_take(claim, quota, most_for(off, size), 0);
	int64_t room;
	int64_t left;

	if (error != -ENOSPC) {
		return error;
	}
	room = quota_room(quota);
	left = room;
	return reach(fd, off, off + size, &left) < off + size
		       ? -ENOSPC
		       : claim_take(claim, quota, room - left, 0);
}
