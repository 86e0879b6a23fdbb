/* Creating files and folders: open(O_CREAT), mkdir, mknod, umask, groups. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "parity.h"

static void create_new(void)
{
	TRY_OPEN(open("new", O_WRONLY | O_CREAT | O_EXCL, 0640));
	record_stat("new", "new");
	TRY_OPEN(open("new", O_WRONLY | O_CREAT | O_EXCL, 0640));
	TRY_OPEN(open("gone", O_RDWR | O_CREAT, 0600));
	record_stat("gone", "gone");
	TRY_OPEN(open("goned/new", O_RDWR | O_CREAT, 0600));
	TRY_OPEN(open("d/new", O_RDONLY | O_CREAT, 0444));
	TRY_OPEN(open("d/sub/new", O_RDONLY | O_CREAT | O_TRUNC, 0200));
	TRY_OPEN(open("d/old", O_RDWR | O_CREAT | O_EXCL, 0644));
	TRY_OPEN(open("nodir/new", O_RDWR | O_CREAT, 0644));
	TRY_OPEN(open("f/new", O_RDWR | O_CREAT, 0644));
	TRY_OPEN(open("new2/", O_RDWR | O_CREAT, 0644));
	TRY_OPEN(open("", O_RDWR | O_CREAT, 0644));
}

static void create_over(void)
{
	TRY_OPEN(open("f", O_RDWR | O_CREAT | O_EXCL, 0600));
	TRY_OPEN(open("d", O_RDONLY | O_CREAT | O_EXCL, 0600));
	TRY_OPEN(open("l", O_RDWR | O_CREAT | O_EXCL, 0600));
	TRY_OPEN(open("lx", O_RDWR | O_CREAT | O_EXCL, 0600));
	TRY_OPEN(open("d", O_RDWR | O_CREAT, 0600));
	TRY_OPEN(open("f", O_RDWR | O_CREAT, 0600));
	record_stat("f", "f");
	TRY_OPEN(open("l", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
	TRY_OPEN(open("lx", O_RDWR | O_CREAT, 0600));
	record_stat("nowhere", "nowhere");
	TRY_OPEN(open("ld/through", O_RDWR | O_CREAT, 0600));
	TRY_OPEN(open("s", O_RDWR | O_CREAT, 0600));
}

/* The lock-file pattern of git and others. */
static void create_lock_file(void)
{
	for (int i = 0; i < 5; i++) {
		int fd =
			TRY_FD(open("f.lock", O_RDWR | O_CREAT | O_EXCL, 0666));

		TRY(dprintf(fd, "round %d\n", i));
		TRY(close(fd));
		TRY_OPEN(open("f.lock", O_RDWR | O_CREAT | O_EXCL, 0666));
		TRY(rename("f.lock", "f"));
		record_content("f", "f");
		TRY(access("f.lock", F_OK));
	}
}

static void create_umask(void)
{
	static const mode_t masks[] = {0, 022, 027, 077, 0777};

	for (size_t i = 0; i < ARRAY_SIZE(masks); i++) {
		umask(masks[i]);
		TRY_OPEN(open("u", O_WRONLY | O_CREAT | O_EXCL, 0777));
		record_stat("file", "u");
		TRY(unlink("u"));
		TRY_OPEN(open("d/u", O_WRONLY | O_CREAT | O_EXCL, 0666));
		record_stat("file in d", "d/u");
		TRY(unlink("d/u"));
		TRY(mkdir("u", 0777));
		record_stat("folder", "u");
		TRY(rmdir("u"));
		TRY(mknod("u", S_IFIFO | 0666, 0));
		record_stat("fifo", "u");
		TRY(unlink("u"));
		TRY(symlink("t", "u"));
		record_stat("link", "u");
		TRY(unlink("u"));
	}
}

