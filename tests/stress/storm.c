/*
 * Many processes that do all there is to do with names, at random and on the
 * same few of them, while they are interrupted a thousand times a second.
 *
 * usage: storm DIR SECONDS PROCESSES SEED
 *
 * DIR has (or gets) the directories d0 ... d7. What may not happen whatever
 * races is reported: errors other than those that a disk gives (EINTR, EIO,
 * ESTALE, ...), a file that is put in place whole and read in part, an appended
 * record that is lost or torn. The exit status says whether there was any.
 */
#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "die.h"

#define DIRS          8
#define NAMES         24
#define PROCESSES_MAX 64
#define RECORD_BYTES  96
#define WHOLE_BYTES   20000
#define SIGNAL_NS     1000000 /* between two signals to each process */
#define PATH_BYTES    64

/* Between the processes. */
struct shared {
	unsigned long operations;
	unsigned long wrong;
	unsigned long signals[PROCESSES_MAX];
	unsigned long records[PROCESSES_MAX];
};

static struct shared *shared;
static unsigned int self;
static unsigned int seed;

static void on_signal(int number)
{
	(void)number;
	shared->signals[self]++;
}

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static void complain(const char *what, const char *path, const char *reason)
{
	__atomic_add_fetch(&shared->wrong, 1, __ATOMIC_RELAXED);
	fprintf(stderr, "storm: %s '%s': %s\n", what, path, reason);
}

/* What a race gives on a disk, too. */
static bool is_usual(int error)
{
	static const int usual[] = {
		ENOENT, EEXIST,       ENOTDIR, EISDIR,     ENOTEMPTY,
		ELOOP,  EINVAL,       ENXIO,   EOPNOTSUPP, ENODATA,
		EPERM,  ENAMETOOLONG, EMLINK,  EBUSY,
	};

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		if (error == usual[i]) {
			return true;
		}
	}
	return false;
}

/* `result` is a call's; negative: errno says why. */
static void check(const char *what, const char *path, long result)
{
	if (result < 0 && !is_usual(errno)) {
		complain(what, path, strerrorname_np(errno));
	}
}

static char *some_path(char path[PATH_BYTES])
{
	unsigned int kind = any(10);

	if (kind == 0) {
		snprintf(path, PATH_BYTES, "d%u", any(DIRS));
	} else if (kind < 8) {
		snprintf(path, PATH_BYTES, "d%u/n%u", any(DIRS), any(NAMES));
	} else {
		snprintf(path, PATH_BYTES, "d%u/n%u/n%u", any(DIRS), any(NAMES),
			 any(NAMES));
	}
	return path;
}

/* One operation each, on the name and perhaps another one. */

static void create_file(const char *path, const char *other)
{
	static const int flags[] = {O_EXCL, O_TRUNC, O_APPEND, 0};
	int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | flags[any(4)],
		      0644);

	(void)other;
	check("create", path, fd);
	if (fd >= 0) {
		check("write", path, write(fd, path, strlen(path)));
		close(fd);
	}
}

static void read_file(const char *path, const char *other)
{
	char data[4096];
	int fd = open(path, O_RDONLY | O_NONBLOCK);

	(void)other;
	check("open", path, fd);
	if (fd >= 0) {
		check("read", path, read(fd, data, sizeof(data)));
		close(fd);
	}
}

/* A descriptor lives on, whatever becomes of the name. */
static void use_descriptor(const char *path, const char *other)
{
	char data[64];
	struct stat st;
	int fd = open(path, O_RDWR | O_NONBLOCK);

	check("open", path, fd);
	if (fd < 0) {
		return;
	}
	check("rename", path, rename(path, other));
	check("write to it", path, pwrite(fd, "data", 4, any(10000)));
	check("unlink", other, unlink(other));
	check("truncate it", path, ftruncate(fd, any(5000)));
	check("stat it", path, fstat(fd, &st));
	if (S_ISREG(st.st_mode)) {
		check("read it", path, pread(fd, data, sizeof(data), 0));
		check("punch", path,
		      fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				0, 4096));
	}
	close(fd);
}

static void make_dir(const char *path, const char *other)
{
	(void)other;
	check("mkdir", path, mkdir(path, 0755));
}

