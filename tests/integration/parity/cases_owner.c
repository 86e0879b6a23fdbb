/* Owners, and what the kernel does differently for others than the owner.
 * As root the cases act as two other users too. */
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

/* Nobody's on any machine; files of theirs need no names. */
#define USER_A 54321
#define USER_B 54322
#define GROUP  54323

/* Runs `body` as `user`, who is in `GROUP` too, in a child. */
static void as_user(uid_t user, void (*body)(void))
{
	const gid_t groups[] = {GROUP};
	static unsigned int runs;
	char prefix[64];
	int status;
	pid_t child;

	snprintf(prefix, sizeof(prefix), "as %u (%u): ", user, ++runs);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		record_prefix(prefix);
		if (setgroups(1, groups) || setresgid(user, user, user) ||
		    setresuid(user, user, user)) {
			record("becoming another user", "%s", err_name(errno));
		} else {
			body();
		}
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (status) {
		record("the user's process", "%d", status);
	}
}

static void chown_as_oneself(void)
{
	uid_t me = geteuid();
	gid_t group = getegid();
	int fd = TRY_FD(open("f", O_RDWR));

	TRY(chmod("f", 06755));
	TRY(chown("f", me, group));
	record_stat("f", "f");
	TRY(chmod("f", 06755));
	TRY(chown("f", (uid_t)-1, (gid_t)-1));
	record_stat("f", "f");
	TRY(chmod("f", 02644));
	TRY(chown("f", me, (gid_t)-1));
	record_stat("f", "f");
	TRY(fchown(fd, (uid_t)-1, group));
	TRY(lchown("l", me, group));
	TRY(lchown("lx", (uid_t)-1, group));
	TRY(chown("lx", me, group));
	TRY(chown("gone", me, group));
	TRY(chown("d", me, group));
	TRY(chmod("e", 06777));
	TRY(chown("e", me, group));
	record_stat("e", "e");
	TRY(fchownat(AT_FDCWD, "l", me, group, 0));
	TRY(fchownat(fd, "", me, group, AT_EMPTY_PATH));
	close(fd);
}

static void chown_forbidden(void)
{
	TRY(chown("f", 0, (gid_t)-1));
	TRY(chown("f", (uid_t)-1, 0));
	TRY(chown("f", USER_A, (gid_t)-1));
	TRY(lchown("l", USER_A, (gid_t)-1));
	TRY(chown("d", (uid_t)-1, GROUP));
	record_stat("f", "f");
}

static void chown_as_root(void)
{
	TRY(chmod("f", 06755));
	TRY(chown("f", USER_A, USER_B));
	record_stat("f", "f");
	TRY(chmod("f", 02644));
	TRY(chown("f", USER_B, (gid_t)-1));
	record_stat("f", "f");
	TRY(chown("d", USER_A, USER_A));
	record_stat("d", "d");
	TRY(lchown("l", USER_A, USER_B));
	record_stat("l", "l");
	record_stat("f", "f");
	TRY(chown("l", 0, 0));
	record_stat("f", "f");
	TRY(chown("p", USER_A, USER_A));
	TRY(chown("h1", USER_A, USER_A));
	record_stat("h2", "h2");
	TRY(chown("big", 4294967294, 4294967294));
	record_stat("big", "big");
}

static void body_others(void)
{
	TRY_OPEN(open("f", O_RDONLY));
	TRY_OPEN(open("f", O_WRONLY));
	TRY(chmod("f", 0777));
	TRY(chown("f", USER_A, USER_A));
	TRY(utimensat(AT_FDCWD, "f", NULL, 0));
	TRY_OPEN(open("new", O_WRONLY | O_CREAT, 0600));
	TRY(unlink("f"));
	TRY(rename("f", "x"));
	TRY(link("f", "x"));
	TRY_OPEN(open("d/sub/deep/y", O_RDONLY));
	TRY(setxattr("f", "user.x", "1", 1, 0));
	TRY_OPEN(open("e/mine", O_WRONLY | O_CREAT, 0644));
	record_stat("e/mine", "e/mine");
	TRY(mkdir("e/dir", 0755));
	record_stat("e/dir", "e/dir");
	TRY(symlink("x", "e/link"));
	record_stat("e/link", "e/link");
	TRY(mknod("e/fifo", S_IFIFO | 0600, 0));
	TRY(chmod("e/mine", 0600));
	TRY(chown("e/mine", (uid_t)-1, GROUP));
	record_stat("e/mine", "e/mine");
	TRY(chmod("e/mine", 02755));
	record_stat("e/mine", "e/mine");
	TRY(chown("e/mine", USER_B, (gid_t)-1));
	TRY(chown("e/mine", (uid_t)-1, 0));
	TRY(rename("e/mine", "e/mine2"));
	TRY(rename("big", "e/big"));
	TRY(access("big", R_OK));
	TRY(access("d/b", X_OK));
}

