/* What the other tables leave out: which error wins, odd paths and flags, and
 * the calls that few programs make. */
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "parity.h"

/* One of each type, nothing, and ways to write them. */
static const char *const names[] = {
	"f",    "d",    "e",      "l",      "ld",        "lx",
	"p",    "s",    "gone",   "f/",     "d/",        "l/",
	"ld/",  "lx/",  "gone/",  "f/x",    "gone/x",    "lx/x",
	"d/.",  "d/..", ".",      "..",     "",          "e/.",
	"d//a", "ld/a", "d/sub/", "d/../f", "gone/../f",
};

/* `call` for one name of the table. */
static void try_name(const char *call, const char *name, long result)
{
	char label[160];
	int error = errno;

	/* A compiler that checks for NULL wants to see that it is none. */
	snprintf(label, sizeof(label), "%s(\"%s\")", call, name ? name : "");
	errno = error;
	record_result(label, result);
}

static void calls_open_names(void)
{
	static const struct {
		const char *name;
		int flags;
	} flags[] = {
		{"open O_RDONLY", O_RDONLY | O_NONBLOCK},
		{"open O_DIRECTORY", O_RDONLY | O_DIRECTORY},
		{"open O_NOFOLLOW", O_RDONLY | O_NOFOLLOW | O_NONBLOCK},
		{"open O_PATH", O_PATH},
		{"open O_PATH|O_NOFOLLOW|O_DIRECTORY",
		 O_PATH | O_NOFOLLOW | O_DIRECTORY},
		{"open O_CREAT|O_EXCL", O_WRONLY | O_CREAT | O_EXCL},
		{"open O_CREAT|O_DIRECTORY", O_RDONLY | O_CREAT | O_DIRECTORY},
		{"open O_TMPFILE", O_RDWR | O_TMPFILE},
		{"open O_WRONLY|O_TRUNC", O_WRONLY | O_TRUNC | O_NONBLOCK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
			int fd = open(names[n], flags[i].flags, 0600);

			try_name(flags[i].name, names[n], fd < 0 ? -1 : 0);
			if (fd >= 0) {
				close(fd);
			}
		}
	}
}

static void calls_make_and_remove_names(void)
{
	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		const char *name = names[n];
		struct stat st;
		char text[16];

		try_name("stat", name, stat(name, &st));
		try_name("lstat", name, lstat(name, &st));
		try_name("access", name, access(name, W_OK));
		try_name("readlink", name, readlink(name, text, sizeof(text)));
		try_name("mkdir", name, mkdir(name, 0700));
		try_name("symlink", name, symlink("f", name));
		try_name("mknod", name, mknod(name, S_IFREG | 0600, 0));
		try_name("link", name, link("h1", name));
		try_name("link from", name, link(name, "gone"));
		try_name("unlink", name, unlink(name));
		try_name("rmdir", name, rmdir(name));
		unlink("gone");
		rmdir("gone");
	}
}

static void calls_rename_names(void)
{
	for (size_t from = 0; from < ARRAY_SIZE(names); from++) {
		for (size_t to = 0; to < ARRAY_SIZE(names); to++) {
			char call[80];

			if (from == to) {
				continue;
			}
			snprintf(call, sizeof(call), "rename %s", names[from]);
			try_name(call, names[to],
				 rename(names[from], names[to]));
		}
	}
}

