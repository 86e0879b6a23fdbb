/* Opening: every way in to every type; permissions; running programs. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

struct open_flag {
	const char *name;
	int flags;
};

static const struct open_flag open_flags[] = {
	{"O_RDONLY", O_RDONLY},
	{"O_WRONLY", O_WRONLY},
	{"O_RDWR", O_RDWR},
	{"O_WRONLY|O_APPEND", O_WRONLY | O_APPEND},
	{"O_RDONLY|O_DIRECTORY", O_RDONLY | O_DIRECTORY},
	{"O_RDONLY|O_NOFOLLOW", O_RDONLY | O_NOFOLLOW},
	{"O_RDONLY|O_NOATIME", O_RDONLY | O_NOATIME},
	{"O_PATH", O_PATH},
	{"O_PATH|O_NOFOLLOW", O_PATH | O_NOFOLLOW},
	{"O_RDONLY|O_SYNC", O_RDONLY | O_SYNC},
	{"O_WRONLY|O_DSYNC", O_WRONLY | O_DSYNC},
	{"O_RDWR|O_DIRECTORY", O_RDWR | O_DIRECTORY},
	{"3", 3},
};

static void open_modes(void)
{
	static const char *const paths[] = {
		"f",   "d",   "e",    "l",          "ld",      "lx",
		"p",   "s",   "gone", "f/",         "f/x",     "ld/a",
		"ld/", "d/.", "d/..", "d/sub/../a", "gone/..",
	};
	char label[128];

	for (size_t p = 0; p < ARRAY_SIZE(paths); p++) {
		for (size_t i = 0; i < ARRAY_SIZE(open_flags); i++) {
			snprintf(label, sizeof(label), "open(%s, %s)", paths[p],
				 open_flags[i].name);
			record_open(label, open(paths[p], open_flags[i].flags |
								  O_NONBLOCK));
		}
	}
	record_content("f", "f");
}

static void open_trunc(void)
{
	struct stat before;
	struct stat after;
	int reader;
	int fd;

	TRY(stat("f", &before));
	reader = TRY_FD(open("f", O_RDONLY));
	fd = TRY_FD(open("f", O_WRONLY | O_TRUNC));
	record_fstat("writer", fd);
	record_fstat("reader", reader);
	TRY(stat("f", &after));
	record("same inode", "%d", before.st_ino == after.st_ino);
	TRY(write(fd, "short\n", 6));
	record_fd_content("reader sees", reader);
	TRY(close(fd));
	TRY(close(reader));
	TRY_OPEN(open("big", O_RDONLY | O_TRUNC));
	record_stat("big", "big");
	TRY_OPEN(open("d/sub/deep/y", O_RDWR | O_CREAT | O_TRUNC, 0600));
	TRY_OPEN(open("d", O_RDONLY | O_TRUNC));
	TRY_OPEN(open("l", O_WRONLY | O_TRUNC));
	TRY_OPEN(open("h2", O_WRONLY | O_TRUNC));
	record_stat("h1", "h1");
}

static void open_append(void)
{
	int fd = TRY_FD(open("f", O_RDWR | O_APPEND));
	int other = TRY_FD(open("f", O_WRONLY));

	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(write(fd, "one\n", 4));
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(write(fd, "two\n", 4));
	TRY(pwrite(fd, "anywhere\n", 9, 2));
	TRY(pwrite(other, "X", 1, 0));
	TRY(lseek(other, 100, SEEK_SET));
	TRY(write(other, "far\n", 4));
	TRY(write(fd, "after far\n", 10));
	record_fd_content("all", fd);
	TRY(fcntl(other, F_SETFL, O_APPEND));
	TRY(write(other, "now appending\n", 14));
	record_fd_content("all", fd);
	TRY(close(fd));
	TRY(close(other));
}

static void try_access(const char *path)
{
	static const int modes[] = {F_OK, R_OK,        W_OK,
				    X_OK, R_OK | W_OK, R_OK | W_OK | X_OK};
	char label[64];

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		snprintf(label, sizeof(label), "access(%s, %d)", path,
			 modes[i]);
		record_result(label, access(path, modes[i]));
		record_result(label,
			      faccessat(AT_FDCWD, path, modes[i], AT_EACCESS));
	}
}

static void open_permissions(void)
{
	static const mode_t modes[] = {0,    0100, 0200, 0400,
				       0500, 0600, 0700, 0077};
	char label[64];

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		TRY(chmod("f", modes[i]));
		try_access("f");
		snprintf(label, sizeof(label), "file %04o", modes[i]);
		record_open(label, open("f", O_RDONLY));
		record_open(label, open("f", O_WRONLY));
		record_open(label, open("f", O_RDWR));
		record_result(label, truncate("f", 5));
		TRY(chmod("d", modes[i]));
		try_access("d");
		snprintf(label, sizeof(label), "folder %04o", modes[i]);
		record_open(label, open("d", O_RDONLY));
		record_open(label, open("d/a", O_RDONLY));
		record_open(label, open("d/new", O_WRONLY | O_CREAT, 0600));
		record_result(label, unlink("d/new"));
		record_result(label, mkdir("d/new", 0700));
		record_result(label, rmdir("d/new"));
		record_result(label, rename("d/b", "d/c"));
		record_result(label, rename("d/c", "d/b"));
	}
	TRY(chmod("d", 0755));
	TRY(chmod("f", 0644));
}

/* What chmod takes away doesn't hold for who has it open. */
static void open_then_chmod(void)
{
	int fd = TRY_FD(open("f", O_RDWR));
	int dir = TRY_FD(open("d", O_RDONLY | O_DIRECTORY));
	char byte;

	TRY(fchmod(fd, 0));
	TRY(pread(fd, &byte, 1, 0));
	TRY(pwrite(fd, "T", 1, 0));
	TRY(ftruncate(fd, 4));
	record_fstat("f", fd);
	record_fd_content("f", fd);
	TRY_OPEN(open("f", O_RDONLY));
	TRY(fchmod(dir, 0));
	TRY_OPEN(openat(dir, "a", O_RDONLY));
	TRY(fchmod(dir, 0755));
	TRY_OPEN(openat(dir, "a", O_RDONLY));
	TRY(fchmod(fd, 0644));
	/* Created read-only, opened for writing: tar and cp do that. */
	TRY(close(fd));
	fd = TRY_FD(open("d/readonly", O_WRONLY | O_CREAT | O_EXCL, 0400));
	TRY(write(fd, "written\n", 8));
	TRY(close(fd));
	record_content("d/readonly", "d/readonly");
	fd = TRY_FD(open("d/nothing", O_RDWR | O_CREAT | O_EXCL, 0));
	TRY(write(fd, "written\n", 8));
	TRY(pread(fd, &byte, 1, 0));
	TRY(close(fd));
	TRY(unlink("d/nothing"));
}

