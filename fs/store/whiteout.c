#include "whiteout.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "sys.h"

#define SHOWN_ATTR     "user.legato.whiteout"
#define FILE_ATTR      "user.overlay.whiteout"
#define HAS_FILES_ATTR "user.legato.whiteout-files"

/* Other tools' marks. */
#define MARK_PREFIX         ".wh."
#define OPAQUE_MARK         ".wh..wh..opq"
#define FOREIGN_OPAQUE_ATTR "user.fuseoverlayfs.opaque"

static const char *const whiteout_attrs[] = {
	FILE_ATTR,
	"trusted.overlay.whiteout",
};

static const char *const opaque_attrs[] = {
	WHITEOUT_OPAQUE_ATTR,
	"trusted.overlay.opaque",
};

bool whiteout_is(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

int whiteout_create(int dirfd, const char *name)
{
	return sys_mknodat(dirfd, name, S_IFCHR | 0600, makedev(0, 0));
}

int whiteout_create_file(int dirfd, const char *name)
{
	AUTO_FD fd = sys_openat(dirfd, name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	int error =
		fd < 0 ? fd : sys_setxattrat(dirfd, name, FILE_ATTR, "y", 1, 0);

	if (error && fd >= 0) {
		/* What fails is left to who empties the work folder. */
		(void)!sys_unlinkat(dirfd, name, 0);
	}
	return error;
}

int whiteout_is_file(int dirfd, const char *name, const struct stat *st)
{
	ssize_t n;

	if (!S_ISREG(st->st_mode) || st->st_size > 0) {
		return 0;
	}
	n = sys_getxattrat(dirfd, name, FILE_ATTR, NULL, 0);
	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	return n < 0 ? (int)n : 1;
}

int whiteout_announce_files(int dirfd)
{
	int error = sys_setxattrat(dirfd, "", WHITEOUT_OPAQUE_ATTR, "x", 1,
				   XATTR_CREATE);

	return error == -EEXIST ? 0 : error;
}

int whiteout_note_files(int root_fd)
{
	return sys_setxattrat(root_fd, "", HAS_FILES_ATTR, "y", 1, 0);
}

int whiteout_has_files(int root_fd)
{
	ssize_t n = sys_getxattrat(root_fd, "", HAS_FILES_ATTR, NULL, 0);

	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	return n < 0 ? (int)n : 1;
}

int whiteout_set_opaque(int dirfd, const char *name)
{
	return sys_setxattrat(dirfd, name, WHITEOUT_OPAQUE_ATTR, "y", 1, 0);
}

static bool is_whiteout_file(int dirfd, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(whiteout_attrs); i++) {
		if (sys_getxattrat(dirfd, name, whiteout_attrs[i], NULL, 0) >=
		    0) {
			return true;
		}
	}
	return false;
}

const char *whiteout_marked_name(const char *name)
{
	if (strncmp(name, MARK_PREFIX, strlen(MARK_PREFIX)) != 0) {
		return NULL;
	}
	name += strlen(MARK_PREFIX);
	return strncmp(name, MARK_PREFIX, strlen(MARK_PREFIX)) == 0 ? "" : name;
}

/* Whether ".wh.NAME" is there. */
static bool has_mark(int dirfd, const char *name)
{
	char mark[NAME_MAX + 1];
	struct stat st;
	int len = snprintf(mark, sizeof(mark), MARK_PREFIX "%s", name);

	return len < (int)sizeof(mark) && !sys_fstatat(dirfd, mark, &st) &&
	       S_ISREG(st.st_mode);
}

int whiteout_stat(int dirfd, const char *name, bool foreign,
		  struct stat *ret_st)
{
	int error;

	if (foreign && whiteout_marked_name(name)) {
		return -ENOENT;
	}
	error = sys_fstatat(dirfd, name, ret_st);
	if (!foreign) {
		return error;
	}
	if (error == -ENOENT && has_mark(dirfd, name)) {
		*ret_st = (struct stat){.st_mode = S_IFCHR};
		return 0;
	}
	if (!error && S_ISREG(ret_st->st_mode) && ret_st->st_size == 0 &&
	    is_whiteout_file(dirfd, name)) {
		whiteout_show_stat(ret_st);
	}
	return error;
}

static int has_opaque_attr(int dirfd, const char *name, const char *attr)
{
	char value;
	ssize_t n = sys_getxattrat(dirfd, name, attr, &value, sizeof(value));

	if (n < 0 && n != -ENODATA && n != -ERANGE && n != -EOPNOTSUPP) {
		return (int)n;
	}
	return n == 1 && value == 'y';
}

static bool has_opaque_mark(int dirfd, const char *name)
{
	AUTO_FD fd = sys_openat(dirfd, *name ? name : ".",
				O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	struct stat st;

	return fd >= 0 && !sys_fstatat(fd, OPAQUE_MARK, &st);
}

int whiteout_is_opaque(int dirfd, const char *name)
{
	int opaque = 0;

	for (size_t i = 0; i < ARRAY_SIZE(opaque_attrs) && !opaque; i++) {
		opaque = has_opaque_attr(dirfd, name, opaque_attrs[i]);
	}
	return opaque;
}

int whiteout_hides_below(int dirfd, const char *name, bool foreign)
{
	int opaque = whiteout_is_opaque(dirfd, name);

	if (opaque || !foreign) {
		return opaque;
	}
	opaque = has_opaque_attr(dirfd, name, FOREIGN_OPAQUE_ATTR);
	return opaque ? opaque : has_opaque_mark(dirfd, name);
}

int whiteout_show(int dirfd, const char *name)
{
	return sys_setxattrat(dirfd, name, SHOWN_ATTR, "y", 1, 0);
}

int whiteout_is_shown(int dirfd, const char *name)
{
	ssize_t n = sys_getxattrat(dirfd, name, SHOWN_ATTR, NULL, 0);

	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	return n < 0 ? (int)n : 1;
}

void whiteout_show_stat(struct stat *st)
{
	st->st_mode = S_IFCHR | (st->st_mode & 07777);
	st->st_rdev = makedev(0, 0);
}