static void remove_dir(const char *path, const char *other)
{
	(void)other;
	check("rmdir", path, rmdir(path));
}

static void remove_file(const char *path, const char *other)
{
	(void)other;
	check("unlink", path, unlink(path));
}

static void rename_any(const char *path, const char *other)
{
	static const unsigned int flags[] = {0, 0, RENAME_NOREPLACE,
					     RENAME_EXCHANGE};

	check("rename", path,
	      renameat2(AT_FDCWD, path, AT_FDCWD, other, flags[any(4)]));
}

static void link_any(const char *path, const char *other)
{
	if (any(2)) {
		check("symlink", other, symlink(path, other));
	} else {
		check("link", path, link(path, other));
	}
}

static void change_attributes(const char *path, const char *other)
{
	struct timespec times[2] = {{1, 0}, {(time_t)any(1000), 0}};

	(void)other;
	check("chmod", path, chmod(path, any(2) ? 0755 : 0700));
	check("utimens", path, utimensat(AT_FDCWD, path, times, 0));
	check("setxattr", path, setxattr(path, "user.a", "1", 1, 0));
	check("removexattr", path, removexattr(path, "user.a"));
}

static void look(const char *path, const char *other)
{
	char target[PATH_BYTES];
	struct stat st;

	check("stat", path, lstat(path, &st));
	check("stat", other, stat(other, &st));
	check("readlink", path, readlink(path, target, sizeof(target)));
}

static void list_dir(const char *path, const char *other)
{
	DIR *dir = opendir(path);

	(void)other;
	check("opendir", path, dir ? 0 : -1);
	if (!dir) {
		return;
	}
	errno = 0;
	while (readdir(dir)) {
		errno = 0;
	}
	if (errno) {
		check("readdir", path, -1);
	}
	closedir(dir);
}

static void write_all(const char *path, int fd, const char *data, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, data, size);

		if (n <= 0) {
			complain("write", path, strerrorname_np(errno));
			return;
		}
		data += n;
		size -= (size_t)n;
	}
}

/* Puts a file of one letter in place by a rename. */
static void replace_whole(const char *path, const char *other)
{
	char data[WHOLE_BYTES];
	char temp[PATH_BYTES];
	int fd;

	(void)other;
	(void)path;
	memset(data, 'a' + (int)any(26), sizeof(data));
	snprintf(temp, sizeof(temp), "temp-%u", self);
	fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	check("create", temp, fd);
	if (fd < 0) {
		return;
	}
	write_all(temp, fd, data, sizeof(data));
	close(fd);
	if (rename(temp, any(2) ? "whole-0" : "whole-1")) {
		complain("rename", temp, strerrorname_np(errno));
	}
}

/* Such a file is there at any time, and is whole. */
static void read_whole(const char *path, const char *other)
{
	const char *name = any(2) ? "whole-0" : "whole-1";
	char data[WHOLE_BYTES + 1];
	int fd = open(name, O_RDONLY);
	ssize_t n = 0;
	ssize_t part;

	(void)path;
	(void)other;
	if (fd < 0) {
		complain("open", name, strerrorname_np(errno));
		return;
	}
	while ((part = read(fd, data + n, sizeof(data) - (size_t)n)) > 0) {
		n += part;
	}
	if (part < 0) {
		complain("read", name, strerrorname_np(errno));
	} else if (n != WHOLE_BYTES) {
		complain("read", name, "it is not whole");
	}
	for (ssize_t i = 1; i < n; i++) {
		if (data[i] != data[0]) {
			complain("read", name, "it is of two files");
			break;
		}
	}
	close(fd);
}

static void append_record(const char *path, const char *other)
{
	char record[RECORD_BYTES + 1];
	int fd = open("log", O_WRONLY | O_APPEND);

	(void)path;
	(void)other;
	if (fd < 0) {
		complain("open", "log", strerrorname_np(errno));
		return;
	}
	snprintf(record, sizeof(record), "%3u %10lu %0*d\n", self,
		 shared->records[self], RECORD_BYTES - 16, 0);
	if (write(fd, record, RECORD_BYTES) == RECORD_BYTES) {
		shared->records[self]++;
	} else {
		complain("append", "log", strerrorname_np(errno));
	}
	close(fd);
}

