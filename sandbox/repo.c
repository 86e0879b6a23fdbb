#include "repo.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buf.h"
#include "err.h"
#include "failure.h"
#include "fdio.h"
#include "path.h"
#include "sys.h"

#define LINE_BYTES_MAX 8192
#define GITDIR         "gitdir: "

/* The first line of a file. -EINVAL where it is none. */
static int read_line(const char *path, char **ret_line)
{
	AUTO_FD fd = sys_openat(AT_FDCWD, path,
				O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
	AUTO_BUF text = BUF_INIT;
	struct stat st;
	int error = fd < 0 ? fd : sys_fstat(fd, &st);

	if (!error && !S_ISREG(st.st_mode)) {
		error = -EINVAL;
	}
	error = error ? error : fdio_read_all(fd, &text, LINE_BYTES_MAX);
	if (error) {
		return error;
	}
	if (text.len == 0 || memchr(text.data, '\0', text.len)) {
		return -EINVAL;
	}
	*ret_line =
		text_format("%.*s", (int)strcspn(text.data, "\r\n"), text.data);
	return 0;
}

/* `path` as written in a file of `folder`. NULL if there is no such thing. */
static char *real_from(const char *folder, const char *path)
{
	AUTO_FREE char *joined = path[0] == '/'
					 ? text_copy(path)
					 : text_format("%s/%s", folder, path);

	return realpath(joined, NULL);
}

static bool has(const char *folder, const char *name)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);

	return access(path, F_OK) == 0;
}

/* ------------------------------------------------------------ what to believe
 */

/* Whether the repository's own note of its worktree names this checkout. */
static bool names_worktree(const char *gitdir, const char *checkout)
{
	AUTO_FREE char *note = text_format("%s/gitdir", gitdir);
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *named = NULL;
	AUTO_FREE char *ours = text_format("%s/.git", checkout);
	AUTO_FREE char *real = realpath(ours, NULL);

	if (read_line(note, &line)) {
		return false;
	}
	named = real_from(gitdir, line);
	return named && real && strcmp(named, real) == 0;
}

/* Whether it lies in the .git of a folder above the checkout. */
static bool is_submodule(const char *gitdir, const char *checkout)
{
	const char *modules = strstr(gitdir, "/.git/modules/");
	AUTO_FREE char *above = NULL;

	if (!modules) {
		return false;
	}
	above = text_format("%.*s", (int)(modules - gitdir), gitdir);
	return path_is_within(checkout, above);
}

/* Whether it is the .git of a folder with other things in it. */
static bool is_of_another(const char *gitdir)
{
	const char *slash = strrchr(gitdir, '/');
	AUTO_FREE char *folder =
		text_format("%.*s", (int)(slash - gitdir), gitdir);
	const struct dirent *entry;
	bool others = false;
	DIR *dir;

	if (strcmp(slash, "/.git") != 0) {
		return false;
	}
	dir = opendir(folder);
	if (!dir) {
		return true;
	}
	while (!others && (entry = readdir(dir)) != NULL) {
		others = strcmp(entry->d_name, ".") != 0 &&
			 strcmp(entry->d_name, "..") != 0 &&
			 strcmp(entry->d_name, ".git") != 0;
	}
	closedir(dir);
	return others;
}

static int not_believed(const char *checkout, const char *gitdir)
{
	return failure(EXIT_NOT_SET_UP,
		       "cannot use checkout '%s': its .git names '%s', which "
		       "does not name it",
		       checkout, gitdir);
}

/* `gitdir` is canonical. */
static int take_gitdir(const char *checkout, const char *gitdir,
		       char **ret_folder)
{
	AUTO_FREE char *note = text_format("%s/commondir", gitdir);
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *common = NULL;

	if (!has(gitdir, "HEAD")) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot use checkout '%s': its .git names '%s', "
			       "which is no repository",
			       checkout, gitdir);
	}
	if (read_line(note, &line) == 0) {
		common = real_from(gitdir, line);
		if (!common || !path_is_within(gitdir, common) ||
		    !names_worktree(gitdir, checkout)) {
			return not_believed(checkout, gitdir);
		}
	} else {
		if (!is_submodule(gitdir, checkout) && is_of_another(gitdir)) {
			return not_believed(checkout, gitdir);
		}
		common = text_copy(gitdir);
	}
	if (path_is_within(checkout, common)) {
		return not_believed(checkout, gitdir);
	}
	if (!path_is_within(common, checkout)) {
		*ret_folder = TAKE_PTR(common);
	}
	return 0;
}

int repo_find(const char *checkout, char **ret_folder)
{
	AUTO_FREE char *git = text_format("%s/.git", checkout);
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *gitdir = NULL;
	struct stat st;

	*ret_folder = NULL;
	if (lstat(git, &st) < 0 || S_ISDIR(st.st_mode)) {
		return 0;
	}
	if (stat(git, &st) < 0) {
		return 0; /* a link to nowhere is no repository to git */
	}
	if (S_ISDIR(st.st_mode)) {
		gitdir = realpath(git, NULL);
	} else if (read_line(git, &line) == 0 &&
		   strncmp(line, GITDIR, strlen(GITDIR)) == 0) {
		gitdir = real_from(checkout, line + strlen(GITDIR));
	}
	/* What leads nowhere is of no use, outside as well. */
	return gitdir ? take_gitdir(checkout, gitdir, ret_folder) : 0;
}
