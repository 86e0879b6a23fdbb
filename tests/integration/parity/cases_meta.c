/* Modes and times. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

/* All modes of a file and of a folder; what stat says afterwards, as a hash
 * and the first that differs from what was asked. */
static void chmod_all_of(const char *path)
{
	static mode_t seen[010000];
	struct stat st = {0};
	int first = -1;

	for (mode_t mode = 0; mode < ARRAY_SIZE(seen); mode++) {
		if (chmod(path, mode) || lstat(path, &st)) {
			record(path, "%04o: %s", mode, err_name(errno));
			return;
		}
		seen[mode] = st.st_mode;
		if (first < 0 && (st.st_mode & 07777) != mode) {
			first = (int)mode;
		}
	}
	record(path, "%016lx, first difference %04o",
	       record_hash(seen, sizeof(seen)), (unsigned int)first);
}

static void mode_all(void)
{
	chmod_all_of("f");
	chmod_all_of("e");
	TRY(chmod("e", 0700));
	TRY(chmod("f", 0640));
}

static void mode_rules(void)
{
	struct stat st;
	int fd = TRY_FD(open("f", O_RDONLY));
	int path = TRY_FD(open("g", O_PATH));

	TRY(fchmod(fd, 04711));
	record_fstat("f", fd);
	TRY(fchmod(path, 0600));
	TRY(chmod("l", 0600));
	TRY(lstat("l", &st));
	record_stat("l", "l");
	record_stat("f", "f");
	TRY(chmod("lx", 0600));
	TRY(chmod("gone", 0600));
	TRY(chmod("f/x", 0600));
	TRY(chmod("p", 0666));
	record_stat("p", "p");
	TRY(chmod("s", 0600));
	record_stat("s", "s");
	TRY(fchmodat(AT_FDCWD, "l", 0600, AT_SYMLINK_NOFOLLOW));
	TRY(chmod("d", 01755));
	record_stat("d", "d");
	TRY(chmod("d/sub", 02750));
	record_stat("d/sub", "d/sub");
	record_listing("d", "d");
	close(fd);
	close(path);
}

/* Folders that nobody may enter or write are made, used and removed. */
static void mode_closed_folders(void)
{
	static const mode_t modes[] = {0000, 0111, 0222, 0444, 0555};
	char label[32];

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		snprintf(label, sizeof(label), "%04o", modes[i]);
		record_result(label, mkdir("closed", modes[i]));
		record_stat(label, "closed");
		record_result(label, mkdir("closed/below", 0755));
		record_result(label, rmdir("closed/below"));
		record_listing(label, "closed");
		record_result(label, rename("closed", "closed2"));
		record_result(label, rename("closed2", "closed"));
		record_result(label, rename("closed", "d/closed"));
		record_result(label, rmdir("d/closed"));
		record_result(label, rmdir("closed"));
		record_result(label, chmod("e", modes[i]));
		record_result(label, rename("e", "e2"));
		record_result(label, rename("e2", "e"));
	}
	TRY(rmdir("e"));
	TRY(chmod("d/sub", 0));
	TRY(access("d/sub/x", F_OK));
	TRY(unlink("d/sub/x"));
	TRY(rmdir("d/sub"));
	TRY(chmod("d/sub", 0700));
	TRY(chmod("d/a", 0));
	TRY(unlink("d/a"));
}