static void owner_others(void)
{
	as_user(USER_A, body_others);
	record_stat("e", "e");
}

static void body_group(void)
{
	TRY_OPEN(open("g", O_RDONLY));
	TRY_OPEN(open("g", O_WRONLY));
	TRY_OPEN(open("h1", O_WRONLY | O_APPEND));
	TRY_OPEN(open("d/new", O_WRONLY | O_CREAT, 0660));
	record_stat("d/new", "d/new");
	TRY(mkdir("d/newdir", 0750));
	record_stat("d/newdir", "d/newdir");
	TRY_OPEN(open("d/sgid", O_WRONLY | O_CREAT, 02775));
	record_stat("d/sgid", "d/sgid");
	TRY(chmod("d/new", 02770));
	record_stat("d/new", "d/new");
	TRY(unlink("d/a"));
}

/* By a supplementary group, in a set-gid folder. */
static void owner_group(void)
{
	TRY(chown("g", 0, GROUP));
	TRY(chown("h1", 0, GROUP));
	TRY(chown("d", 0, GROUP));
	TRY(chmod("d", 02770));
	record_stat("d", "d");
	as_user(USER_A, body_group);
	as_user(USER_B, body_group);
}

static void body_sticky(void)
{
	TRY(unlink("e/theirs"));
	TRY(rename("e/theirs", "e/x"));
	TRY(rename("e/mine", "e/theirs"));
	TRY(renameat2(AT_FDCWD, "e/mine", AT_FDCWD, "e/theirs",
		      RENAME_EXCHANGE));
	TRY(rename("e/mine", "e/mine2"));
	TRY(unlink("e/mine2"));
	TRY(rmdir("e/theirdir"));
	TRY_OPEN(open("e/theirs", O_WRONLY));
	TRY_OPEN(open("e/theirs", O_WRONLY | O_CREAT, 0600));
}

static void owner_sticky(void)
{
	TRY(chmod("e", 01777));
	TRY_OPEN(open("e/theirs", O_WRONLY | O_CREAT, 0644));
	TRY_OPEN(open("e/mine", O_WRONLY | O_CREAT, 0644));
	TRY(mkdir("e/theirdir", 0777));
	TRY(chown("e/mine", USER_A, USER_A));
	TRY(chown("e/theirs", USER_B, USER_B));
	as_user(USER_A, body_sticky);
	record_listing("e", "e");
	TRY(chown("e", USER_A, USER_A));
	as_user(USER_A, body_sticky);
	record_listing("e", "e");
}

static void try_clearing(const char *label, mode_t mode, long (*change)(int))
{
	int fd;

	record_result(label, chmod("f", mode));
	fd = open("f", O_RDWR);
	record_result(label, change(fd));
	close(fd);
	record_stat(label, "f");
}

static long change_write(int fd)
{
	return pwrite(fd, "w", 1, 0);
}

static long change_truncate(int fd)
{
	return ftruncate(fd, 9);
}

static long change_same_size(int fd)
{
	return ftruncate(fd, 9);
}

static long change_trunc_open(int fd)
{
	int again = open("f", O_WRONLY | O_TRUNC);

	(void)fd;
	close(again);
	return again < 0 ? -1 : 0;
}

static long change_fallocate(int fd)
{
	return fallocate(fd, 0, 0, 5000);
}

