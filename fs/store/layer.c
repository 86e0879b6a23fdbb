#include "layer.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "sys.h"

int layer_open(struct layer *layer, int dirfd, const char *path)
{
	struct stat st;
	AUTO_FD fd = sys_openat(dirfd, path, O_PATH | O_DIRECTORY, 0);
	int error;

	if (fd < 0) {
		return fd;
	}
	error = sys_fstat(fd, &st);
	if (error) {
		return error;
	}
	layer->dev = st.st_dev;
	layer->root_fd = TAKE_FD(fd);
	return 0;
}

void layer_close(struct layer *layer)
{
	if (layer->root_fd >= 0) {
		sys_close(layer->root_fd);
		layer->root_fd = -1;
	}
}

/* The length of the longest part of `path` that ends before a '/' and fits
 * into one system call; 0 if there is none. */
static size_t piece_length(const char *path)
{
	size_t len = PATH_MAX - 1;

	while (len > 0 && path[len] != '/') {
		len--;
	}
	return len;
}

int layer_open_path(const struct layer *layer, const char *path, int flags)
{
	AUTO_FD at = -1;
	int dirfd = layer->root_fd;

	while (strnlen(path, PATH_MAX) == PATH_MAX) {
		char piece[PATH_MAX];
		size_t len = piece_length(path);
		int fd;

		if (len == 0) {
			return -ENAMETOOLONG;
		}
		memcpy(piece, path, len);
		piece[len] = '\0';
		fd = sys_open_beneath(dirfd, piece, O_PATH | O_DIRECTORY);
		if (fd < 0) {
			return fd;
		}
		auto_close_fd(&at);
		dirfd = at = fd;
		path += len + 1;
	}
	return sys_open_beneath(dirfd, path, flags);
}
