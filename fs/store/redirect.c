#include "redirect.h"

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "buf.h"
#include "path.h"
#include "sys.h"

#define REDIRECT_ATTR "user.overlay.redirect"

int redirect_write(int dirfd, const char *name, const char *path)
{
	AUTO_BUF value = BUF_INIT;
	int error;

	buf_addf(&value, "/%s", path);
	error = buf_error(&value);
	if (error) {
		return error;
	}
	if (value.len >= PATH_MAX) {
		return -ENAMETOOLONG;
	}
	return sys_setxattrat(dirfd, name, REDIRECT_ATTR, value.data, value.len,
			      0);
}

/* Whether each part of `path` between slashes is a component. */
static bool is_proper(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");
		char component[NAME_MAX + 1];

		if (len > NAME_MAX) {
			return false;
		}
		memcpy(component, path, len);
		component[len] = '\0';
		if (!path_component_valid(component)) {
			return false;
		}
		path += len;
		path += *path == '/' && path[1] ? 1 : 0;
		if (*path == '/') {
			return false;
		}
	}
	return true;
}

int redirect_read(int dirfd, const char *name, char **ret_path)
{
	char value[PATH_MAX];
	ssize_t n = sys_getxattrat(dirfd, name, REDIRECT_ATTR, value,
				   sizeof(value) - 1);

	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	if (n < 0 && n != -ERANGE) {
		return (int)n;
	}
	if (n < 2 || value[0] != '/' || memchr(value, '\0', (size_t)n)) {
		return -EBADMSG;
	}
	value[n] = '\0';
	if (!is_proper(value + 1)) {
		return -EBADMSG;
	}
	*ret_path = strdup(value + 1);
	return *ret_path ? 1 : -ENOMEM;
}