static long change_append(int fd)
{
	int again = open("f", O_WRONLY | O_APPEND);
	long result = write(again, "appended", 8);

	(void)fd;
	close(again);
	return result;
}

static long change_nothing(int fd)
{
	return pwrite(fd, "", 0, 0);
}

static void clear_all(void)
{
	static const mode_t modes[] = {06755, 04711, 02711, 02644, 06777};

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		try_clearing("write", modes[i], change_write);
		try_clearing("truncate", modes[i], change_truncate);
		try_clearing("same size", modes[i], change_same_size);
		try_clearing("O_TRUNC", modes[i], change_trunc_open);
		try_clearing("fallocate", modes[i], change_fallocate);
		try_clearing("append", modes[i], change_append);
		try_clearing("nothing", modes[i], change_nothing);
	}
}

static void chmod_world(const char *label, mode_t mode)
{
	record_result(label, chmod("f", mode | 066));
}

static void body_write_suid(void)
{
	int fd = TRY_FD(open("f", O_RDWR));

	TRY(pwrite(fd, "by another", 10, 0));
	record_fstat("f", fd);
	TRY(pwrite(fd, "again", 5, 0));
	record_fstat("f", fd);
	close(fd);
}

static void body_trunc_suid(void)
{
	TRY_OPEN(open("f", O_WRONLY | O_TRUNC));
	record_stat("f", "f");
}

static void body_truncate_suid(void)
{
	TRY(truncate("f", 3));
	record_stat("f", "f");
}

/* Set-id bits of root's file, written by somebody else. */
static void owner_clears_suid(void)
{
	static void (*const bodies[])(void) = {body_write_suid, body_trunc_suid,
					       body_truncate_suid};

	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		chmod_world("set-uid", 04711);
		as_user(USER_A, bodies[i]);
		chmod_world("set-gid", 02711);
		as_user(USER_A, bodies[i]);
		chmod_world("both", 06711);
		as_user(USER_A, bodies[i]);
		chmod_world("locking", 02600);
		as_user(USER_A, bodies[i]);
	}
}

#define CAPS_ATTR "security.capability"

static void set_caps(void)
{
	/* cap_net_raw=ep, revision 2 */
	const struct vfs_cap_data caps = {
		.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE,
		.data = {{.permitted = 1U << CAP_NET_RAW}},
	};

	TRY(setxattr("f", CAPS_ATTR, &caps, sizeof(caps), 0));
}

/* File capabilities go when the file is written or given away. */
static void owner_clears_capabilities(void)
{
	char value[64];
	int fd;

	set_caps();
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	TRY(chmod("f", 0755));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	TRY(rename("f", "f2"));
	TRY(rename("f2", "f"));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	fd = TRY_FD(open("f", O_RDWR));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	TRY(pwrite(fd, "x", 1, 0));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	set_caps();
	TRY(ftruncate(fd, 1));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	set_caps();
	TRY(chown("f", USER_A, USER_A));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	set_caps();
	TRY(utimensat(AT_FDCWD, "f", NULL, 0));
	TRY(getxattr("f", CAPS_ATTR, value, sizeof(value)));
	close(fd);
}

const struct parity_case cases_owner[] = {
	{"chown-as-oneself", chown_as_oneself, STATE_ALL, PARITY_ANYONE, NULL},
	{"chown-forbidden", chown_forbidden, STATE_ALL, PARITY_USER, NULL},
	{"chown-as-root", chown_as_root, STATE_ALL, PARITY_ROOT, NULL},
	{"clear-set-id", clear_all, STATE_ALL, PARITY_ANYONE, NULL},
	{"owner-others", owner_others, STATE_ALL, PARITY_ROOT, NULL},
	{"owner-group", owner_group, STATE_ALL, PARITY_ROOT, NULL},
	{"owner-sticky", owner_sticky, STATE_ALL, PARITY_ROOT, NULL},
	{"owner-clears-suid", owner_clears_suid, STATE_ALL, PARITY_ROOT, NULL},
	{"owner-clears-capabilities", owner_clears_capabilities, STATE_ALL,
	 PARITY_ROOT, NULL},
	{.name = NULL},
};
