/* What stays coherent: maps, and descriptors from before a copy-up. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

#define MAP_BYTES 65536

static char *map(int fd, int prot, int flags)
{
	char *at = mmap(NULL, MAP_BYTES, prot, flags, fd, 0);

	record("mmap", "%s", at == MAP_FAILED ? err_name(errno) : "ok");
	return at == MAP_FAILED ? NULL : at;
}

static void map_shared(void)
{
	int fd = TRY_FD(open("big", O_RDWR));
	char *at = map(fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	char data[8] = {0};

	if (!at) {
		return;
	}
	memcpy(at + 5000, "mapped", 6);
	TRY(pread(fd, data, 6, 5000));
	record("pread of the map", "%s", data);
	TRY(pwrite(fd, "write", 5, 9000));
	record("map after pwrite", "%.5s", at + 9000);
	TRY(msync(at, MAP_BYTES, MS_SYNC));
	record_content("after msync", "big");
	memcpy(at + 20000, "late", 4);
	TRY(close(fd));
	memcpy(at + 30000, "later", 5);
	TRY(munmap(at, MAP_BYTES));
	record_content("after munmap", "big");
	fd = TRY_FD(open("big", O_RDONLY));
	record("a writable map of a reader", "%s",
	       mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED
		       ? err_name(errno)
		       : "ok");
	close(fd);
}

static void map_private(void)
{
	int fd = TRY_FD(open("big", O_RDONLY));
	char *at = map(fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);

	if (!at) {
		return;
	}
	memcpy(at + 100, "private", 7);
	TRY(munmap(at, MAP_BYTES));
	record_fd_content("big", fd);
	close(fd);
}

/* A map made before the copy-up sees what is written after it. */
static void map_before_copy_up(void)
{
	int reader = TRY_FD(open("big", O_RDONLY));
	char *at = map(reader, PROT_READ, MAP_SHARED);
	int writer;

	if (!at) {
		return;
	}
	record("before", "%.11s", at + 8192);
	writer = TRY_FD(open("big", O_RDWR));
	TRY(pwrite(writer, "fresh bytes", 11, 8192));
	record("after", "%.11s", at + 8192);
	TRY(pwrite(writer, "unread page", 11, 40960));
	record("a page that was not read before", "%.11s", at + 40960);
	TRY(munmap(at, MAP_BYTES));
	close(reader);
	close(writer);
}

static void stale_reader(void)
{
	int reader = TRY_FD(open("f", O_RDONLY));
	int path = TRY_FD(open("f", O_PATH));
	char data[64] = {0};
	struct stat a;
	struct stat b;
	int writer;

	TRY(pread(reader, data, 8, 0));
	writer = TRY_FD(open("f", O_RDWR));
	TRY(pwrite(writer, "NEW", 3, 0));
	record_fd_content("reader", reader);
	TRY(fstat(reader, &a));
	TRY(fstat(writer, &b));
	record("same inode", "%d", a.st_ino == b.st_ino);
	TRY(ftruncate(writer, 5));
	record_fd_content("reader, cut", reader);
	record_fstat("reader, cut", reader);
	record_fstat("path, cut", path);
	TRY(fchmod(writer, 0600));
	record_fstat("reader, mode", reader);
	TRY(rename("f", "d/f"));
	TRY(pwrite(writer, "moved", 5, 3));
	record_fd_content("reader, renamed", reader);
	TRY(close(writer));
	writer = TRY_FD(open("d/f", O_WRONLY | O_APPEND));
	TRY(write(writer, "again", 5));
	record_fd_content("reader, opened again", reader);
	TRY(unlink("d/f"));
	TRY(write(writer, " and gone", 9));
	record_fd_content("reader, unlinked", reader);
	record_fstat("path, unlinked", path);
	close(reader);
	close(writer);
	close(path);
}

/* The same with what changes attributes only, and through a second name. */
static void stale_attributes(void)
{
	int reader = TRY_FD(open("h1", O_RDONLY));
	int dir = TRY_FD(open("d", O_RDONLY | O_DIRECTORY));
	int writer;

	TRY(chmod("h2", 0604));
	record_fstat("reader", reader);
	writer = TRY_FD(open("h2", O_WRONLY | O_APPEND));
	TRY(write(writer, "by h2\n", 6));
	record_fd_content("reader", reader);
	TRY(unlink("h1"));
	record_fstat("reader", reader);
	TRY(write(writer, "by h2 again\n", 12));
	record_fd_content("reader", reader);
	TRY(mkdirat(dir, "new", 0700));
	TRY(chmod("d", 0700));
	record_fstat("dir", dir);
	TRY(rename("d", "e/d"));
	TRY_OPEN(openat(dir, "after", O_CREAT | O_WRONLY, 0600));
	TRY_OPEN(openat(dir, "new", O_RDONLY));
	TRY_OPEN(openat(dir, "sub/x", O_WRONLY | O_TRUNC));
	record_listing("e/d", "e/d");
	close(reader);
	close(writer);
	close(dir);
}

static void drain_events(int fd)
{
	char buf[8192] __attribute__((aligned(8)));
	ssize_t size = read(fd, buf, sizeof(buf));

	for (ssize_t at = 0; at < size;) {
		const struct inotify_event *event = (const void *)(buf + at);

		record("event", "%x %s", event->mask,
		       event->len ? event->name : "");
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}

static void watch_events(void)
{
	int fd = TRY_FD(inotify_init1(IN_NONBLOCK));
	int file;

	record("watch", "%d",
	       inotify_add_watch(fd, "d",
				 IN_CREATE | IN_DELETE | IN_MOVE | IN_ATTRIB |
					 IN_CLOSE_WRITE) > 0);
	file = TRY_FD(open("d/a", O_WRONLY | O_APPEND));
	TRY(write(file, "x", 1));
	TRY(close(file));
	TRY_OPEN(open("d/new", O_WRONLY | O_CREAT, 0600));
	TRY(rename("d/new", "d/newer"));
	TRY(chmod("d/b", 0600));
	TRY(unlink("d/newer"));
	TRY(mkdir("d/dir", 0700));
	TRY(rename("f", "d/f"));
	drain_events(fd);
	close(fd);
}

const struct parity_case cases_map[] = {
	{"map-shared", map_shared, STATE_ALL, PARITY_ANYONE, NULL},
	{"map-private", map_private, STATE_ALL, PARITY_ANYONE, NULL},
	{"map-before-copy-up", map_before_copy_up, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"stale-reader", stale_reader, STATE_ALL, PARITY_ANYONE, NULL},
	{"stale-attributes", stale_attributes, STATE_ALL, PARITY_ANYONE, NULL},
	{"watch-events", watch_events, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
