/* rename and renameat2. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "parity.h"

#define MOVE(from, to, flags)                                                  \
	TRY(renameat2(AT_FDCWD, from, AT_FDCWD, to, flags))

static void rename_file(void)
{
	TRY(rename("f", "new"));
	TRY(access("f", F_OK));
	record_content("new", "new");
	TRY(rename("new", "gone"));
	TRY(rename("gone", "d/old"));
	TRY(rename("d/old", "d/sub/deep/f"));
	record_content("moved", "d/sub/deep/f");
	TRY(rename("d/sub/deep/f", "f"));
	TRY(rename("f", "f"));
	TRY(rename("f", "./f"));
	TRY(rename("nothing", "x"));
	TRY(rename("f", "nodir/x"));
	TRY(rename("f", "g/x"));
	TRY(rename("f", "d"));
	TRY(rename("f", "e"));
	TRY(rename("f", "x/"));
	TRY(rename("f/", "x"));
	TRY(rename("", "x"));
	TRY(rename("f", ""));
	TRY(rename("f", "."));
	TRY(rename("p", "d/p"));
	TRY(rename("s", "s2"));
	record_listing(".", ".");
}

static void rename_over(void)
{
	TRY(rename("f", "g"));
	record_content("g", "g");
	record_xattrs("g", "g");
	TRY(rename("g", "d/a"));
	TRY(rename("d/a", "l"));
	record_stat("l", "l");
	TRY(rename("lx", "l"));
	record_stat("l", "l");
	TRY(rename("l", "p"));
	TRY(rename("p", "s"));
	TRY(rename("big", "h1"));
	record_content("h1", "h1");
	record_stat("h2", "h2");
	TRY(rename("h1", "d/sub/x"));
	TRY(rename("d/b", "d/sub/deep/y"));
	record_listing("d", "d");
}

static void rename_hard_links(void)
{
	TRY(rename("h1", "h2"));
	record_listing(".", ".");
	TRY(rename("h1", "d/h1"));
	record_stat("d/h1", "d/h1");
	TRY(rename("f", "h2"));
	record_stat("d/h1", "d/h1");
	record_content("d/h1", "d/h1");
	MOVE("d/h1", "h2", RENAME_EXCHANGE);
	record_content("h2", "h2");
}

static void rename_noreplace(void)
{
	MOVE("f", "g", RENAME_NOREPLACE);
	MOVE("f", "d", RENAME_NOREPLACE);
	MOVE("f", "f", RENAME_NOREPLACE);
	MOVE("f", "lx", RENAME_NOREPLACE);
	MOVE("f", "gone", RENAME_NOREPLACE);
	MOVE("f", "x", RENAME_NOREPLACE);
	MOVE("d", "e", RENAME_NOREPLACE);
	MOVE("e", "goned", RENAME_NOREPLACE);
	record_listing(".", ".");
	record_listing("goned", "goned");
}

static void rename_exchange(void)
{
	MOVE("f", "g", RENAME_EXCHANGE);
	record_content("f", "f");
	record_content("g", "g");
	MOVE("f", "d/a", RENAME_EXCHANGE);
	MOVE("l", "d/b", RENAME_EXCHANGE);
	MOVE("f", "gone", RENAME_EXCHANGE);
	MOVE("gone", "f", RENAME_EXCHANGE);
	MOVE("f", "f", RENAME_EXCHANGE);
	MOVE("f", "d/sub/x", RENAME_EXCHANGE);
	record_listing("d", "d");
	MOVE("f", "d", RENAME_EXCHANGE);
	record_listing("f", "f");
	record_content("d", "d");
	MOVE("f", "f/sub", RENAME_EXCHANGE);
	MOVE("f", "e", RENAME_EXCHANGE);
	record_listing("f", "f");
	record_listing("e", "e");
	record_listing("e/sub", "e/sub");
}

static void rename_flags(void)
{
	MOVE("f", "x", RENAME_NOREPLACE | RENAME_EXCHANGE);
	MOVE("f", "x", 1U << 3);
	MOVE("f", "g", 1U << 20);
	MOVE("f", "g", RENAME_EXCHANGE | RENAME_WHITEOUT);
	record_listing(".", ".");
	record_content("g", "g");
}

static void rename_dir(void)
{
	TRY(rename("d", "d2"));
	TRY(access("d", F_OK));
	record_listing("d2", "d2");
	record_content("d2/a", "d2/a");
	record_content("d2/sub/deep/y", "d2/sub/deep/y");
	TRY(rename("d2", "e/d3"));
	record_listing("e/d3", "e/d3");
	TRY(rename("e/d3/sub", "sub"));
	TRY(rename("sub/deep", "e/d3/deep"));
	record_listing("e/d3", "e/d3");
	record_listing("sub", "sub");
	TRY(rename("e/d3", "d"));
	TRY(unlink("d/a"));
	TRY_OPEN(open("d/new", O_WRONLY | O_CREAT | O_EXCL, 0600));
	TRY_OPEN(open("d/deep/y", O_RDONLY));
	TRY(rename("d", "goned"));
	record_listing("goned", "goned");
	TRY(rename("goned", "gone"));
	TRY(rename("gone", "d"));
	record_content("d/b", "d/b");
	record_content("d/deep/y", "d/deep/y");
}

static void rename_dir_over(void)
{
	TRY(rename("d", "d"));
	TRY(rename("d", "f"));
	TRY(rename("f", "d"));
	TRY(rename("d", "l"));
	TRY(rename("d", "ld"));
	TRY(rename("e", "d"));
	TRY(rename("d", "d/sub"));
	TRY(rename("d", "d/sub/deep/d"));
	TRY(rename("d/sub", "d"));
	TRY(rename("d/sub/deep", "d/sub"));
	TRY(rename("d/..", "x"));
	TRY(rename("d/.", "x"));
	TRY(rename("d", "e"));
	record_listing("e", "e");
	record_listing("e/sub", "e/sub");
	TRY(access("d", F_OK));
	TRY(mkdir("d", 0755));
	record_listing("d", "d");
	TRY(rename("e/sub", "d"));
	record_listing("d", "d");
	record_listing("e", "e");
}

/* What was below an old name must not show below a new folder of that name. */
static void rename_dir_and_make_again(void)
{
	TRY(rename("d", "moved"));
	TRY(mkdir("d", 0755));
	record_listing("d", "d");
	TRY(mkdir("d/sub", 0755));
	record_listing("d/sub", "d/sub");
	TRY_OPEN(open("d/a", O_WRONLY | O_CREAT | O_EXCL, 0600));
	TRY(rename("moved/sub", "d/sub"));
	record_listing("d/sub", "d/sub");
	TRY(rename("moved", "d/sub/deep/moved"));
	record_content("d/sub/deep/moved/a", "d/sub/deep/moved/a");
	TRY(rename("d", "e/d"));
	record_content("deep down", "e/d/sub/deep/moved/a");
	TRY(unlink("e/d/sub/deep/moved/a"));
	TRY(unlink("e/d/sub/deep/moved/b"));
	TRY(rmdir("e/d/sub/deep/moved"));
	record_listing("e/d/sub/deep", "e/d/sub/deep");
}

