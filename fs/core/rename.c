#include "rename.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "charge.h"
#include "copyup.h"
#include "dirlist.h"
#include "hiding.h"
#include "log.h"
#include "making.h"
#include "masks.h"
#include "merge.h"
#include "record.h"
#include "redirect.h"
#include "subdirs.h"
#include "sys.h"
#include "unlink.h"
#include "whiteout.h"

/* One end of a rename. */
struct end {
	struct node *dir;
	const char *name;
	struct fdref *upper; /* of dir */
	struct found found;
	struct entry entry; /* valid with node */
	struct node *node;  /* what is there; NULL: nothing */
	bool lower_has;     /* leaving the name takes a whiteout */
	char *new_name;     /* for the other end's node */
};

struct renaming {
	struct view *view;
	struct end from;
	struct end to;
	unsigned int flags;
	const struct caller *caller;
};

static struct nodes *nodes_of(const struct renaming *renaming)
{
	return &renaming->view->fs->nodes;
}

static bool is_exchange(const struct renaming *renaming)
{
	return renaming->flags & RENAME_EXCHANGE;
}

/* No lock is held any more. */
static void end_release(struct renaming *renaming, struct end *end)
{
	if (end->node) {
		lookup_finish(&end->entry);
	}
	found_release(&end->found);
	fdref_put(end->upper);
	node_put(nodes_of(renaming), end->node);
	free(end->new_name);
}

/* Fills in what is at the end now. Tree lock held exclusively. */
static int end_load(struct end *end, const char *other_name)
{
	int lower_has;
	int error = lookup_layers(end->dir, end->name, &end->found);

	if (!error) {
		error = lookup_intern(end->dir, end->name, &end->found,
				      &end->entry);
		end->node = error ? NULL : end->entry.node;
	}
	if (error && error != -ENOENT) {
		return error;
	}
	if (end->dir->removed) {
		return -ENOENT;
	}
	lower_has = lookup_lower_has(end->dir, end->name);
	if (lower_has < 0) {
		return lower_has;
	}
	end->lower_has = lower_has;
	end->new_name = strdup(other_name);
	if (!end->new_name) {
		return -ENOMEM;
	}
	return view_dir_fd(end->dir, VIEW_SLOT_UPPER, &end->upper);
}

static bool is_dir(const struct end *end)
{
	return end->node && node_is_dir(end->node);
}

static bool is_below(const struct node *node, const struct node *top)
{
	while (node && node != top) {
		node = node->parent;
	}
	return node;
}

/* The directory rules of rename(2). */
static int check_kinds(const struct renaming *renaming)
{
	const struct end *from = &renaming->from;
	const struct end *to = &renaming->to;

	if (is_dir(from) && is_below(to->dir, from->node)) {
		return -EINVAL;
	}
	if (is_exchange(renaming)) {
		return is_dir(to) && is_below(from->dir, to->node) ? -EINVAL
								   : 0;
	}
	if (!to->node) {
		return 0;
	}
	if (is_dir(from) && !is_dir(to)) {
		return -ENOTDIR;
	}
	if (!is_dir(from) && is_dir(to)) {
		return -EISDIR;
	}
	if (is_dir(to)) {
		int empty = dirlist_is_empty(to->node);

		return empty < 0 ? empty : empty ? 0 : -ENOTEMPTY;
	}
	return 0;
}

static int check(const struct renaming *renaming)
{
	const struct end *from = &renaming->from;
	const struct end *to = &renaming->to;

	if (!from->node || (is_exchange(renaming) && !to->node)) {
		return -ENOENT;
	}
	if (to->node && renaming->flags & RENAME_NOREPLACE) {
		return -EEXIST;
	}
	if (!to->node) {
		int error = masks_check_new(to->dir, to->name);

		if (error) {
			return error;
		}
	}
	if (!from->found.has_upper_name ||
	    (is_exchange(renaming) && !to->found.has_upper_name)) {
		return -EAGAIN; /* it was replaced since its copy-up */
	}
	return check_kinds(renaming);
}

/*
 * Readies a directory for its new place. What it has in the base stays where
 * it is, and a redirect says so: a rename costs the same whatever the size.
 * One that has nothing there must not merge with what the base has, or may
 * get, under the new name.
 */
