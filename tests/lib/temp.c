#include "temp.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WALK_FDS 32

static char path[PATH_MAX];

void temp_new(void)
{
	const char *top = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/legato-test-XXXXXX",
		 top && *top ? top : "/tmp");
	if (!mkdtemp(path) || chdir(path)) {
		err(EXIT_FAILURE, "can't make '%s'", path);
	}
}

/* A folder must be writable before what is in it can go. */
static int open_up(const char *name, const struct stat *st, int type,
		   struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_D || type == FTW_DNR) {
		(void)!chmod(name, S_IRWXU);
	}
	return 0;
}

static int remove_one(const char *name, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	if (remove(name)) {
		warn("can't remove '%s'", name);
	}
	return 0;
}

void temp_remove(void)
{
	if (chdir("/") || nftw(path, open_up, WALK_FDS, FTW_PHYS) ||
	    nftw(path, remove_one, WALK_FDS, FTW_PHYS | FTW_DEPTH)) {
		err(EXIT_FAILURE, "can't remove '%s'", path);
	}
}

int temp_setup(void **state)
{
	(void)state;
	temp_new();
	return 0;
}

int temp_teardown(void **state)
{
	(void)state;
	temp_remove();
	return 0;
}

void temp_write(const char *name, const void *data, size_t size)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd)) {
		err(EXIT_FAILURE, "can't write '%s'", name);
	}
}

char *temp_read(const char *name, size_t *ret_size)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data;

	if (fd < 0 || fstat(fd, &st)) {
		err(EXIT_FAILURE, "can't open '%s'", name);
	}
	data = calloc(1, (size_t)st.st_size + 1);
	if (!data || read(fd, data, (size_t)st.st_size) != st.st_size) {
		err(EXIT_FAILURE, "can't read '%s'", name);
	}
	close(fd);
	*ret_size = (size_t)st.st_size;
	return data;
}
