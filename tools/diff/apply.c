#include "apply.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "conflicts.h"
#include "diff.h"
#include "format.h"
#include "merge.h"
#include "plan.h"
#include "plan_log.h"
#include "plan_run.h"
#include "put.h"
#include "remove.h"
#include "select.h"
#include "sys.h"

#define LOG_FILE    "apply.log"
#define STAGING_DIR "apply"

struct apply {
	const struct apply_request *request;
	struct apply_result *result;
	struct trouble *trouble;
	int view_fd; /* views/<view>, locked */
	int staging_fd;
	size_t n_staged;
	struct diff diff;
	struct plan plan;
};

static void release_apply(struct apply *apply)
{
	auto_close_fd(&apply->staging_fd);
	auto_close_fd(&apply->view_fd);
	plan_release(&apply->plan);
	diff_release(&apply->diff);
}

static int open_view(struct apply *apply)
{
	const struct apply_request *request = apply->request;
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s", EXECUTION_VIEWS_DIR, request->view->name) <
	    0) {
		path = NULL;
		return -ENOMEM;
	}
	apply->view_fd = sys_openat(request->execution->dir_fd, path,
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	return apply->view_fd < 0
		       ? apply->view_fd
		       : sys_flock(apply->view_fd, LOCK_EX | LOCK_NB);
}

/* ------------------------------------------------------------ what is staged
 */

static int open_staging(struct apply *apply)
{
	int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd;

	if (apply->staging_fd >= 0) {
		return 0;
	}
	fd = sys_openat(apply->view_fd, STAGING_DIR, flags, 0);
	if (fd == -ENOENT) {
		int error = sys_mkdirat(apply->view_fd, STAGING_DIR, 0700);

		fd = error ? error
			   : sys_openat(apply->view_fd, STAGING_DIR, flags, 0);
	}
	apply->staging_fd = fd < 0 ? -1 : fd;
	return fd < 0 ? fd : 0;
}

