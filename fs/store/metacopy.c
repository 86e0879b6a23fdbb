#include "metacopy.h"

#include <fcntl.h>

#include "sys.h"

static const char *const metacopy_attrs[] = {
	"user.overlay.metacopy",
	"trusted.overlay.metacopy",
};

int metacopy_is(int dirfd, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(metacopy_attrs); i++) {
		ssize_t n =
			sys_getxattrat(dirfd, name, metacopy_attrs[i], NULL, 0);

		if (n >= 0) {
			return 1;
		}
		if (n != -ENODATA && n != -EOPNOTSUPP) {
			return (int)n;
		}
	}
	return 0;
}

static bool is_all_hole(int dirfd, const char *name)
{
	AUTO_FD fd =
		sys_openat(dirfd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);

	return fd >= 0 && sys_lseek(fd, 0, SEEK_DATA) == -ENXIO;
}

bool metacopy_is_likely(int dirfd, const char *name, const struct stat *st,
			const struct stat *below)
{
	return st->st_size > 0 && below->st_size == st->st_size &&
	       below->st_blocks > 0 && is_all_hole(dirfd, name);
}
