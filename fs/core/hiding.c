#include "hiding.h"

#include <stdio.h>

#include "log.h"
#include "sys.h"
#include "whiteout.h"

int hiding_init(struct view *view)
{
	int found = whiteout_has_files(view->upper.root_fd);

	atomic_init(&view->file_whiteouts, found > 0);
	return found < 0 ? found : 0;
}

bool hiding_has_files(const struct view *view)
{
	/* acquire: with the release in become_files; who has seen a file knows
	 * what it may be */
	return atomic_load_explicit(&((struct view *)view)->file_whiteouts,
				    memory_order_acquire);
}

/* From now on empty files are looked at. */
static int become_files(struct view *view)
{
	int error;

	if (hiding_has_files(view)) {
		return 0;
	}
	error = whiteout_note_files(view->upper.root_fd);
	if (!error) {
		log_info("view '%s': whiteouts are files on this disk",
			 view->name);
		/* release: see hiding_has_files */
		atomic_store_explicit(&view->file_whiteouts, true,
				      memory_order_release);
	}
	return error;
}

static int prepare_file(struct view *view, const char *temp, int dirfd)
{
	int error = become_files(view);

	error = error ? error : whiteout_announce_files(dirfd);
	error = error ? error : whiteout_create_file(view->work_fd, temp);
	/* No attributes either: what the disk said first. */
	return error == -EOPNOTSUPP ? -EPERM : error;
}

int hiding_prepare(struct view *view, const char *temp, int dirfd)
{
	int error = whiteout_create(view->work_fd, temp);

	return error == -EPERM ? prepare_file(view, temp, dirfd) : error;
}

int hiding_add(struct view *view, int dirfd, const char *name)
{
	char temp[VIEW_TEMP_BYTES];
	int error = whiteout_create(dirfd, name);

	if (error != -EPERM) {
		return error;
	}
	view_temp_name(view, temp);
	error = prepare_file(view, temp, dirfd);
	if (error) {
		return error;
	}
	error = sys_renameat2(view->work_fd, temp, dirfd, name,
			      RENAME_NOREPLACE);
	if (error) {
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(view->work_fd, temp, 0);
	}
	return error;
}

int hiding_is(const struct view *view, int dirfd, const char *name,
	      const struct stat *st)
{
	if (whiteout_is(st)) {
		return 1;
	}
	return hiding_has_files(view) ? whiteout_is_file(dirfd, name, st) : 0;
}
