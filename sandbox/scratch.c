#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "failure.h"

/* In the name space of the whiteouts that are files (store/whiteout.h): an
 * overlayfs may keep it for itself, as it does the device. */
#define PROBE_ATTRIBUTE "user.overlay.probe"

int scratch_check(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		return 0; /* making it will say what is wrong */
	}
	if (st.st_uid != geteuid()) {
		return failure(EXIT_NOT_SET_UP,
			       "scratch folder '%s' belongs to user %u, not to "
			       "you",
			       path, st.st_uid);
	}
	if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		return failure(EXIT_NOT_SET_UP,
			       "scratch folder '%s' is writable by others: "
			       "chmod go-w it",
			       path);
	}
	return 0;
}

const char *scratch_lacks(int dir_fd)
{
	if (fsetxattr(dir_fd, PROBE_ATTRIBUTE, "", 0, 0) < 0) {
		return "extended attributes";
	}
	(void)fremovexattr(dir_fd, PROBE_ATTRIBUTE);
	return NULL;
}
