#include "plan_run.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>

#include "attrs.h"
#include "compare.h"
#include "merged.h"
#include "put.h"
#include "sys.h"

/* One step while it is carried out. */
struct act {
	struct plan_target *target;
	const struct plan_step *step;
	int dirfd;
	const char *name;           /* in dirfd */
	struct change_side present; /* what is there */
	char temp[PUT_TEMP_BYTES];
};

/* The step found something else than it expects. */
#define CONFLICT 1

bool plan_is_layer(enum change_place place)
{
	return place == PLACE_UPPER || place == PLACE_LINKS;
}

int plan_open_source(const struct sides *sides, int staging_fd,
		     const struct plan_step *step)
{
	const struct layer *layer = step->place == PLACE_BASE ? &sides->base
				    : step->place == PLACE_LINKS
					    ? &sides->links
					    : &sides->upper;
	int fd;

	if (step->place == PLACE_STAGED) {
		return sys_openat(staging_fd, step->source, O_PATH | O_NOFOLLOW,
				  0);
	}
	fd = layer_open_path(
		layer,
		strcmp(step->source, CHANGE_ROOT_PATH) == 0 ? "" : step->source,
		O_PATH | O_NOFOLLOW);
	return step->place == PLACE_BASE ? fd : merged_whole(sides, fd);
}

/* Opens the directory that `path` is in, and finds the name in it. */
static int open_parent(const struct layer *folder, const char *path,
		       const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent =
		strndup(path, slash ? (size_t)(slash - path) : 0);

	if (!parent) {
		return -ENOMEM;
	}
	*ret_name = slash ? slash + 1 : path;
	return layer_open_path(folder, parent, O_PATH | O_DIRECTORY);
}

static int look(struct change_side *ret_side, int dirfd, const char *name)
{
	struct stat st;
	int error = sys_fstatat(dirfd, name, &st);

	*ret_side = (struct change_side){.kind = KIND_NONE};
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	change_side_from_stat(ret_side, &st);
	return 0;
}

/* The change time is not compared: links that an apply itself made or removed
 * change it. */
static bool is_as_before(const struct act *act)
{
	const struct plan_step *step = act->step;
	const struct origin *now = &act->present.id;
	const struct origin *then = &step->old_id;

	if (act->present.kind != step->old_kind) {
		return false;
	}
	if (!act->target->in_place || step->old_kind == KIND_NONE ||
	    step->old_kind == KIND_DIR) {
		return true;
	}
	return now->dev == then->dev && now->ino == then->ino &&
	       now->size_bytes == then->size_bytes &&
	       now->mtime_ns == then->mtime_ns;
}

static int open_source(const struct act *act, struct put_source *ret_source)
{
	int fd = plan_open_source(act->target->sides, act->target->staging_fd,
				  act->step);

	*ret_source = (struct put_source){
		.fd = fd,
		.kind = act->step->new_kind,
		.is_layer = plan_is_layer(act->step->place),
	};
	return fd < 0 ? fd : 0;
}

/* Whether the step is done already: 1, 0 or -errno. */
static int is_done(const struct act *act, int source_fd)
{
	struct change_side side;
	const struct compare_end there = {act->dirfd, act->name, &act->present,
					  NULL};
	const struct compare_end wanted = {source_fd, "", &side, NULL};
	int flags = look(&side, source_fd, "");

	if (flags || act->present.kind != act->step->new_kind ||
	    side.kind != act->present.kind) {
		return flags;
	}
	if (side.kind == KIND_DIR) {
		return 1;
	}
	flags = compare_ends(&there, &wanted);
	return flags < 0 ? flags : flags == 0;
}

/* A link to what is there now, so that it outlives the step. */
static int back_up(const struct act *act)
{
	char backup[NAME_MAX + 1];
	struct change_side side;
	int error;

	if (!act->target->backup_suffix || act->present.kind == KIND_NONE ||
	    act->present.kind == KIND_DIR) {
		return 0;
	}
	if (snprintf(backup, sizeof(backup), "%s%s", act->name,
		     act->target->backup_suffix) >= (int)sizeof(backup)) {
		return -ENAMETOOLONG;
	}
	error = sys_linkat(act->dirfd, act->name, act->dirfd, backup);
	if (error != -EEXIST) {
		return error;
	}
	error = look(&side, act->dirfd, backup);
	return error ? error : side.id.ino == act->present.id.ino ? 0 : -EEXIST;
}

/* Makes the temporary entry: a link where the file has another name already. */
static int make_temp(const struct act *act, const struct put_source *source)
{
	const char *name;
	AUTO_FD dirfd = -1;

	if (!act->step->link_to) {
		return put_make(act->dirfd, act->temp, source);
	}
	dirfd = open_parent(act->target->folder, act->step->link_to, &name);
	return dirfd < 0 ? dirfd
			 : sys_linkat(dirfd, name, act->dirfd, act->temp);
}

/* One that is there is from a run that was interrupted. */
static int make_temp_anew(const struct act *act,
			  const struct put_source *source)
{
	int error = make_temp(act, source);

	if (error == -EEXIST) {
		error = put_discard(act->dirfd, act->temp);
		error = error ? error : make_temp(act, source);
	}
	return error;
}