/* First the log: staged files without one mean nothing. */
static int remove_staging(struct apply *apply)
{
	const struct apply_request *request = apply->request;
	AUTO_FREE char *path = NULL;
	struct stat st;
	int error = sys_fstatat(apply->view_fd, LOG_FILE, &st);
	int fd = sys_openat(apply->view_fd, STAGING_DIR,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	auto_close_fd(&apply->staging_fd);
	apply->staging_fd = -1;
	error = error ? error : sys_unlinkat(apply->view_fd, LOG_FILE, 0);
	if (error && error != -ENOENT) {
		auto_close_fd(&fd);
		return error;
	}
	if (fd < 0) {
		return fd == -ENOENT ? 0 : fd;
	}
	if (asprintf(&path, "%s/%s/%s/%s", request->execution->path,
		     EXECUTION_VIEWS_DIR, request->view->name,
		     STAGING_DIR) < 0) {
		path = NULL;
	}
	error = path ? remove_content(fd, path, NULL) : -ENOMEM;
	auto_close_fd(&fd);
	return error ? error
		     : sys_unlinkat(apply->view_fd, STAGING_DIR, AT_REMOVEDIR);
}

/* Makes a staged entry, and has the step made from it. */
static int stage(struct apply *apply, struct plan_step *step,
		 const struct put_source *source)
{
	char *name = NULL;
	int error = open_staging(apply);

	if (error) {
		return error;
	}
	if (asprintf(&name, "%zu", apply->n_staged++) < 0) {
		return -ENOMEM;
	}
	error = put_make(apply->staging_fd, name, source);
	if (!error && source->kind == KIND_DIR) {
		error = put_attributes(apply->staging_fd, name, source, true);
	}
	if (error) {
		free(name);
		return error;
	}
	free(step->source);
	step->source = name;
	step->place = PLACE_STAGED;
	return 0;
}

static int keep_source(struct apply *apply, struct plan_step *step)
{
	AUTO_FD fd = plan_open_source(&apply->diff.sides, -1, step);
	struct put_source source = {
		.fd = fd,
		.kind = step->new_kind,
		.is_layer = plan_is_layer(step->place),
	};

	return fd < 0 ? fd : stage(apply, step, &source);
}

static bool has_hunks(const struct apply_request *request, const char *path)
{
	for (size_t i = 0; i < request->n_hunks; i++) {
		if (strcmp(request->hunks[i].path, path) == 0) {
			return true;
		}
	}
	return false;
}

static int stage_hunks(struct apply *apply, struct plan_step *step,
		       const struct change *change)
{
	AUTO_BUF content = BUF_INIT;
	AUTO_FD fd = -1;
	struct put_source source = {.kind = KIND_FILE, .content = &content};
	int error = hunks_apply(&content, &apply->diff.sides, change,
				apply->request->hunks, apply->request->n_hunks);

	if (error) {
		return error;
	}
	fd = layer_open_path(&apply->diff.sides.base, change->path,
			     O_PATH | O_NOFOLLOW);
	source.fd = fd;
	return fd < 0 ? fd : stage(apply, step, &source);
}

static int stage_merged(struct apply *apply, struct plan_step *step,
			const struct change *change)
{
	AUTO_BUF content = BUF_INIT;
	AUTO_FD fd = plan_open_source(&apply->diff.sides, -1, step);
	struct put_source source = {
		.fd = fd,
		.kind = KIND_FILE,
		.is_layer = plan_is_layer(step->place),
		.content = &content,
	};
	bool has_conflicts;
	int error = fd < 0 ? fd
			   : merge_change(&content, &has_conflicts,
					  &apply->diff.sides, change);

	if (error) {
		return error;
	}
	if (has_conflicts) {
		trouble_warn(apply->trouble, "conflict markers in",
			     change->path);
		apply->result->n_marked++;
	}
	step->is_merged = true;
	return stage(apply, step, &source);
}

static int stage_step(struct apply *apply, struct plan_step *step)
{
	const struct change *change =
		change_list_find(&apply->diff.list, step->path);

	if (step->op == PLAN_MAKE && change &&
	    has_hunks(apply->request, change->path)) {
		return stage_hunks(apply, step, change);
	}
	if (step->op == PLAN_MAKE && change && apply->request->three_way &&
	    conflicts_is_mergeable(change)) {
		return stage_merged(apply, step, change);
	}
	return step->needs_keeping ? keep_source(apply, step) : 0;
}

static int stage_all(struct apply *apply)
{
	for (size_t i = 0; i < apply->plan.n; i++) {
		struct plan_step *step = &apply->plan.steps[i];
		int error = stage_step(apply, step);

		if (error) {
			trouble_error(apply->trouble, "take over", step->path,
				      error);
			return error;
		}
	}
	return 0;
}

/* ----------------------------------------------------------------- the steps
 */

/* Notes what the steps have made. Merged files are left out: they hold more
 * than the view does, so the view must not replace them. */
static int note_applied(struct apply *apply)
{
	struct sides *sides = &apply->diff.sides;

	for (size_t i = 0; i < apply->plan.n; i++) {
		const struct plan_step *step = &apply->plan.steps[i];
		AUTO_FD fd = -1;
		struct origin id;
		struct stat st;
		int error;

		if (step->op == PLAN_DELETE || step->is_merged ||
		    strcmp(step->path, CHANGE_ROOT_PATH) == 0) {
			continue;
		}
		fd = layer_open_path(&sides->base, step->path,
				     O_PATH | O_NOFOLLOW);
		if (fd < 0) {
			continue; /* a conflict, or gone again */
		}
		error = sys_fstat(fd, &st);
		origin_from_stat(&id, &st);
		error = error ? error : applied_add(&sides->applied, &id);
		if (error) {
			return error;
		}
	}
	return applied_write(&sides->applied, apply->view_fd);
}

static int run_plan(struct apply *apply)
{
	struct plan_target target = {
		.folder = &apply->diff.sides.base,
		.sides = &apply->diff.sides,
		.staging_fd = apply->staging_fd,
		.in_place = true,
		.backup_suffix = apply->request->backup_suffix,
		.trouble = apply->trouble,
	};
	int error = plan_run(&target, &apply->plan);

	apply->result->n_conflicts += target.n_conflicts;
	apply->result->was_written = true;
	error = error ? error : note_applied(apply);
	return error ? error : remove_staging(apply);
}

/* Finishes what was interrupted, if anything was. */
static int finish_other(struct apply *apply)
{
	const struct apply_request *request = apply->request;
	int error = plan_log_read(&apply->plan, apply->view_fd, LOG_FILE);

	if (error == -ENOENT || request->forget) {
		plan_release(&apply->plan);
		return request->dry_run ? 0 : remove_staging(apply);
	}
	if (error || request->dry_run) {
		return error ? error : -EINPROGRESS;
	}
	error = sides_open(&apply->diff.sides, request->execution,
			   request->view);
	if (!error) {
		error = open_staging(apply);
	}
	error = error ? error : run_plan(apply);
	plan_release(&apply->plan);
	diff_release(&apply->diff);
	apply->diff = (struct diff)DIFF_INIT;
	apply->result->has_finished_other = true;
	return error;
}

/* Fills the list with what is wanted. */
static int compare(struct apply *apply)
{
	const struct apply_request *request = apply->request;
	struct trouble *trouble = apply->trouble;
	bool no_warnings = trouble->no_warnings;
	int error;

	/* What moved is told as a conflict, if it is wanted at all. */
	trouble->no_warnings = true;
	error = diff_view(&apply->diff, request->execution, request->view,
			  DIFF_RENAMES | DIFF_WHOLE, trouble);
	trouble->no_warnings = no_warnings;
	if (error) {
		return error;
	}
	if (trouble->n_errors) {
		return -EREMOTEIO;
	}
	return select_changes(&apply->diff.list, &request->filter,
			      &apply->result->folded);
}

static int list_changes(struct apply *apply)
{
	const struct format format = {
		.out = apply->request->list_out,
		.trouble = apply->trouble,
		.prefix = "",
	};

	for (size_t i = 0; i < apply->diff.list.n; i++) {
		change_count(&apply->result->taken, &apply->diff.list.items[i]);
	}
	return format.out ? format_name_status(&format, &apply->diff) : 0;
}

/* A file whose hunks are asked for, but that is no change. */
static int check_hunks(const struct apply *apply)
{
	const struct apply_request *request = apply->request;

	for (size_t i = 0; i < request->n_hunks; i++) {
		if (!change_list_find(&apply->diff.list,
				      request->hunks[i].path)) {
			return -ERANGE;
		}
	}
	return 0;
}

static int write_all(struct apply *apply)
{
	int error = plan_make(&apply->plan, &apply->diff, true);

	error = error ? error : stage_all(apply);
	if (!error && apply->plan.n > 0) {
		error = plan_log_write(&apply->plan, apply->view_fd, LOG_FILE);
	} else if (error) {
		(void)!remove_staging(apply);
	}
	return error || apply->plan.n == 0 ? error : run_plan(apply);
}

int apply_view(const struct apply_request *request,
	       struct apply_result *ret_result, struct trouble *trouble)
{
	AUTO(release_apply)
	struct apply apply = {
		.request = request,
		.result = ret_result,
		.trouble = trouble,
		.view_fd = -1,
		.staging_fd = -1,
		.diff = DIFF_INIT,
	};
	struct conflicts conflicts = {
		.out = request->conflicts_out,
		.backup_suffix = request->backup_suffix,
		.three_way = request->three_way,
	};
	int error;

	*ret_result = (struct apply_result){0};
	if (request->view->kind != MANIFEST_OVERLAY) {
		return -EROFS;
	}
	error = open_view(&apply);
	error = error ? error : finish_other(&apply);
	error = error ? error : compare(&apply);
	error = error ? error : check_hunks(&apply);
	error = error ? error : conflicts_find(&conflicts, &apply.diff);
	if (error) {
		return error;
	}
	ret_result->n_conflicts += conflicts.n;
	if (conflicts.n > 0) {
		ret_result->was_written = false;
		return 0;
	}
	error = list_changes(&apply);
	return error || request->dry_run ? error : write_all(&apply);
}