static void record_mtime(const char *label, const char *path)
{
	struct stat st;

	if (lstat(path, &st)) {
		record(label, "%s", err_name(errno));
		return;
	}
	record(label, "atime %lld.%09ld mtime %lld.%09ld",
	       (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec,
	       (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

static void set_times(const char *label, const char *path, long sec, long nsec)
{
	const struct timespec times[2] = {{sec + 1, nsec}, {sec, nsec}};

	record_result(label,
		      utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW));
	record_mtime(label, path);
}

static void times_set(void)
{
	static const char *const paths[] = {"f", "d", "l", "p", "s", "h1"};
	struct timespec times[2] = {{5, 6}, {7, 8}};
	struct stat st;
	int fd;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		set_times(paths[i], paths[i], 1234567890, 987654321);
	}
	record_mtime("the other name", "h2");
	set_times("f, 0", "f", 0, 0);
	set_times("f, last ns", "f", 100, 999999999);
	set_times("f, no ns", "f", 100, 1000000000);
	set_times("f, 1901", "f", -2147483647, 1);
	set_times("f, 2038", "f", 2147483648, 1);
	set_times("f, 2100", "f", 4102444800, 1);
	set_times("f, 2446", "f", 15032385534, 1);
	set_times("gone", "gone", 1, 1);
	times[0].tv_nsec = UTIME_OMIT;
	TRY(utimensat(AT_FDCWD, "g", times, 0));
	record_mtime("mtime only", "g");
	set_times("g", "g", 50, 60);
	times[0].tv_nsec = 6;
	times[1].tv_nsec = UTIME_OMIT;
	TRY(utimensat(AT_FDCWD, "g", times, 0));
	record_mtime("atime only", "g");
	times[0].tv_nsec = UTIME_OMIT;
	TRY(utimensat(AT_FDCWD, "g", times, 0));
	record_mtime("none", "g");
	TRY(utimensat(AT_FDCWD, "gone", times, 0));
	fd = TRY_FD(open("d/a", O_RDONLY));
	times[1].tv_nsec = 9;
	TRY(futimens(fd, times));
	close(fd);
	TRY(utimensat(AT_FDCWD, "l", times, 0));
	TRY(lstat("l", &st));
	record("l itself", "mtime %lld", (long long)st.st_mtim.tv_sec);
}

static void times_now(void)
{
	const struct timespec now[2] = {{0, UTIME_NOW}, {0, UTIME_NOW}};
	const struct timespec one[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
	struct record_times t;

	record_times_before(&t, "f");
	record_clock_step();
	TRY(utimensat(AT_FDCWD, "f", now, 0));
	record_times_after("now", &t);
	record_times_before(&t, "f");
	record_clock_step();
	TRY(utimensat(AT_FDCWD, "f", NULL, 0));
	record_times_after("NULL", &t);
	record_times_before(&t, "d");
	record_clock_step();
	TRY(utimensat(AT_FDCWD, "d", one, 0));
	record_times_after("mtime now", &t);
	record_times_before(&t, "lx");
	record_clock_step();
	TRY(utimensat(AT_FDCWD, "lx", now, AT_SYMLINK_NOFOLLOW));
	record_times_after("link", &t);
}

#define WATCHED 5

struct watched {
	struct record_times times[WATCHED];
};

static void watch(struct watched *w, const char *const paths[WATCHED])
{
	for (size_t i = 0; i < WATCHED; i++) {
		record_times_before(&w->times[i], paths[i]);
	}
	record_clock_step();
}

static void watched(const char *label, const struct watched *w)
{
	for (size_t i = 0; i < WATCHED; i++) {
		record_times_after(label, &w->times[i]);
	}
}

/* Which times of a file, its folder and its neighbours each call changes. */
static void times_rules(void)
{
	static const char *const paths[WATCHED] = {".", "d", "d/a", "d/b",
						   "d/sub"};
	struct watched w;
	int fd = TRY_FD(open("d/a", O_RDWR));

#define RULE(call)                                                             \
	do {                                                                   \
		watch(&w, paths);                                              \
		TRY(call);                                                     \
		watched(#call, &w);                                            \
	} while (0)

	RULE(chmod("d/a", 0600));
	RULE(chmod("d", 0711));
	RULE(pwrite(fd, "x", 1, 0));
	RULE(pwrite(fd, "", 0, 0));
	RULE(ftruncate(fd, 3));
	RULE(ftruncate(fd, 3));
	RULE(truncate("d/b", 7));
	RULE(truncate("d/b", 0));
	RULE(mkdir("d/new", 0700));
	RULE(rmdir("d/new"));
	RULE(symlink("x", "d/link"));
	RULE(unlink("d/link"));
	RULE(link("d/a", "d/a2"));
	RULE(unlink("d/a2"));
	RULE(rename("d/b", "d/c"));
	RULE(rename("d/c", "d/b"));
	RULE(rename("d/b", "d/sub/b"));
	RULE(rename("d/sub/b", "d/b"));
	RULE(rename("d/sub", "sub"));
	RULE(rename("sub", "d/sub"));
	RULE(chown("d/b", geteuid(), getegid()));
	RULE(chown("d/b", (uid_t)-1, (gid_t)-1));
	RULE(open("d/new", O_CREAT | O_WRONLY, 0600) < 0);
	RULE(open("d/new", O_CREAT | O_WRONLY, 0600) < 0);
	RULE(open("d/new", O_TRUNC | O_WRONLY) < 0);
	RULE(mknod("d/fifo", S_IFIFO | 0600, 0));
#undef RULE
	close(fd);
}

static void meta_statx(void)
{
	static const char *const paths[] = {"f", "d", "l", "p"};
	struct statx x;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		long result = statx(AT_FDCWD, paths[i], AT_SYMLINK_NOFOLLOW,
				    STATX_BASIC_STATS | STATX_BTIME, &x);

		record_result("statx", result);
		record(paths[i], "mask %x mode %o size %llu",
		       x.stx_mask & STATX_BASIC_STATS, x.stx_mode,
		       S_ISDIR(x.stx_mode) ? 0 : x.stx_size);
	}
	TRY(statx(AT_FDCWD, "f", AT_STATX_FORCE_SYNC, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "f", AT_STATX_DONT_SYNC, STATX_SIZE, &x));
	TRY(statx(AT_FDCWD, "gone", 0, STATX_SIZE, &x));
}

#define BASE_AND_UPPER (STATE_BIT(STATE_BASE) | STATE_BIT(STATE_UPPER))

const struct parity_case cases_meta[] = {
	{"mode-all", mode_all, BASE_AND_UPPER, PARITY_ANYONE, NULL},
	{"mode-rules", mode_rules, STATE_ALL, PARITY_ANYONE, NULL},
	{"mode-closed-folders", mode_closed_folders, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"times-set", times_set, STATE_ALL, PARITY_ANYONE, NULL},
	{"times-now", times_now, STATE_ALL, PARITY_ANYONE, NULL},
	{"times-rules", times_rules, STATE_FEW, PARITY_ANYONE, NULL},
	{"statx", meta_statx, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