/* Runs `path`; records how that ended. */
static void run_program(const char *label, const char *path)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child == 0) {
		execl(path, path, (char *)NULL);
		_exit(errno);
	}
	waitpid(child, &status, 0);
	record(label, "%s",
	       WIFEXITED(status) && WEXITSTATUS(status)
		       ? err_name(WEXITSTATUS(status))
		       : "ran");
}

static void copy_program(const char *to)
{
	int from = open("/bin/true", O_RDONLY);
	int fd = TRY_FD(open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755));

	while (sendfile(fd, from, NULL, 1 << 20) > 0) {
	}
	close(from);
	run_program("while open for writing", to);
	TRY(close(fd));
	run_program("closed", to);
}

static void open_and_run(void)
{
	int fd;

	copy_program("program");
	copy_program("d/program");
	copy_program("d/program");
	TRY(chmod("program", 0644));
	run_program("not executable", "./program");
	TRY(chmod("program", 0111));
	run_program("executable only", "./program");
	run_program("a folder", "./d");
	run_program("an empty folder", "./e");
	run_program("nothing", "./gone");
	fd = TRY_FD(open("script", O_WRONLY | O_CREAT, 0755));
	TRY(dprintf(fd, "#!/bin/sh\nexit 0\n"));
	run_program("a script while open", "./script");
	TRY(close(fd));
	run_program("a script", "./script");
	TRY(rename("d/program", "d/sub/program"));
	run_program("renamed", "d/sub/program");
	TRY(link("d/sub/program", "linked"));
	run_program("linked", "./linked");
}

/* The same inode under all that can be done to a name. */
static void inode_is_constant(void)
{
	struct stat first;
	struct stat now;
	int fd;

#define SAME(path)                                                             \
	do {                                                                   \
		TRY(lstat(path, &now));                                        \
		record("same inode", "%d",                                     \
		       now.st_ino == first.st_ino &&                           \
			       now.st_dev == first.st_dev);                    \
	} while (0)

	TRY(lstat("f", &first));
	TRY(chmod("f", 0600));
	SAME("f");
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(write(fd, "new", 3));
	TRY(close(fd));
	SAME("f");
	TRY(rename("f", "f2"));
	SAME("f2");
	TRY(rename("f2", "d/sub/f3"));
	SAME("d/sub/f3");
	TRY(link("d/sub/f3", "f"));
	SAME("f");
	TRY(unlink("d/sub/f3"));
	SAME("f");
	TRY(truncate("f", 0));
	SAME("f");
	TRY(lstat("d", &first));
	TRY(mkdir("d/new", 0755));
	SAME("d");
	TRY(chmod("d", 0700));
	SAME("d");
	TRY(lstat("l", &first));
	TRY(rename("l", "l2"));
	SAME("l2");
	TRY(lstat("h1", &first));
	SAME("h2");
	TRY(chmod("h2", 0600));
	SAME("h1");
	SAME("h2");
#undef SAME
}

const struct parity_case cases_open[] = {
	{"open-modes", open_modes, STATE_ALL, PARITY_ANYONE, NULL},
	{"open-trunc", open_trunc, STATE_ALL, PARITY_ANYONE, NULL},
	{"open-append", open_append, STATE_ALL, PARITY_ANYONE, NULL},
	{"open-permissions", open_permissions, STATE_ALL, PARITY_ANYONE, NULL},
	{"open-then-chmod", open_then_chmod, STATE_ALL, PARITY_ANYONE, NULL},
	{"open-and-run", open_and_run, STATE_FEW, PARITY_ANYONE, NULL},
	{"inode-is-constant", inode_is_constant, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{.name = NULL},
};
