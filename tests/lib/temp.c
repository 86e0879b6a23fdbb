#include "temp.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Empties the folder `dir`, which is closed then. By descriptors, because
 * tests make paths that are longer than any call takes. */
static void empty(int dir)
{
	DIR *stream = fdopendir(dir);
	struct dirent *entry;

	if (!stream) {
		err(EXIT_FAILURE, "can't list what is in '%s'", path);
	}
	while ((entry = readdir(stream))) {
		const char *name = entry->d_name;
		int below;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    unlinkat(dir, name, 0) == 0) {
			continue;
		}
		/* A folder must be writable before what is in it can go. */
		(void)!fchmodat(dir, name, S_IRWXU, 0);
		below = openat(dir, name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0) {
			empty(below);
		}
		if (unlinkat(dir, name, AT_REMOVEDIR)) {
			warn("can't remove '%s' in '%s'", name, path);
		}
	}
	closedir(stream);
}

void temp_remove(void)
{
	int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (top < 0 || chdir("/")) {
		err(EXIT_FAILURE, "can't open '%s'", path);
	}
	empty(top);
	if (rmdir(path)) {
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
