#include "sshconf.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "failure.h"
#include "fdio.h"
#include "mounts.h"
#include "path.h"
#include "strv.h"
#include "sys.h"

#define ETC_SSH     "/etc/ssh"
#define CONFIG      ETC_SSH "/ssh_config"
#define RULE        "ssh-config"
#define BLANKS      " \t\r\n"
#define DEPTH_MAX   16 /* as ssh's */
#define FILES_MAX   256
#define BYTES_MAX   ((size_t)1024 * 1024)
#define FOLDER_MODE 0700
#define COPY_MODE   0400

/* Where the system's own files are shown as they are. */
static bool is_shown(const char *real)
{
	return path_is_within(real, "/etc") || path_is_within(real, "/usr");
}

static bool contains(const struct strv *files, const char *path)
{
	for (size_t i = 0; i < files->count; i++) {
		if (strcmp(files->list[i], path) == 0) {
			return true;
		}
	}
	return false;
}

static void read_includes(const char *path, int depth, struct strv *files);

/* What a pattern of Include names. */
static void add_pattern(const char *pattern, int depth, struct strv *files)
{
	AUTO_FREE char *whole = pattern[0] == '/'
					? text_copy(pattern)
					: text_format(ETC_SSH "/%s", pattern);
	glob_t found;

	/* "~" is no part of the system's configuration. */
	if (pattern[0] == '~' || glob(whole, 0, NULL, &found) != 0) {
		return;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		AUTO_FREE char *real = realpath(found.gl_pathv[i], NULL);
		struct stat st;

		if (!real || !is_shown(real) || contains(files, real) ||
		    files->count == FILES_MAX || stat(real, &st) < 0 ||
		    !S_ISREG(st.st_mode) || access(real, R_OK) < 0) {
			continue;
		}
		strv_add(files, real);
		read_includes(real, depth + 1, files);
	}
	globfree(&found);
}

/* "Include a b", "include = "a"", in a Host or Match block, too. */
static void read_line(char *line, int depth, struct strv *files)
{
	static const char keyword[] = "include";
	char *at = line + strspn(line, BLANKS);
	char *rest = NULL;

	if (strncasecmp(at, keyword, sizeof(keyword) - 1) != 0) {
		return;
	}
	at += sizeof(keyword) - 1;
	if (!*at || !strchr(BLANKS "=\"", *at)) {
		return;
	}
	for (char *word = strtok_r(at, BLANKS "=\"", &rest);
	     word && *word != '#'; word = strtok_r(NULL, BLANKS "=\"", &rest)) {
		add_pattern(word, depth, files);
	}
}

static void read_includes(const char *path, int depth, struct strv *files)
{
	AUTO_FREE char *line = NULL;
	size_t size = 0;
	FILE *file = depth < DEPTH_MAX ? fopen(path, "re") : NULL;

	while (file && getline(&line, &size, file) >= 0) {
		read_line(line, depth, files);
	}
	if (file) {
		fclose(file);
	}
}

void sshconf_plan(struct mounts *mounts, const char *execution_path)
{
	AUTO_STRV files = {0};

	if (geteuid() == 0) {
		return;
	}
	read_includes(CONFIG, 0, &files);
	for (size_t i = 0; i < files.count; i++) {
		AUTO_FREE char *copy = text_format("%s/" SSHCONF_FOLDER "/%zu",
						   execution_path, i);
		struct mount *mount =
			mounts_add(mounts, MOUNT_RO_BIND, copy, files.list[i]);

		mount->file = true;
		mount->rule = RULE;
	}
}

/* It may be gone, or larger, since it was planned: an empty file will do. */
static int make_copy(const char *from, int folder_fd, const char *name)
{
	AUTO_FD in = sys_openat(AT_FDCWD, from, O_RDONLY | O_CLOEXEC, 0);
	AUTO_FD out =
		sys_openat(folder_fd, name,
			   O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, COPY_MODE);
	AUTO_BUF text = BUF_INIT;

	if (out < 0) {
		return out;
	}
	return in < 0 || fdio_read_all(in, &text, BYTES_MAX)
		       ? 0
		       : fdio_write_all(out, text.data, text.len);
}

int sshconf_make(const struct mounts *mounts, int execution_fd)
{
	AUTO_FD folder = -1;
	int error = 0;

	for (size_t i = 0; !error && i < mounts->count; i++) {
		const struct mount *mount = &mounts->list[i];

		if (!mount->rule || strcmp(mount->rule, RULE) != 0) {
			continue;
		}
		if (folder < 0) {
			error = sys_mkdirat(execution_fd, SSHCONF_FOLDER,
					    FOLDER_MODE);
			folder =
				error ? error
				      : sys_openat(execution_fd, SSHCONF_FOLDER,
						   O_PATH | O_DIRECTORY |
							   O_CLOEXEC,
						   0);
			error = folder < 0 ? folder : 0;
		}
		error = error ? error
			      : make_copy(mount->target, folder,
					  strrchr(mount->source, '/') + 1);
	}
	return error;
}
