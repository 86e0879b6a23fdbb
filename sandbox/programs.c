#include "programs.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "child.h"
#include "failure.h"
#include "strv.h"

/* --clearenv is of 0.5, --json-status-fd of 0.3; 0.8 is what is tested. */
#define BWRAP_MAJOR 0
#define BWRAP_MINOR 8

/* Relative to the folder that this program is in. */
static const char *const daemon_places[] = {
	"legato-fs",
	"../fs/fuse/legato-fs",
	"../fs/legato-fs",
	NULL,
};
static const char *const shim_places[] = {
	"legato-exec",
	"../libexec/legato/legato-exec",
	NULL,
};

static const char *const data_places[] = {
	"data",
	"../share/legato",
	NULL,
};

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

char *programs_in_path(const char *name)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *folders = text_copy(path ? path : "/usr/bin:/bin");
	char *save = NULL;

	for (char *folder = strtok_r(folders, ":", &save); folder;
	     folder = strtok_r(NULL, ":", &save)) {
		AUTO_FREE char *file = text_format("%s/%s", folder, name);

		/* A relative folder would find what the checkout brings. */
		if (folder[0] == '/' && is_program(file)) {
			return TAKE_PTR(file);
		}
	}
	return NULL;
}

static char *own_folder(void)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len <= 0) {
		return text_copy("");
	}
	path[len] = '\0';
	*strrchr(path, '/') = '\0';
	return text_copy(path);
}

/* The canonical path of the first of `places` that is a program. */
static char *find_own(const char *const *places, const char *installed)
{
	AUTO_FREE char *folder = own_folder();

	for (; *places; places++) {
		AUTO_FREE char *file = text_format("%s/%s", folder, *places);

		if (is_program(file)) {
			return realpath(file, NULL);
		}
	}
	return is_program(installed) ? text_copy(installed) : NULL;
}

char *programs_data_folder(void)
{
	AUTO_FREE char *own = own_folder();

	for (const char *const *at = data_places; *at; at++) {
		AUTO_FREE char *folder = text_format("%s/%s", own, *at);
		AUTO_FREE char *file = text_format("%s/hidden.yaml", folder);

		if (access(file, R_OK) == 0) {
			return TAKE_PTR(folder);
		}
	}
	return text_copy(LEGATO_DATADIR);
}

/* Out of "bubblewrap 0.8.0". */
static bool parse_version(const char *text, long *ret_major, long *ret_minor)
{
	static const char prefix[] = "bubblewrap ";
	char *end;

	if (strncmp(text, prefix, strlen(prefix)) != 0) {
		return false;
	}
	*ret_major = strtol(text + strlen(prefix), &end, 10);
	if (*end != '.') {
		return false;
	}
	*ret_minor = strtol(end + 1, &end, 10);
	return *end == '.' || *end == '\n';
}

int programs_ask_bwrap(const struct programs *programs,
		       struct child_question *question)
{
	AUTO_STRV argv = {0};

	strv_add_all(&argv, programs->bwrap, "--version", NULL);
	return child_ask(question, argv.list, NULL, NULL);
}

int programs_check_bwrap(const struct programs *programs,
			 struct child_question *question)
{
	AUTO_BUF output = BUF_INIT;
	long major;
	long minor;

	if (child_answer(question, &output) != 0 ||
	    !parse_version(output.data, &major, &minor)) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot tell the version of '%s'",
			       programs->bwrap);
	}
	if (major == BWRAP_MAJOR && minor < BWRAP_MINOR) {
		return failure(EXIT_NOT_SET_UP,
			       "bubblewrap %ld.%ld is too old: %d.%d is needed",
			       major, minor, BWRAP_MAJOR, BWRAP_MINOR);
	}
	return 0;
}

int programs_find(struct programs *ret_programs)
{
	const char *daemon = getenv("LEGATO_FS");
	struct programs *programs = ret_programs;

	*programs = (struct programs){
		.bwrap = programs_in_path("bwrap"),
		.daemon = daemon ? realpath(daemon, NULL)
				 : find_own(daemon_places,
					    LEGATO_BINDIR "/legato-fs"),
		.shim = find_own(shim_places, LEGATO_LIBEXECDIR "/legato-exec"),
	};
	if (!programs->bwrap) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot find 'bwrap' in PATH: install "
			       "bubblewrap");
	}
	if (!programs->daemon || !is_program(programs->daemon)) {
		return failure(EXIT_NOT_SET_UP, "cannot find '%s'",
			       daemon ? daemon : "legato-fs");
	}
	if (!programs->shim) {
		return failure(EXIT_NOT_SET_UP, "cannot find 'legato-exec'");
	}
	if (geteuid() != 0) {
		AUTO_FREE char *fusermount = programs_in_path("fusermount3");

		if (!fusermount) {
			return failure(EXIT_NOT_SET_UP,
				       "cannot find 'fusermount3' in PATH, "
				       "which mounts for ordinary users: "
				       "install fuse3");
		}
	}
	return 0;
}

void programs_release(struct programs *programs)
{
	free(programs->bwrap);
	free(programs->daemon);
	free(programs->shim);
	*programs = (struct programs){0};
}