static void calls_truncate(void)
{
	int fd;

	TRY(truncate("d", 0));
	TRY(truncate("p", 0));
	TRY(truncate("f", -1));
	TRY(truncate("gone", 0));
	TRY(truncate("f/x", 0));
	TRY(truncate("l", 3));
	TRY(truncate("lx", 3));
	TRY(truncate("f", 1L << 62));
	fd = TRY_FD(open("f", O_RDONLY));
	TRY(ftruncate(fd, 0));
	TRY(fallocate(fd, 0, 0, 10));
	close(fd);
	fd = TRY_FD(open("f", O_RDWR));
	TRY(fallocate(fd, 0, -1, 10));
	TRY(fallocate(fd, 0, 0, 0));
	TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 10));
	TRY(fallocate(fd, 0x4000, 0, 10));
	TRY(fallocate(fd, 0, 1L << 62, 1L << 62));
	TRY(lseek(fd, -1, SEEK_SET));
	TRY(lseek(fd, 1L << 60, SEEK_SET));
	TRY(lseek(fd, 0, 77));
	TRY(lseek(fd, 100, SEEK_DATA));
	TRY(lseek(fd, 100, SEEK_HOLE));
	TRY(pread(fd, &fd, 1, -1));
	close(fd);
}

static void calls_link_flags(void)
{
	char path[40];
	int fd = TRY_FD(open("f", O_RDONLY));

	TRY(linkat(AT_FDCWD, "l", AT_FDCWD, "l2", 0));
	TRY(linkat(AT_FDCWD, "l", AT_FDCWD, "l3", AT_SYMLINK_FOLLOW));
	TRY(linkat(AT_FDCWD, "lx", AT_FDCWD, "l4", AT_SYMLINK_FOLLOW));
	TRY(linkat(AT_FDCWD, "d", AT_FDCWD, "d2", 0));
	TRY(linkat(AT_FDCWD, "f", AT_FDCWD, "l5", 0x1));
	TRY(linkat(AT_FDCWD, "p", AT_FDCWD, "p2", 0));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	record_result("linkat by descriptor", linkat(AT_FDCWD, path, AT_FDCWD,
						     "l6", AT_SYMLINK_FOLLOW));
	TRY(unlink("f"));
	record_result(
		"linkat of an unlinked one",
		linkat(AT_FDCWD, path, AT_FDCWD, "l7", AT_SYMLINK_FOLLOW));
	TRY(unlinkat(AT_FDCWD, "d", 0));
	TRY(unlinkat(AT_FDCWD, "f", AT_REMOVEDIR));
	TRY(unlinkat(AT_FDCWD, "l6", 0x1));
	close(fd);
}

static void calls_times(void)
{
	struct timespec times[2] = {{1000, 1}, {2000, 2}};
	struct timespec bad[2] = {{1000, 1000000000}, {2000, 2}};
	int fd = TRY_FD(open("f", O_PATH));

	TRY(utimensat(AT_FDCWD, "l", times, AT_SYMLINK_NOFOLLOW));
	TRY(utimensat(AT_FDCWD, "l", times, 0));
	TRY(utimensat(AT_FDCWD, "lx", times, 0));
	TRY(utimensat(AT_FDCWD, "f", bad, 0));
	TRY(utimensat(AT_FDCWD, "f/", times, 0));
	TRY(utimensat(AT_FDCWD, "gone", times, 0));
	TRY(utimensat(AT_FDCWD, "f", times, 0x1));
	TRY(utimensat(fd, "", times, AT_EMPTY_PATH));
	TRY(futimens(fd, times));
	TRY(fchmod(fd, 0600));
	TRY(ftruncate(fd, 0));
	TRY(fsync(fd));
	close(fd);
}

