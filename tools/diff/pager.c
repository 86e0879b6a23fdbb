#include "pager.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Whether a program of that name is in PATH. */
static bool is_installed(const char *name)
{
	const char *dir = getenv("PATH");

	while (dir && *dir) {
		size_t len = strcspn(dir, ":");
		AUTO_FREE char *path = NULL;

		if (asprintf(&path, "%.*s/%s", (int)len, dir, name) < 0) {
			path = NULL;
			return false;
		}
		if (access(path, X_OK) == 0) {
			return true;
		}
		dir += len + (dir[len] == ':');
	}
	return false;
}

/* "" for none. */
static const char *pager_command(void)
{
	static const char *const names[] = {"GIT_PAGER", "PAGER"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *command = getenv(names[i]);

		if (command) {
			return command;
		}
	}
	return is_installed("less") ? "less" : "";
}

static void run_pager(const char *command, int input)
{
	if (dup2(input, STDIN_FILENO) < 0) {
		_exit(127);
	}
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

void pager_start(struct pager *pager)
{
	const char *command = pager_command();
	int ends[2];

	pager->pid = 0;
	if (!isatty(STDOUT_FILENO) || !*command ||
	    strcmp(command, "cat") == 0 || pipe2(ends, O_CLOEXEC)) {
		return;
	}
	pager->pid = fork();
	if (pager->pid == 0) {
		run_pager(command, ends[0]);
	}
	if (pager->pid > 0) {
		/* Ctrl-C is for the pager; when it ends we get SIGPIPE. */
		signal(SIGINT, SIG_IGN);
		dup2(ends[1], STDOUT_FILENO);
		if (isatty(STDERR_FILENO)) {
			dup2(ends[1], STDERR_FILENO);
		}
	} else {
		pager->pid = 0;
	}
	close(ends[0]);
	close(ends[1]);
}

void pager_wait(struct pager *pager)
{
	int status;

	if (pager->pid == 0) {
		return;
	}
	fflush(stdout);
	fflush(stderr);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	while (waitpid(pager->pid, &status, 0) < 0 && errno == EINTR) {
	}
	pager->pid = 0;
}
