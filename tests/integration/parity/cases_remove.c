/* Removing names, and files and folders that are removed while in use. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

static void remove_files(void)
{
	TRY(unlink("f"));
	TRY(unlink("f"));
	TRY(unlink("gone"));
	TRY(unlink("d"));
	TRY(unlink("g/"));
	TRY(unlink("g/x"));
	TRY(unlink("nodir/x"));
	TRY(unlink("l"));
	TRY(unlink("lx"));
	TRY(unlink("ld/"));
	TRY(unlink("ld"));
	TRY(unlink("p"));
	TRY(unlink("s"));
	TRY(unlink("."));
	TRY(unlink(""));
	TRY(unlink("d/a"));
	TRY(unlinkat(AT_FDCWD, "d/sub", 0));
	TRY(unlinkat(AT_FDCWD, "big", AT_REMOVEDIR));
	TRY(unlinkat(AT_FDCWD, "big", 0x4));
	record_listing(".", ".");
	record_listing("d", "d");
}

static void remove_and_make_again(void)
{
	int fd;

	for (int i = 0; i < 3; i++) {
		TRY(unlink("d/a"));
		TRY(access("d/a", F_OK));
		fd = TRY_FD(open("d/a", O_RDWR | O_CREAT | O_EXCL, 0600));
		record_fd_content("new d/a", fd);
		record_xattrs("new d/a", "d/a");
		TRY(dprintf(fd, "round %d\n", i));
		TRY(close(fd));
		record_content("d/a", "d/a");
	}
	TRY(unlink("f"));
	TRY(mkdir("f", 0700));
	record_listing("f", "f");
	TRY(rmdir("f"));
	TRY(symlink("g", "f"));
	record_content("through f", "f/../g");
	TRY(unlink("f"));
	TRY(link("g", "f"));
	record_stat("f", "f");
}

static void remove_links(void)
{
	struct stat st;

	record_stat("h1", "h1");
	TRY(unlink("h2"));
	record_stat("h1", "h1");
	record_content("h1", "h1");
	TRY(stat("h2", &st));
	TRY(link("h1", "d/h3"));
	TRY(unlink("h1"));
	record_stat("d/h3", "d/h3");
	record_content("d/h3", "d/h3");
	TRY(unlink("d/h3"));
}

static void remove_dirs(void)
{
	TRY(rmdir("d"));
	TRY(rmdir("f"));
	TRY(rmdir("ld"));
	TRY(rmdir("l"));
	TRY(rmdir("gone"));
	TRY(rmdir("e/."));
	TRY(rmdir("e/.."));
	TRY(rmdir("."));
	TRY(rmdir("d/sub"));
	TRY(rmdir("e"));
	TRY(rmdir("e"));
	TRY(access("e", F_OK));
	TRY(unlink("d/sub/deep/y"));
	TRY(rmdir("d/sub/deep"));
	TRY(unlink("d/sub/x"));
	TRY(rmdir("d/sub"));
	TRY(unlink("d/a"));
	TRY(rmdir("d"));
	TRY(unlink("d/b"));
	TRY(rmdir("d"));
	TRY(mkdir("d", 0700));
	record_listing("d", "d");
	TRY(mkdir("d/sub", 0700));
	record_listing("d/sub", "d/sub");
	TRY(mkdir("e", 0700));
	record_listing("e", "e");
	record_xattrs("d", "d");
}

static void remove_tree(const char *path)
{
	char below[64];
	DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.') {
			continue;
		}
		snprintf(below, sizeof(below), "%s/%.30s", path, entry->d_name);
		if (entry->d_type == DT_DIR) {
			remove_tree(below);
		} else if (unlink(below)) {
			record(below, "%s", err_name(errno));
		}
	}
	closedir(dir);
	record_result(path, rmdir(path));
}

/* rm -rf and again, as builds do; nothing old may come back. */
static void remove_tree_again(void)
{
	for (int i = 0; i < 3; i++) {
		remove_tree("d");
		TRY(mkdir("d", 0755));
		record_listing("d", "d");
		TRY(mkdir("d/sub", 0755));
		record_listing("d/sub", "d/sub");
		TRY_OPEN(open("d/sub/x", O_WRONLY | O_CREAT | O_EXCL, 0600));
		TRY(mkdir("d/sub/deep", 0755));
		record_listing("d/sub/deep", "d/sub/deep");
	}
	remove_tree("d");
	TRY(rename("e", "d"));
	record_listing("d", "d");
	TRY_OPEN(open("d/b", O_WRONLY | O_CREAT | O_EXCL, 0600));
}

