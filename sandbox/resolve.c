#include "resolve.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "failure.h"
#include "path.h"

int resolve_folder(const char *what, const char *path, char **ret_path)
{
	AUTO_FREE char *real = realpath(path, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0) {
		return failure(EXIT_NOT_SET_UP, "cannot use %s '%s': %s", what,
			       path, err_text(errno));
	}
	if (!S_ISDIR(st.st_mode)) {
		return failure(EXIT_NOT_SET_UP, "cannot use %s '%s': %s", what,
			       path, err_text(ENOTDIR));
	}
	*ret_path = TAKE_PTR(real);
	return 0;
}

/* The git top level that `dir` is in: the nearest folder with a .git, which
 * is a file in a worktree. Else `dir`. Without asking git, which would read
 * the configuration of a repository that nobody trusts yet. */
static char *find_top_level(const char *dir)
{
	char *top = text_copy(dir);

	for (;;) {
		AUTO_FREE char *git = text_format("%s/.git", top);
		char *slash = strrchr(top, '/');

		if (access(git, F_OK) == 0) {
			return top;
		}
		if (slash == top) {
			free(top);
			return text_copy(dir);
		}
		*slash = '\0';
	}
}

int resolve_checkout(const char *option, char **ret_checkout, char **ret_cwd)
{
	AUTO_FREE char *cwd = NULL;
	AUTO_FREE char *checkout = NULL;
	int code = resolve_folder("current folder", ".", &cwd);

	if (option) {
		code = resolve_folder("checkout", option, &checkout);
	} else if (!code) {
		checkout = find_top_level(cwd);
	}
	if (code) {
		return code;
	}
	*ret_cwd = text_copy(cwd && path_is_within(cwd, checkout) ? cwd
								  : checkout);
	*ret_checkout = TAKE_PTR(checkout);
	return 0;
}

int resolve_home(char **ret_home)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *real = NULL;

	if (!home || home[0] != '/') {
		const struct passwd *user = getpwuid(getuid());

		home = user ? user->pw_dir : "";
	}
	real = realpath(home, NULL);
	if (!real) {
		real = text_copy(home);
	}
	if (real[0] != '/' || real[1] == '\0') {
		return failure(EXIT_NOT_SET_UP,
			       "cannot use '%s' as the home folder", home);
	}
	*ret_home = TAKE_PTR(real);
	return 0;
}

static bool has_dot_dot(const char *path)
{
	for (; (path = strstr(path, "/..")) != NULL; path++) {
		if (path[3] == '/' || path[3] == '\0') {
			return true;
		}
	}
	return false;
}

char *resolve_future(const char *path)
{
	AUTO_FREE char *head = text_copy(path);
	AUTO_FREE char *real = NULL;
	const char *rest;

	while (!(real = realpath(*head ? head : "/", NULL))) {
		char *slash = strrchr(head, '/');

		if (!slash) {
			return NULL;
		}
		*slash = '\0';
	}
	rest = path + strlen(head);
	if (has_dot_dot(rest)) {
		return NULL;
	}
	return text_format("%s%s", strcmp(real, "/") == 0 ? "" : real, rest);
}
