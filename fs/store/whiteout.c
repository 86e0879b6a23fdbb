#include "whiteout.h"

#include <sys/sysmacros.h>

#include "sys.h"

#define SHOWN_ATTR "user.legato.whiteout"

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

int whiteout_set_opaque(int dirfd, const char *name)
{
	return sys_setxattrat(dirfd, name, WHITEOUT_OPAQUE_ATTR, "y", 1, 0);
}

int whiteout_is_opaque(int dirfd, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(opaque_attrs); i++) {
		char value;
		ssize_t n = sys_getxattrat(dirfd, name, opaque_attrs[i], &value,
					   sizeof(value));

		if (n == 1 && value == 'y') {
			return 1;
		}
		if (n == -EOPNOTSUPP) {
			return 0;
		}
		if (n < 0 && n != -ENODATA && n != -ERANGE) {
			return (int)n;
		}
	}
	return 0;
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
