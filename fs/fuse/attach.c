#include "attach.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mount.h>

#include "err.h"
#include "keeper.h"
#include "log.h"
#include "sys.h"

#define MOUNT_DATA_BYTES 128
#define FD_PATH_BYTES    32

static int complain(const char *what, const char *subject, int error)
{
	fprintf(stderr, "legato-fs: %s '%s': %s\n", what, subject,
		err_text(error));
	return error;
}

static const char *fs_name(const struct attach_options *options)
{
	return options->fs_name ? options->fs_name : "legato-fs";
}

/* A comma would begin the next option. */
static void add_escaped(struct buf *text, const char *value)
{
	for (; *value; value++) {
		if (*value == ',' || *value == '\\') {
			buf_add(text, "\\", 1);
		}
		buf_add(text, value, 1);
	}
}

void attach_add_options(const struct attach_options *options, struct buf *text)
{
	buf_adds(text, "default_permissions,subtype=legato-fs,fsname=");
	add_escaped(text, fs_name(options));
	buf_adds(text,
		 options->allow_other || geteuid() == 0 ? ",allow_other" : "");
	buf_adds(text, options->read_only ? ",ro" : ",rw");
	buf_adds(text, options->allow_dev ? ",dev" : ",nodev");
	buf_adds(text, options->allow_suid ? ",suid" : ",nosuid");
	buf_adds(text, options->no_exec ? ",noexec" : "");
	buf_adds(text, options->no_atime ? ",noatime" : "");
}

static unsigned long mount_flags(const struct attach_options *options)
{
	unsigned long flags = 0;

	flags |= options->read_only ? MS_RDONLY : 0;
	flags |= options->allow_dev ? 0 : MS_NODEV;
	flags |= options->allow_suid ? 0 : MS_NOSUID;
	flags |= options->no_exec ? MS_NOEXEC : 0;
	flags |= options->no_atime ? MS_NOATIME : 0;
	return flags;
}

/* Root's mount: for everybody, since the folder above is root's alone. */
static int mount_directly(int fuse_fd, const char *path,
			  const struct attach_options *options)
{
	char data[MOUNT_DATA_BYTES];

	snprintf(data, sizeof(data),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,"
		 "default_permissions,allow_other",
		 fuse_fd);
	if (mount(fs_name(options), path, "fuse.legato-fs",
		  mount_flags(options), data)) {
		return complain("cannot mount at", path, -errno);
	}
	return 0;
}

int attach(struct fuse_session *session, const char *path,
	   const struct attach_options *options)
{
	char fd_path[FD_PATH_BYTES];
	AUTO_FD fd = -1;
	int error;

	if (geteuid() != 0) {
		/* libfuse prints the reason. */
		return fuse_session_mount(session, path) ? -EIO : 0;
	}
	fd = sys_openat(AT_FDCWD, "/dev/fuse", O_RDWR, 0);
	if (fd < 0) {
		return complain("cannot open", "/dev/fuse", fd);
	}
	error = mount_directly(fd, path, options);
	if (error) {
		return error;
	}
	/* The session owns the descriptor from here on. */
	snprintf(fd_path, sizeof(fd_path), "/dev/fd/%d", fd);
	if (fuse_session_mount(session, fd_path)) {
		umount2(path, MNT_DETACH);
		return -EIO;
	}
	TAKE_FD(fd);
	return 0;
}

/* Whether the kernel has ended the connection: then it is unmounted, and
 * something else may be mounted there by now. */
static bool is_ended(struct fuse_session *session)
{
	struct pollfd fuse_fd = {.fd = fuse_session_fd(session)};

	return poll(&fuse_fd, 1, 0) == 1 && fuse_fd.revents & POLLERR;
}

void detach(struct fuse_session *session, const char *path)
{
	if (!keeper_unmount() && geteuid() == 0 && !is_ended(session) &&
	    umount2(path, MNT_DETACH)) {
		log_warn("cannot unmount '%s': %s", path, err_name(errno));
	}
	fuse_session_unmount(session);
}