static int ready_dir(const struct end *from, const struct end *to)
{
	const struct lowers *lowers = from->node->lowers;
	int error = 0;

	if (!is_dir(from)) {
		return 0;
	}
	if (lowers) {
		error = redirect_write(from->upper->fd, from->name,
				       merge_shown_path(lowers));
	} else if (to->dir->lowers) {
		error = whiteout_set_opaque(from->upper->fd, from->name);
	}
	/* A disk without attributes can't hold it: programs then copy. */
	return error == -EOPNOTSUPP ? -EXDEV : error;
}

static int exchange(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error = ready_dir(from, to);

	error = error ? error : ready_dir(to, from);
	return error ? error
		     : sys_renameat2(from->upper->fd, from->name, to->upper->fd,
				     to->name, RENAME_EXCHANGE);
}

/* Moves with a whiteout left behind, on a disk that can't do it in one step.
 * The whiteout is made before, so that what is left to do needs no space. */
static int move_then_whiteout(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int work_fd = renaming->view->work_fd;
	char temp[VIEW_TEMP_BYTES];
	int error;

	view_temp_name(renaming->view, temp);
	error = hiding_prepare(renaming->view, temp, from->upper->fd);
	if (error) {
		return error;
	}
	error = sys_renameat2(from->upper->fd, from->name, to->upper->fd,
			      to->name, 0);
	if (!error) {
		error = sys_renameat2(work_fd, temp, from->upper->fd,
				      from->name, 0);
		if (error && sys_renameat2(to->upper->fd, to->name,
					   from->upper->fd, from->name, 0)) {
			log_error("rename half done: '%s'", from->name);
		}
	}
	if (error) {
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(work_fd, temp, 0);
	}
	return error;
}

/* One rename, over nothing, a file, or a really empty directory. */
static int move_plainly(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error =
		sys_renameat2(from->upper->fd, from->name, to->upper->fd,
			      to->name, from->lower_has ? RENAME_WHITEOUT : 0);

	return from->lower_has && error == -EINVAL
		       ? move_then_whiteout(renaming)
		       : error;
}

/* A directory takes the place of a whiteout, which comes to the old name in
 * the same step. Where it is not needed there, it hides nothing. */
static int swap_with_whiteout(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error = sys_renameat2(from->upper->fd, from->name, to->upper->fd,
				  to->name, RENAME_EXCHANGE);

	if (!error && !from->lower_has &&
	    sys_unlinkat(from->upper->fd, from->name, 0)) {
		log_info("whiteout left over at '%s'", from->name);
	}
	return error;
}

static int move(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	struct stat there;
	int error = ready_dir(from, to);

	if (error || !is_dir(from)) {
		return error ? error : move_plainly(renaming);
	}
	error = sys_fstatat(to->upper->fd, to->name, &there);
	if (error) {
		return error == -ENOENT ? move_plainly(renaming) : error;
	}
	if (!S_ISDIR(there.st_mode)) {
		return swap_with_whiteout(renaming);
	}
	error = unlink_whiteouts(renaming->view, to->upper->fd, to->name);
	if (error) {
		return error;
	}
	/* Opaque by now; should the move fail, it must not merge again. */
	view_drop_lowers(to->node);
	return move_plainly(renaming);
}

static void move_node(struct renaming *renaming, struct end *end,
		      struct end *other)
{
	struct node *node = end->node;

	if (node_is_dir(node)) {
		subdirs_changed(end->dir, -1);
		subdirs_changed(other->dir, 1);
	}
	lock_take(&node->lock);
	node_move_nofail(nodes_of(renaming), node, other->dir,
			 TAKE_PTR(end->new_name));
	lock_drop(&node->lock);
}

/* For the count of entries: what the disk does not tell counts as none. */
static bool has_whiteout(const struct end *end)
{
	return !end->node && quota_counts(&end->dir->view->fs->quota) &&
	       making_has_whiteout(end->dir->view, end->upper->fd, end->name) >
		       0;
}

/* The name, or an attribute, took space in the directory. */
static void settle(struct node *dir)
{
	AUTO_FDREF *upper = NULL;

	if (node_is_dir(dir) && !view_dir_fd(dir, VIEW_SLOT_UPPER, &upper)) {
		charge_settle_dir_locked(dir, upper->fd);
	}
}

