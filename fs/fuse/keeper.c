#include "keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "mountinfo.h"
#include "sys.h"

/* Owned by the main thread. */
static pid_t keeper_pid;
static int told_fd = -1; /* its end, or a byte, is the order */

static bool is_mounted(const char *mount_point)
{
	struct mountinfo info;
	bool mounted = false;

	if (mountinfo_read(&info)) {
		return true; /* trying does no harm */
	}
	for (size_t i = 0; i < info.count; i++) {
		const struct mountinfo_entry *entry = &info.entries[i];

		mounted =
			mounted || (strcmp(entry->mount_at, mount_point) == 0 &&
				    strcmp(entry->type, "fuse.legato-fs") == 0);
	}
	mountinfo_release(&info);
	return mounted;
}

static _Noreturn void unmount(const char *mount_point)
{
	if (!is_mounted(mount_point) ||
	    umount2(mount_point, MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
		_exit(EXIT_SUCCESS);
	}
	execlp("fusermount3", "fusermount3", "-u", "-q", "-z", "--",
	       mount_point, NULL);
	_exit(EXIT_FAILURE);
}

/* Keeps nothing alive: no lock, no connection, no terminal. */
static void close_others(int keep)
{
	int null_fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);

	for (int fd = STDIN_FILENO; null_fd >= 0 && fd <= STDERR_FILENO; fd++) {
		dup2(null_fd, fd);
	}
	dup2(keep, STDERR_FILENO + 1);
	close_range(STDERR_FILENO + 2, ~0U, 0);
}

static _Noreturn void keep(int order_fd, const char *mount_point)
{
	char byte;

	prctl(PR_SET_NAME, "legato-fs-keep");
	/* The daemon must not run its own code in here. */
	prctl(PR_SET_DUMPABLE, 0);
	close_others(order_fd);
	/* Not by sys_read: a fault that is injected would be taken for the
	 * daemon's end. */
	while (read(STDERR_FILENO + 1, &byte, 1) < 0 && errno == EINTR) {
	}
	unmount(mount_point);
}

int keeper_start(const char *mount_point)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC)) {
		return -errno;
	}
	keeper_pid = fork();
	if (keeper_pid == 0) {
		keep(ends[0], mount_point);
	}
	sys_close(ends[0]);
	if (keeper_pid < 0) {
		sys_close(ends[1]);
		return -errno;
	}
	told_fd = ends[1];
	return 0;
}

bool keeper_unmount(void)
{
	if (told_fd < 0) {
		return false;
	}
	sys_close(take_fd(&told_fd));
	while (waitpid(keeper_pid, NULL, 0) < 0 && errno == EINTR) {
	}
	return true;
}