static void unlinked_but_open(void)
{
	const struct timespec times[2] = {{1000, 5}, {2000, 7}};
	char data[64] = {0};
	int fd = TRY_FD(open("f", O_RDWR));
	int reader = TRY_FD(open("f", O_RDONLY));
	int fresh;

	TRY(unlink("f"));
	record_fstat("fd", fd);
	record_fstat("reader", reader);
	TRY(pread(reader, data, 17, 0));
	TRY(pwrite(fd, "after", 5, 0));
	TRY(ftruncate(fd, 9));
	record_fd_content("reader", reader);
	fresh = TRY_FD(open("f", O_RDWR | O_CREAT | O_EXCL, 0600));
	TRY(write(fresh, "another file\n", 13));
	TRY(write(fd, "old", 3));
	record_fd_content("reader", reader);
	record_content("f", "f");
	TRY(fchmod(fd, 0640));
	TRY(futimens(fd, times));
	record_fstat("fd", fd);
	TRY(fsetxattr(fd, "user.late", "v", 1, 0));
	TRY(fgetxattr(reader, "user.late", data, sizeof(data)));
	TRY(fchown(fd, geteuid(), getegid()));
	TRY(fsync(fd));
	TRY(fallocate(fd, 0, 0, 100));
	record_fstat("fd", fd);
	TRY(close(fd));
	record_fd_content("reader", reader);
	TRY(close(reader));
	TRY(close(fresh));
}

/* The only writer came before, the name went, then somebody changes it by a
 * path through /proc. */
static void unlinked_through_proc(void)
{
	char path[64];
	int fd = TRY_FD(open("d/a", O_RDONLY));
	int again;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	TRY(unlink("d/a"));
	again = record_fd("open again", open(path, O_RDWR));
	TRY(pwrite(again, "AGAIN", 5, 0));
	record_fd_content("fd", fd);
	record_result("chmod", chmod(path, 0600));
	record_result("truncate", truncate(path, 3));
	record_fstat("fd", fd);
	record_result("link", linkat(AT_FDCWD, path, AT_FDCWD, "back",
				     AT_SYMLINK_FOLLOW));
	close(fd);
	close(again);
}

static void replaced_while_open(void)
{
	int fd = TRY_FD(open("f", O_RDWR));
	int target = TRY_FD(open("g", O_RDWR));

	TRY(rename("f", "g"));
	TRY(pwrite(fd, "F", 1, 0));
	TRY(pwrite(target, "G", 1, 0));
	record_content("g", "g");
	record_fd_content("target", target);
	record_fstat("target", target);
	record_fstat("fd", fd);
	TRY(close(fd));
	TRY(close(target));
	record_content("g", "g");
}

static void removed_folder_in_use(void)
{
	char cwd[256];
	struct stat st;
	int dir = TRY_FD(open("e", O_RDONLY | O_DIRECTORY));
	DIR *stream = opendir("e");
	struct dirent *entry;

	TRY(chdir("e"));
	TRY(rmdir("../e"));
	TRY(fstat(dir, &st));
	record_fstat("dir", dir);
	TRY(stat(".", &st));
	record("getcwd", "%s",
	       getcwd(cwd, sizeof(cwd)) ? "ok" : err_name(errno));
	TRY_OPEN(open("new", O_WRONLY | O_CREAT, 0600));
	TRY(mkdir("new", 0700));
	TRY(symlink("x", "new"));
	TRY(link("../f", "new"));
	TRY(rename("../f", "new"));
	TRY(unlink("new"));
	TRY(rmdir("."));
	TRY_OPEN(openat(dir, "new", O_WRONLY | O_CREAT, 0600));
	TRY(fchmod(dir, 0700));
	TRY(stat("..", &st));
	errno = 0;
	for (int n = 0; (entry = readdir(stream)) && n < 5; n++) {
		record("entry", "%s", entry->d_name);
	}
	record("readdir", "%s", errno ? err_name(errno) : "end");
	closedir(stream);
	close(dir);
}

const struct parity_case cases_remove[] = {
	{"remove-files", remove_files, STATE_ALL, PARITY_ANYONE, NULL},
	{"remove-and-make-again", remove_and_make_again, STATE_ALL,
	 PARITY_ANYONE, NULL},
	{"remove-links", remove_links, STATE_ALL, PARITY_ANYONE, NULL},
	{"remove-dirs", remove_dirs, STATE_ALL, PARITY_ANYONE, NULL},
	{"remove-tree-again", remove_tree_again, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"unlinked-but-open", unlinked_but_open, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"unlinked-through-proc", unlinked_through_proc, STATE_ALL,
	 PARITY_ANYONE, NULL},
	{"replaced-while-open", replaced_while_open, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"removed-folder-in-use", removed_folder_in_use, STATE_ALL,
	 PARITY_ANYONE, NULL},
	{.name = NULL},
};