/* Replaces what is at the target. */
static int replace(struct renaming *renaming)
{
	struct end *to = &renaming->to;
	struct node *replaced = NULL;
	bool over_whiteout;
	int error = to->node ? unlink_prepare(to->dir, to->name, &to->found,
					      &replaced)
			     : 0;

	if (error) {
		return error;
	}
	over_whiteout = has_whiteout(to);
	error = move(renaming);
	if (!error) {
		charge_entries(renaming->view,
			       renaming->from.lower_has - over_whiteout);
	}
	if (to->node) {
		unlink_finish(renaming->view, replaced, &to->found, !error);
	}
	if (!error && is_dir(to)) {
		subdirs_changed(to->dir, -1);
	}
	if (!error) {
		move_node(renaming, &renaming->from, to);
	}
	return error;
}

static int swap(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error = exchange(renaming);

	if (!error) {
		move_node(renaming, from, to);
		move_node(renaming, to, from);
	}
	return error;
}

static int rename_recorded(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	struct recording recording;
	int error = record_begin(&recording,
				 &(struct record_change){
					 .op = is_exchange(renaming)
						       ? JOURNAL_EXCHANGE
						       : JOURNAL_RENAME,
					 .caller = renaming->caller,
					 .parent = from->dir,
					 .name = from->name,
					 .parent2 = to->dir,
					 .name2 = to->name,
					 .before = &from->entry.st,
					 .bytes = -1,
				 });

	if (!error) {
		record_after(&recording, &from->entry.st);
		error = is_exchange(renaming) ? swap(renaming)
					      : replace(renaming);
	}
	return record_end(&recording, error);
}

/* Tree lock held exclusively, nothing else. */
static int rename_locked(struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error = end_load(from, to->name);

	error = error ? error : end_load(to, from->name);
	error = error ? error : check(renaming);
	if (error) {
		return error;
	}
	if (from->node == to->node) {
		return 0; /* two links of one file: POSIX has it do nothing */
	}
	return rename_recorded(renaming);
}

/* Copies up what is at (dir, name) now, and the directory `dir`. */
static int prepare_end(struct fs *fs, struct node *dir, const char *name,
		       bool must_be_upper)
{
	struct entry entry;
	int error = copyup_ensure(fs, dir);

	if (error || !must_be_upper) {
		return error;
	}
	error = op_lookup(fs, dir, name, &entry, NULL);
	if (error) {
		return error;
	}
	error = copyup_ensure(fs, entry.node);
	if (!error && node_has_links(entry.node)) {
		error = copyup_name(dir, name);
	}
	node_put(&fs->nodes, entry.node);
	return error;
}

static int rename_once(struct fs *fs, struct renaming *renaming)
{
	struct end *from = &renaming->from;
	struct end *to = &renaming->to;
	int error = prepare_end(fs, from->dir, from->name, true);

	error = error ? error
		      : prepare_end(fs, to->dir, to->name,
				    is_exchange(renaming));
	if (error) {
		return error;
	}
	rwlock_take_exclusive(&renaming->view->tree);
	error = rename_locked(renaming);
	if (!error) {
		settle(from->dir);
		settle(to->dir);
		settle(from->node);
	}
	dirlist_changed(from->dir);
	dirlist_changed(to->dir);
	rwlock_drop(&renaming->view->tree);
	end_release(renaming, from);
	end_release(renaming, to);
	return error;
}

int op_rename(struct fs *fs, struct node *from_dir, const char *from,
	      struct node *to_dir, const char *to, unsigned int flags,
	      const struct caller *caller)
{
	int error;

	if (flags & ~(unsigned int)(RENAME_NOREPLACE | RENAME_EXCHANGE) ||
	    flags == (RENAME_NOREPLACE | RENAME_EXCHANGE)) {
		return -EINVAL;
	}
	if (!from_dir->view || from_dir->view != to_dir->view) {
		return -EXDEV;
	}
	do {
		struct renaming renaming = {
			.view = from_dir->view,
			.from = {.dir = from_dir, .name = from},
			.to = {.dir = to_dir, .name = to},
			.flags = flags,
			.caller = caller,
		};

		error = rename_once(fs, &renaming);
	} while (error == -EAGAIN);
	return error;
}