/* Removes what an interrupted run may have left beside a step that is done. */
static int clean_up(const struct act *act)
{
	struct change_side side;
	int error = look(&side, act->dirfd, act->temp);

	return error || side.kind == KIND_NONE
		       ? error
		       : put_discard(act->dirfd, act->temp);
}

static int run_make(struct act *act)
{
	const struct plan_step *step = act->step;
	struct put_source source;
	int error = open_source(act, &source);
	AUTO_FD source_fd = source.fd;

	if (error) {
		return error;
	}
	if (!is_as_before(act)) {
		error = is_done(act, source_fd);
		return error == 1 ? clean_up(act) : error ? error : CONFLICT;
	}
	error = make_temp_anew(act, &source);
	error = error ? error : back_up(act);
	error = error ? error
		      : put_replace(act->dirfd, act->temp, act->name,
				    step->old_kind, step->new_kind);
	if (error) {
		(void)put_discard(act->dirfd, act->temp);
	}
	return error == -ENOTEMPTY || error == -EEXIST ? CONFLICT : error;
}

static int run_rename(struct act *act)
{
	const struct plan_step *step = act->step;
	struct put_source source;
	const char *old_name;
	struct act old = *act;
	AUTO_FD old_dirfd =
		open_parent(act->target->folder, step->source, &old_name);
	AUTO_FD source_fd = -1;
	int error;

	if (old_dirfd < 0) {
		return old_dirfd == -ENOENT && act->present.kind
			       ? 0
			       : (int)old_dirfd;
	}
	error = look(&old.present, old_dirfd, old_name);
	if (error) {
		return error;
	}
	if (old.present.kind == KIND_NONE &&
	    act->present.kind == step->new_kind) {
		return 0; /* done before */
	}
	if (act->present.kind != KIND_NONE || !is_as_before(&old)) {
		return CONFLICT;
	}
	error = sys_renameat2(old_dirfd, old_name, act->dirfd, act->name,
			      RENAME_NOREPLACE);
	if (error || step->place != PLACE_UPPER || old.present.n_links > 1) {
		return error == -EEXIST ? CONFLICT : error;
	}
	/* The view's file may have other times. */
	source_fd = layer_open_path(&act->target->sides->upper, step->path,
				    O_PATH | O_NOFOLLOW);
	source = (struct put_source){.fd = source_fd};
	return source_fd < 0 ? source_fd
			     : put_times(act->dirfd, act->name, &source);
}

static int run_delete(struct act *act)
{
	bool is_dir = act->step->old_kind == KIND_DIR;
	int error;

	if (act->present.kind == KIND_NONE) {
		return 0;
	}
	if (!is_as_before(act)) {
		return CONFLICT;
	}
	error = back_up(act);
	error = error ? error
		      : sys_unlinkat(act->dirfd, act->name,
				     is_dir ? AT_REMOVEDIR : 0);
	if (error == -ENOTEMPTY) {
		return act->step->is_optional ? 0 : CONFLICT;
	}
	return error;
}

static bool is_finished(const struct act *act, int source_fd)
{
	struct change_side side;

	return !look(&side, source_fd, "") && side.kind == KIND_DIR &&
	       side.mode == act->present.mode &&
	       (!act->step->with_times ||
		side.id.mtime_ns == act->present.id.mtime_ns) &&
	       attrs_equal(act->dirfd, act->name, source_fd, "") == 1;
}

static int run_finish(struct act *act)
{
	struct put_source source;
	int error = open_source(act, &source);
	AUTO_FD source_fd = source.fd;

	if (!error && act->present.kind != KIND_DIR) {
		return CONFLICT;
	}
	if (error || is_finished(act, source_fd)) {
		return error;
	}
	return put_attributes(act->dirfd, act->name, &source,
			      act->step->with_times);
}

static int run_op(struct act *act)
{
	switch (act->step->op) {
	case PLAN_MAKE:
		return run_make(act);
	case PLAN_RENAME:
		return run_rename(act);
	case PLAN_DELETE:
		return run_delete(act);
	case PLAN_FINISH:
		return run_finish(act);
	}
	return -EBADMSG;
}

static int run_step(struct plan_target *target, const struct plan_step *step)
{
	struct act act = {.target = target, .step = step};
	bool is_root = strcmp(step->path, CHANGE_ROOT_PATH) == 0;
	AUTO_FD dirfd = open_parent(target->folder, is_root ? "" : step->path,
				    &act.name);
	int error;

	if (dirfd < 0) {
		/* Where the directory is gone, its content is, too. */
		return trouble_is_vanished(dirfd)
			       ? (step->op == PLAN_DELETE ? 0 : CONFLICT)
			       : (int)dirfd;
	}
	act.dirfd = dirfd;
	put_temp_name(act.name, act.temp);
	error = look(&act.present, dirfd, act.name);
	return error ? error : run_op(&act);
}

int plan_run(struct plan_target *target, const struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_step *step = &plan->steps[i];
		int error = run_step(target, step);

		if (error == CONFLICT) {
			trouble_warn(target->trouble,
				     "base moved, left as it is", step->path);
			target->n_conflicts++;
			error = 0;
		}
		if (error) {
			target->trouble->n_errors++;
			trouble_error(target->trouble, "write", step->path,
				      error);
			return error;
		}
	}
	return 0;
}