static void create_mkdir(void)
{
	TRY(mkdir("new", 0755));
	TRY(mkdir("new", 0755));
	TRY(mkdir("new/below", 0700));
	TRY(mkdir("trailing/", 0700));
	TRY(mkdir("f", 0755));
	TRY(mkdir("d", 0755));
	TRY(mkdir("l", 0755));
	TRY(mkdir("lx", 0755));
	TRY(mkdir("f/x", 0755));
	TRY(mkdir("nodir/x", 0755));
	TRY(mkdir("gone", 0711));
	TRY(mkdir("goned", 0711));
	record_listing("goned", "goned");
	TRY(mkdir("d/old", 0755));
	TRY(mkdir("ld/through", 0755));
	TRY(mkdir("sticky", 01777));
	record_stat("sticky", "sticky");
	TRY(mkdir("bits", 07777));
	record_stat("bits", "bits");
	TRY(mkdir(".", 0755));
	TRY(mkdir("..", 0755));
	TRY(mkdir("/", 0755));
	TRY(mkdir("", 0755));
}

static void create_mknod(void)
{
	TRY(mknod("reg", S_IFREG | 0640, 0));
	record_stat("reg", "reg");
	TRY(mknod("zero", 0600, 0));
	record_stat("zero", "zero");
	TRY(mknod("reg", S_IFIFO | 0640, 0));
	TRY(mknod("sock", S_IFSOCK | 0755, 0));
	record_stat("sock", "sock");
	TRY(mknod("dir", S_IFDIR | 0755, 0));
	TRY(mknod("gone", S_IFIFO | 0622, 0));
	record_stat("gone", "gone");
	TRY(mknod("d", S_IFREG | 0644, 0));
}

static void create_device(void)
{
	TRY(mknod("null", S_IFCHR | 0666, makedev(1, 3)));
	record_stat("null", "null");
	TRY(mknod("loop", S_IFBLK | 0660, makedev(7, 0)));
	record_stat("loop", "loop");
	TRY(unlink("null"));
	TRY(unlink("loop"));
}

/* The parent's set-gid bit gives the group, and goes on to folders. */
static void create_in_setgid_dir(void)
{
	TRY(chmod("d", 02775));
	record_stat("d", "d");
	TRY_OPEN(open("d/new", O_WRONLY | O_CREAT, 0664));
	record_stat("d/new", "d/new");
	TRY_OPEN(open("d/sgid", O_WRONLY | O_CREAT, 02775));
	record_stat("d/sgid", "d/sgid");
	TRY(mkdir("d/newdir", 0755));
	record_stat("d/newdir", "d/newdir");
	TRY(mkdir("d/newdir/below", 0700));
	record_stat("d/newdir/below", "d/newdir/below");
	TRY(symlink("x", "d/newlink"));
	record_stat("d/newlink", "d/newlink");
	record_stat("d/sub", "d/sub");
}

static void negative_entries(void)
{
	struct stat st;

	TRY(stat("later", &st));
	TRY(stat("d/later", &st));
	TRY_OPEN(open("later", O_WRONLY | O_CREAT, 0600));
	TRY(mkdir("d/later", 0700));
	TRY(stat("later", &st));
	TRY(stat("d/later", &st));
	TRY(unlink("later"));
	TRY(rmdir("d/later"));
	TRY(stat("later", &st));
	TRY(stat("d/later", &st));
	TRY(rename("f", "later"));
	TRY(stat("later", &st));
	TRY(stat("f", &st));
	TRY(link("g", "f"));
	TRY(stat("f", &st));
	TRY(symlink("f", "later2"));
	TRY(stat("later2", &st));
}

const struct parity_case cases_create[] = {
	{"create-new", create_new, STATE_ALL, PARITY_ANYONE, NULL},
	{"create-over", create_over, STATE_ALL, PARITY_ANYONE, NULL},
	{"create-lock-file", create_lock_file, STATE_ALL, PARITY_ANYONE, NULL},
	{"create-umask", create_umask, STATE_FEW, PARITY_ANYONE, NULL},
	{"create-mkdir", create_mkdir, STATE_ALL, PARITY_ANYONE, NULL},
	{"create-mknod", create_mknod, STATE_FEW, PARITY_ANYONE, NULL},
	{"create-device", create_device, STATE_FEW, PARITY_ANYONE, NULL},
	{"create-in-setgid-dir", create_in_setgid_dir, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"negative-entries", negative_entries, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