/* From a file to a pipe, and back. */
static void calls_splice(void)
{
	char data[64] = {0};
	struct iovec vector[2] = {{data, 10}, {data + 10, 20}};
	int ends[2];
	int big = TRY_FD(open("big", O_RDWR));
	int out = TRY_FD(open("f", O_RDWR));
	loff_t at = 1000;

	if (pipe(ends)) {
		return;
	}
	TRY(splice(big, &at, ends[1], NULL, 5000, 0));
	TRY(splice(ends[0], NULL, out, NULL, 5000, 0));
	at = 290 * 1024;
	TRY(sendfile(out, big, &at, 100000));
	record("position", "%ld", (long)at);
	TRY(preadv2(big, vector, 2, 100, RWF_NOWAIT) >= -1);
	TRY(preadv2(big, vector, 2, 100, 0));
	TRY(pwritev2(out, vector, 2, 0, RWF_DSYNC));
	TRY(pwritev2(out, vector, 2, 0, RWF_APPEND));
	TRY(pwritev2(out, vector, 2, -1, 0));
	TRY(posix_fadvise(big, 0, 0, POSIX_FADV_DONTNEED));
	TRY(readahead(big, 0, 65536));
	TRY(sync_file_range(out, 0, 0, SYNC_FILE_RANGE_WRITE));
	TRY(syncfs(out));
	record_fd_content("f", out);
	close(ends[0]);
	close(ends[1]);
	close(big);
	close(out);
}

/* A handle is opened again, also after copy-up and another name. */
static void calls_handles(void)
{
	union {
		struct file_handle head;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} handle = {.head.handle_bytes = MAX_HANDLE_SZ};
	int here = TRY_FD(open(".", O_RDONLY | O_DIRECTORY));
	int mount_id;
	int fd;

	TRY(name_to_handle_at(AT_FDCWD, "f", &handle.head, &mount_id, 0));
	fd = TRY_FD(open_by_handle_at(here, &handle.head, O_RDONLY));
	record_fd_content("by handle", fd);
	close(fd);
	TRY(chmod("f", 0600));
	TRY(rename("f", "d/moved"));
	fd = TRY_FD(open_by_handle_at(here, &handle.head, O_RDWR));
	TRY(write(fd, "more", 4));
	record_content("d/moved", "d/moved");
	close(fd);
	TRY(unlink("d/moved"));
	record_result("a removed one",
		      open_by_handle_at(here, &handle.head, O_RDONLY));
	close(here);
}

static void calls_fcntl(void)
{
	int fd = TRY_FD(open("f", O_RDONLY));
	int other;

	TRY(fcntl(fd, F_SETLEASE, F_RDLCK));
	TRY(fcntl(fd, F_GETLEASE));
	TRY(fcntl(fd, F_SETLEASE, F_UNLCK));
	TRY(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	TRY(fcntl(fd, F_SETFL, O_APPEND));
	TRY(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND));
	other = TRY_FD(open("d", O_RDONLY | O_DIRECTORY));
	TRY(fcntl(other, F_NOTIFY, DN_CREATE));
	TRY(fchdir(fd));
	TRY(fchdir(other));
	TRY(chdir(".."));
	close(other);
	close(fd);
}

/* A kernel without a feature says so alike; with it, the disk decides. */
static void calls_ioctl(void)
{
	int flags = 0;
	int fd = TRY_FD(open("f", O_RDWR));
	int other = TRY_FD(open("h1", O_RDWR));
	int bytes = 0;

	TRY(ioctl(fd, FIONREAD, &bytes));
	record("FIONREAD", "%d", bytes);
	TRY(ioctl(fd, FS_IOC_GETFLAGS, &flags));
	TRY(ioctl(fd, TIOCGWINSZ, &flags));
	TRY(ioctl(fd, 0x12345678, &flags));
	TRY(ioctl(fd, FICLONE, other) == -1 && errno != ENOTTY);
	close(other);
	close(fd);
}

const struct parity_case cases_calls[] = {
	{"calls-open-names", calls_open_names, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-make-and-remove-names", calls_make_and_remove_names, STATE_ALL,
	 PARITY_ANYONE, NULL},
	{"calls-rename-names", calls_rename_names, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"calls-truncate", calls_truncate, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-link-flags", calls_link_flags, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-times", calls_times, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-splice", calls_splice, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-handles", calls_handles, STATE_ALL, PARITY_ROOT, NULL},
	{"calls-fcntl", calls_fcntl, STATE_ALL, PARITY_ANYONE, NULL},
	{"calls-ioctl", calls_ioctl, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
