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

static const char *const redirect_attrs[] = {
	REDIRECT_ATTR,
	"trusted.overlay.redirect",
};

/* What the attribute says, not yet checked; 0 where there is none. */
static ssize_t read_value(int dirfd, const char *name, bool foreign,
			  char value[PATH_MAX])
{
	size_t count = foreign ? ARRAY_SIZE(redirect_attrs) : 1;

	for (size_t i = 0; i < count; i++) {
		ssize_t n = sys_getxattrat(dirfd, name, redirect_attrs[i],
					   value, PATH_MAX - 1);

		if (n == -ERANGE || n == 0) {
			return -EBADMSG;
		}
		if (n != -ENODATA && n != -EOPNOTSUPP) {
			return n;
		}
	}
	return 0;
}

int redirect_read(int dirfd, const char *name, bool foreign, char **ret_path)
{
	char value[PATH_MAX];
	ssize_t n = read_value(dirfd, name, foreign, value);
	bool absolute;

	if (n <= 0) {
		return (int)n;
	}
	value[n] = '\0';
	absolute = value[0] == '/';
	if (strlen(value) != (size_t)n || (absolute && n == 1) ||
	    !is_proper(value + absolute) ||
	    (!absolute && (!foreign || strchr(value, '/')))) {
		return -EBADMSG;
	}
	*ret_path = strdup(value + absolute);
	if (!*ret_path) {
		return -ENOMEM;
	}
	return absolute ? REDIRECT_PATH : REDIRECT_NAME;
}
