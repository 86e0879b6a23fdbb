#include "unmount.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>

#include "child.h"
#include "err.h"
#include "execution.h"
#include "failure.h"
#include "mountinfo.h"
#include "path.h"
#include "programs.h"

/* 0 or -errno. */
static int detach(const char *mount_at)
{
	AUTO_FREE char *fusermount = NULL;
	AUTO_FREE char *path = NULL;
	char unmount[] = "-u";
	char lazy[] = "-z";
	char quiet[] = "-q";
	int status;

	if (umount2(mount_at, MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
		return 0;
	}
	if (errno != EPERM) {
		return -errno;
	}
	fusermount = programs_in_path("fusermount3");
	if (!fusermount) {
		return -ENOENT;
	}
	path = text_copy(mount_at);
	status = child_run(
		(char *[]){fusermount, unmount, lazy, quiet, path, NULL}, NULL,
		NULL, NULL);
	return status > 0 ? -EBUSY : status;
}

static bool is_mounted(const char *mount_at)
{
	struct mountinfo info;
	bool mounted = false;

	if (mountinfo_read(&info) < 0) {
		return true; /* trying to unmount does no harm */
	}
	for (size_t i = 0; i < info.count; i++) {
		mounted = mounted ||
			  strcmp(info.entries[i].mount_at, mount_at) == 0;
	}
	mountinfo_release(&info);
	return mounted;
}

void unmount_execution(const struct execution *execution)
{
	AUTO_FREE char *mount_at =
		text_format("%s/" EXECUTION_MOUNT_DIR, execution->path);
	int error;

	if (!is_mounted(mount_at)) {
		return;
	}
	error = detach(mount_at);
	/* The daemon may have been quicker. */
	if (error && is_mounted(mount_at)) {
		warning("cannot unmount '%s': %s", mount_at, err_text(error));
	}
}

/* The id in "<scratch_dir>/<id>/mnt", NULL for another path. Caller frees. */
static char *id_of_mount(const char *mount_at, const char *scratch_dir)
{
	const char *id = path_beneath(mount_at, scratch_dir);
	const char *slash = strchr(id, '/');

	if (!slash || strcmp(slash + 1, EXECUTION_MOUNT_DIR) != 0) {
		return NULL;
	}
	return text_format("%.*s", (int)(slash - id), id);
}

static void unmount_if_dead(const char *scratch_dir, const char *id)
{
	struct execution execution = EXECUTION_INIT;

	if (execution_open(&execution, scratch_dir, id) < 0) {
		return;
	}
	if (execution_lock(&execution) == 0) {
		unmount_execution(&execution);
	}
	execution_release(&execution);
}

void unmount_stale(const char *scratch_dir)
{
	struct mountinfo info;

	if (mountinfo_read(&info) < 0) {
		return;
	}
	for (size_t i = 0; i < info.count; i++) {
		const char *at = info.entries[i].mount_at;
		AUTO_FREE char *id = NULL;

		if (path_is_within(at, scratch_dir)) {
			id = id_of_mount(at, scratch_dir);
		}
		if (id) {
			unmount_if_dead(scratch_dir, id);
		}
	}
	mountinfo_release(&info);
}