static void (*const operations[])(const char *path, const char *other) = {
	create_file, create_file,   read_file,     use_descriptor,
	make_dir,    remove_dir,    remove_file,   rename_any,
	rename_any,  link_any,      look,          change_attributes,
	list_dir,    replace_whole, append_record, read_whole,
};

static _Noreturn void work(time_t until)
{
	const struct sigaction action = {.sa_handler = on_signal};

	/* Without SA_RESTART: what is interrupted says EINTR. */
	sigaction(SIGURG, &action, NULL);
	while (time(NULL) < until) {
		char path[PATH_BYTES];
		char other[PATH_BYTES];

		operations[any(sizeof(operations) / sizeof(operations[0]))](
			some_path(path), some_path(other));
		__atomic_add_fetch(&shared->operations, 1, __ATOMIC_RELAXED);
	}
	_exit(0);
}

/* Before the storm there is all that is never to be gone. */
static void set_up(void)
{
	static const char *const files[] = {"whole-0", "whole-1", "log"};
	char data[WHOLE_BYTES];

	memset(data, 'a', sizeof(data));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int fd = open(files[i], O_WRONLY | O_CREAT | O_TRUNC, 0644);

		if (fd < 0) {
			die("can't make '%s'", files[i]);
		}
		if (i < 2) {
			write_all(files[i], fd, data, sizeof(data));
		}
		close(fd);
	}
	for (unsigned int i = 0; i < DIRS; i++) {
		char name[8];

		snprintf(name, sizeof(name), "d%u", i);
		if (mkdir(name, 0755) && errno != EEXIST) {
			die("can't make '%s'", name);
		}
	}
}

/* Each record is there once, and in the order of its process. */
static void check_log(unsigned int count)
{
	unsigned long seen[PROCESSES_MAX] = {0};
	char record[RECORD_BYTES + 1];
	FILE *log = fopen("log", "re");

	if (!log) {
		complain("open", "log", strerrorname_np(errno));
		return;
	}
	while (fread(record, RECORD_BYTES, 1, log) == 1) {
		unsigned int process;
		unsigned long number;

		if (sscanf(record, "%u %lu", &process, &number) != 2 ||
		    process >= count || number != seen[process] ||
		    record[RECORD_BYTES - 1] != '\n') {
			complain("read", "log", "a record is torn or missing");
			break;
		}
		seen[process]++;
	}
	fclose(log);
	for (unsigned int i = 0; i < count; i++) {
		if (seen[i] != shared->records[i]) {
			complain("read", "log", "records are missing");
		}
	}
}

static pid_t start_one(unsigned int number, unsigned int first_seed,
		       time_t until)
{
	pid_t child = fork();

	if (child == 0) {
		self = number;
		seed = first_seed * PROCESSES_MAX + number;
		work(until);
	}
	if (child < 0) {
		die("can't fork");
	}
	return child;
}

int main(int argc, char **argv)
{
	unsigned int count = argc > 3 ? (unsigned int)atoi(argv[3]) : 0;
	const struct timespec pause = {.tv_nsec = SIGNAL_NS};
	pid_t children[PROCESSES_MAX];
	unsigned long signals = 0;
	time_t until;

	if (argc != 5 || count < 1 || count > PROCESSES_MAX) {
		fputs("usage: storm DIR SECONDS PROCESSES SEED\n", stderr);
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || chdir(argv[1])) {
		die("can't go to '%s'", argv[1]);
	}
	set_up();
	/* Before it is handled it must not end a child. */
	signal(SIGURG, SIG_IGN);
	until = time(NULL) + atoi(argv[2]);
	for (unsigned int i = 0; i < count; i++) {
		children[i] = start_one(i, (unsigned int)atoi(argv[4]), until);
	}
	while (time(NULL) < until) {
		for (unsigned int i = 0; i < count; i++) {
			kill(children[i], SIGURG);
		}
		nanosleep(&pause, NULL);
	}
	for (unsigned int i = 0; i < count; i++) {
		int status = 0;

		waitpid(children[i], &status, 0);
		if (status) {
			complain("end", argv[1], "a process died");
		}
		signals += shared->signals[i];
	}
	check_log(count);
	printf("%lu operations, %lu signals, %lu wrong\n", shared->operations,
	       signals, shared->wrong);
	return shared->wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
