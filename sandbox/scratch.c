#include "scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "failure.h"

#define PROBE_ATTRIBUTE "user.legato.probe"
#define PROBE_NAME      ".probe"

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
	if (mknodat(dir_fd, PROBE_NAME, S_IFCHR, 0) < 0) {
		return "whiteouts (device nodes 0:0)";
	}
	(void)unlinkat(dir_fd, PROBE_NAME, 0);
	return NULL;
}
