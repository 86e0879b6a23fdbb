/* Hard links and symbolic links. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "parity.h"

static void link_files(void)
{
	TRY(link("f", "new"));
	record_stat("f", "f");
	record_stat("new", "new");
	TRY(link("f", "new"));
	TRY(link("f", "g"));
	TRY(link("f", "gone"));
	TRY(link("f", "d/old"));
	TRY(link("f", "d/sub/deep/f"));
	record_stat("f", "f");
	TRY(link("d", "d3"));
	TRY(link("nothing", "x"));
	TRY(link("f", "nodir/x"));
	TRY(link("f/", "x"));
	TRY(link("f", "x/"));
	TRY(link("l", "l2"));
	record_stat("l2", "l2");
	TRY(link("lx", "lx2"));
	TRY(linkat(AT_FDCWD, "l", AT_FDCWD, "followed", AT_SYMLINK_FOLLOW));
	record_stat("followed", "followed");
	TRY(link("p", "p2"));
	record_stat("p2", "p2");
	TRY(link("s", "s2"));
	TRY(unlink("f"));
	record_stat("new", "new");
	record_content("new", "new");
}

static void link_shares_all(void)
{
	int fd = TRY_FD(open("h1", O_WRONLY | O_APPEND));

	TRY(write(fd, "by h1\n", 6));
	TRY(close(fd));
	record_content("h2", "h2");
	TRY(chmod("h2", 0600));
	record_stat("h1", "h1");
	TRY(link("h2", "d/h3"));
	record_stat("h1", "h1");
	fd = TRY_FD(open("d/h3", O_RDWR | O_TRUNC));
	TRY(write(fd, "by h3\n", 6));
	TRY(close(fd));
	record_content("h1", "h1");
	record_content("h2", "h2");
	TRY(unlink("h2"));
	record_stat("h1", "h1");
	TRY(rename("h1", "e/h1"));
	TRY(truncate("e/h1", 2));
	record_content("d/h3", "d/h3");
	TRY(unlink("e/h1"));
	record_stat("d/h3", "d/h3");
}

/* The second name is only looked at after the first was copied up. */
static void link_seen_late(void)
{
	int fd = TRY_FD(open("h2", O_RDONLY));
	int writer = TRY_FD(open("h1", O_WRONLY));

	TRY(write(writer, "TWO", 3));
	record_fd_content("h2", fd);
	TRY(close(writer));
	record_content("h2", "h2");
	TRY(unlink("h1"));
	TRY(link("h2", "h1"));
	record_stat("h1", "h1");
	close(fd);
}

static void symlinks(void)
{
	char target[64];
	static char longest[4097];

	TRY(symlink("anything", "new"));
	record_stat("new", "new");
	TRY(symlink("x", "new"));
	TRY(symlink("x", "f"));
	TRY(symlink("x", "d"));
	TRY(symlink("x", "gone"));
	TRY(symlink("x", "goned/x"));
	TRY(symlink("", "empty"));
	TRY(symlink("x", "nodir/x"));
	TRY(symlink("x", "x/"));
	TRY(symlink("d", "ld/again"));
	TRY(symlink("l\n\377", "odd"));
	TRY(readlink("l", target, sizeof(target)));
	TRY(readlink("l", target, 1));
	TRY(readlink("f", target, sizeof(target)));
	TRY(readlink("d", target, sizeof(target)));
	TRY(readlink("nothing", target, sizeof(target)));
	TRY(readlink("ld/", target, sizeof(target)));
	TRY(readlink("odd", target, sizeof(target)));
	memset(longest, 't', 4096);
	TRY(symlink(longest, "too long"));
	longest[4095] = '\0';
	TRY(symlink(longest, "long"));
	record_stat("long", "long");
	record("long is whole", "%d",
	       readlink("long", longest, sizeof(longest)) == 4095);
	TRY(access("long", F_OK));
	TRY(symlink("loop2", "loop1"));
	TRY(symlink("loop1", "loop2"));
	TRY(access("loop1", F_OK));
	TRY_OPEN(open("loop1", O_RDONLY | O_CREAT, 0600));
	TRY(unlink("l"));
	TRY(symlink("g", "l"));
	record("l", "%.*s", (int)readlink("l", target, sizeof(target)), target);
}

const struct parity_case cases_link[] = {
	{"link-files", link_files, STATE_ALL, PARITY_ANYONE, NULL},
	{"link-shares-all", link_shares_all, STATE_ALL, PARITY_ANYONE, NULL},
	{"link-seen-late", link_seen_late, STATE_ALL, PARITY_ANYONE, NULL},
	{"symlinks", symlinks, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
