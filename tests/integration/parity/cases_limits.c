/* Names and paths at their limits. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "parity.h"

static void limits_name_length(void)
{
	char name[300];
	struct stat st;

	memset(name, 'n', sizeof(name));
	name[256] = '\0';
	TRY_OPEN(open(name, O_WRONLY | O_CREAT, 0600));
	TRY_OPEN(open(name, O_RDONLY));
	TRY(mkdir(name, 0700));
	TRY(symlink("x", name));
	TRY(link("f", name));
	TRY(rename("f", name));
	TRY(rename(name, "x"));
	TRY(unlink(name));
	TRY(rmdir(name));
	TRY(stat(name, &st));
	TRY(mknod(name, S_IFIFO | 0600, 0));
	name[255] = '\0';
	TRY(stat(name, &st));
	TRY_OPEN(open(name, O_WRONLY | O_CREAT | O_EXCL, 0600));
	TRY(stat(name, &st));
	name[254] = 'm';
	TRY(rename("f", name));
	record_content("renamed", name);
	TRY(rename(name, "f"));
	TRY(rename("d", name));
	record_listing("renamed", name);
	TRY(rename(name, "d"));
	name[254] = 'l';
	TRY(symlink("x", name));
	name[254] = 'k';
	TRY(link("f", name));
	TRY(unlink(name));
	name[254] = 'n';
	TRY(unlink(name));
	TRY(mkdir(name, 0700));
}

/* Every byte that a name may hold. */
static void limits_bytes(void)
{
	char name[4] = "x";
	int failed = 0;

	TRY(mkdir("bytes", 0755));
	TRY(chdir("bytes"));
	for (int byte = 1; byte < 256; byte++) {
		int fd;

		if (byte == '/') {
			continue;
		}
		name[1] = (char)byte;
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		failed += fd < 0;
		close(fd);
	}
	record("failed", "%d", failed);
	record_listing("bytes", ".");
	for (int byte = 1; byte < 256; byte += 2) {
		if (byte != '/') {
			name[1] = (char)byte;
			failed += unlink(name) != 0;
		}
	}
	record("failed", "%d", failed);
	record_listing("bytes", ".");
}

/* Names that other union file systems give a meaning. */
static void limits_meaningful_names(void)
{
	static const char *const names[] = {
		".wh.f",
		".wh..wh..opq",
		".wh.",
		"...",
		".fuse_hidden0001",
		"#1234",
		"work",
		"upper",
		"index",
		"-",
		"*",
		"\\",
		" ",
		"\n",
		"\t \t",
		"%s%n",
		"\377\376",
		"\303\050",
		"a\rb",
		"\033[31m",
	};

	TRY(mkdir("names", 0755));
	TRY(chdir("names"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		TRY_OPEN(open(names[i], O_WRONLY | O_CREAT | O_EXCL, 0600));
	}
	record_listing("names", ".");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		TRY(rename(names[i], "x"));
		TRY(rename("x", names[i]));
	}
	TRY(unlink(".wh.f"));
	TRY(mkdir(".wh.f", 0755));
	record_listing("names", ".");
	record_content("../f", "../f");
}

static void limits_path_length(void)
{
	static char path[PATH_MAX + 10];
	struct stat st;

	for (size_t i = 0; i + 2 < sizeof(path); i += 2) {
		memcpy(path + i, "./", 2);
	}
	path[PATH_MAX - 2] = 'f';
	path[PATH_MAX - 1] = '\0';
	TRY(stat(path, &st));
	path[PATH_MAX - 1] = 'x';
	path[PATH_MAX] = '\0';
	TRY(stat(path, &st));
	TRY(mkdir(path, 0700));
	TRY(rename("f", path));
}

#define DEPTH 400

/* Deeper than any path can say, one folder at a time. */
static void limits_depth(void)
{
	char name[32];
	int failed = 0;
	int made = 0;
	int fd;

	TRY(chdir("d/sub"));
	for (; made < DEPTH && !failed; made++) {
		snprintf(name, sizeof(name), "folder-%013d", made);
		failed = mkdir(name, 0755) || chdir(name);
	}
	record("made", "%d", made - failed);
	fd = TRY_FD(open("bottom", O_RDWR | O_CREAT, 0600));
	TRY(write(fd, "deep", 4));
	TRY(rename("bottom", "renamed"));
	record_fd_content("bottom", fd);
	record_listing("bottom", ".");
	close(fd);
	TRY(unlink("renamed"));
	while (made > 0) {
		snprintf(name, sizeof(name), "folder-%013d", --made);
		failed += chdir("..") || rmdir(name);
	}
	record("failed", "%d", failed);
}

#define OPEN_FILES 300

static void limits_many_open(void)
{
	static int fds[OPEN_FILES];
	char name[32];
	int failed = 0;

	for (int i = 0; i < OPEN_FILES; i++) {
		snprintf(name, sizeof(name), "d/open-%d", i);
		fds[i] = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
		failed += fds[i] < 0 || write(fds[i], name, 8) != 8;
	}
	for (int i = 0; i < OPEN_FILES; i++) {
		snprintf(name, sizeof(name), "d/open-%d", i);
		failed += unlink(name) != 0;
		failed += pwrite(fds[i], "x", 1, 20) != 1;
	}
	record("failed", "%d", failed);
	record_fd_content("last", fds[OPEN_FILES - 1]);
	for (int i = 0; i < OPEN_FILES; i++) {
		close(fds[i]);
	}
	record_listing("d", "d");
}

const struct parity_case cases_limits[] = {
	{"limits-name-length", limits_name_length, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"limits-bytes", limits_bytes, STATE_FEW, PARITY_ANYONE, NULL},
	{"limits-meaningful-names", limits_meaningful_names, STATE_FEW,
	 PARITY_ANYONE, NULL},
	{"limits-path-length", limits_path_length, STATE_FEW, PARITY_ANYONE,
	 NULL},
	{"limits-depth", limits_depth, STATE_FEW, PARITY_ANYONE, NULL},
	{"limits-many-open", limits_many_open, STATE_FEW, PARITY_ANYONE, NULL},
	{.name = NULL},
};