/* Folders in use while they are moved. */
static void rename_dir_in_use(void)
{
	struct stat up;
	struct stat top;
	int deep = TRY_FD(open("d/sub/deep", O_RDONLY | O_DIRECTORY));
	int file = TRY_FD(open("d/sub/x", O_RDWR));

	TRY(chdir("d/sub"));
	TRY(rename("../../d", "../../e/moved"));
	TRY_OPEN(open("x", O_RDONLY));
	TRY_OPEN(open("new", O_WRONLY | O_CREAT, 0600));
	TRY(stat("../..", &up));
	TRY(stat("../../../e", &top));
	record("the parent is e", "%d", up.st_ino == top.st_ino);
	TRY_OPEN(openat(deep, "y", O_RDONLY));
	TRY_OPEN(openat(deep, "fresh", O_WRONLY | O_CREAT, 0600));
	TRY(pwrite(file, "written after", 13, 0));
	TRY(chdir("../../.."));
	record_content("x", "e/moved/sub/x");
	record_listing("deep", "e/moved/sub/deep");
	TRY(renameat(deep, "y", deep, "z"));
	TRY(fstatat(deep, "..", &up, 0));
	TRY(stat("e/moved/sub", &top));
	record("the parent is sub", "%d", up.st_ino == top.st_ino);
	close(deep);
	close(file);
}

const struct parity_case cases_rename[] = {
	{"rename-file", rename_file, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-over", rename_over, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-hard-links", rename_hard_links, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"rename-noreplace", rename_noreplace, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-exchange", rename_exchange, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-flags", rename_flags, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-dir", rename_dir, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-dir-over", rename_dir_over, STATE_ALL, PARITY_ANYONE, NULL},
	{"rename-dir-and-make-again", rename_dir_and_make_again, STATE_ALL,
	 PARITY_ANYONE, NULL},
	{"rename-dir-in-use", rename_dir_in_use, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{.name = NULL},
};
