/* Reading and writing: counts, ends of files, holes, copies, sizes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parity.h"

static void data_read(void)
{
	char data[64] = {0};
	struct iovec parts[2] = {{data, 5}, {data + 5, 10}};
	int fd = TRY_FD(open("f", O_RDONLY));

	TRY(read(fd, data, 3));
	TRY(read(fd, data, sizeof(data)));
	TRY(read(fd, data, sizeof(data)));
	TRY(pread(fd, data, 4, 13));
	TRY(pread(fd, data, 64, 13));
	TRY(pread(fd, data, 4, 17));
	TRY(pread(fd, data, 4, 1000000));
	TRY(pread(fd, data, 4, -1));
	TRY(pread(fd, data, 0, 0));
	TRY(preadv(fd, parts, 2, 2));
	record("preadv", "%.15s", data);
	TRY(write(fd, "x", 1));
	TRY(pwrite(fd, "x", 1, 0));
	TRY(lseek(fd, -3, SEEK_END));
	TRY(read(fd, data, 64));
	TRY(lseek(fd, -1, SEEK_SET));
	TRY(lseek(fd, 99, SEEK_CUR));
	TRY(read(fd, data, 64));
	TRY(close(fd));
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(read(fd, data, 64));
	TRY(pread(fd, data, 64, 0));
	TRY(close(fd));
	fd = TRY_FD(open("f", O_WRONLY));
	TRY(read(fd, data, 1));
	TRY(close(fd));
}

static void data_write(void)
{
	char many[3000];
	struct iovec parts[2] = {{many, 1000}, {many + 500, 2500}};
	int fd = TRY_FD(open("f", O_RDWR));

	memset(many, 'm', sizeof(many));
	TRY(write(fd, "The", 3));
	TRY(write(fd, "", 0));
	TRY(pwrite(fd, "END", 3, 14));
	record_fd_content("in place", fd);
	TRY(lseek(fd, 0, SEEK_CUR));
	TRY(pwritev(fd, parts, 2, 4000));
	record_fd_content("with a gap", fd);
	record_fstat("with a gap", fd);
	TRY(pwrite(fd, "x", 1, 1000000));
	record_fd_content("with a hole", fd);
	TRY(pwrite(fd, "x", 1, -1));
	TRY(writev(fd, parts, 1));
	TRY(writev(fd, parts, 0));
	TRY(close(fd));
	TRY(write(fd, "x", 1));
	fd = TRY_FD(open("big", O_RDWR));
	for (int i = 0; i < 20; i++) {
		pwrite(fd, many, sizeof(many), i * 16384 + 100);
	}
	record_fd_content("big", fd);
	TRY(close(fd));
}

static void data_truncate(void)
{
	int fd = TRY_FD(open("big", O_RDWR));

	TRY(truncate("f", 3));
	record_content("f", "f");
	TRY(truncate("f", 5000));
	record_content("f", "f");
	TRY(truncate("f", 0));
	TRY(truncate("f", -1));
	TRY(truncate("d", 0));
	TRY(truncate("gone", 0));
	TRY(truncate("lx", 0));
	TRY(truncate("l", 7));
	TRY(truncate("p", 0));
	TRY(truncate("s", 0));
	TRY(truncate("f/x", 0));
	TRY(ftruncate(fd, 100001));
	record_fd_content("shorter", fd);
	TRY(ftruncate(fd, 200002));
	record_fd_content("longer", fd);
	TRY(ftruncate(fd, 200002));
	TRY(ftruncate(fd, 1L << 40));
	record_fstat("1 TiB", fd);
	TRY(ftruncate(fd, 4096));
	record_fd_content("4096", fd);
	TRY(close(fd));
	fd = TRY_FD(open("g", O_RDONLY));
	TRY(ftruncate(fd, 0));
	TRY(close(fd));
	TRY(truncate("h1", 2));
	record_content("h2", "h2");
}

static void data_statfs(void)
{
	struct statvfs fs;

	TRY(statvfs("f", &fs));
	record("block size is sane", "%d",
	       fs.f_bsize >= 512 && fs.f_frsize >= 512);
	record("blocks are sane", "%d",
	       fs.f_blocks > 0 && fs.f_bfree <= fs.f_blocks &&
		       fs.f_bavail <= fs.f_bfree);
	record("something is free", "%d", fs.f_bavail > 0);
	record("inodes are sane", "%d", fs.f_ffree <= fs.f_files);
	record("longest name", "%lu", fs.f_namemax);
	record("writable", "%d", !(fs.f_flag & ST_RDONLY));
	TRY(statvfs("gone", &fs));
	TRY(statvfs("f/x", &fs));
	TRY(statvfs("l", &fs));
}

static void data_sync(void)
{
	int fd = TRY_FD(open("f", O_RDWR));
	int reader = TRY_FD(open("g", O_RDONLY));
	int dir = TRY_FD(open("d", O_RDONLY | O_DIRECTORY));
	int path = TRY_FD(open("f", O_PATH));
	int fifo = TRY_FD(open("p", O_RDWR | O_NONBLOCK));

	TRY(write(fd, "s", 1));
	TRY(fsync(fd));
	TRY(fdatasync(fd));
	TRY(fsync(reader));
	TRY(fdatasync(reader));
	TRY(fsync(dir));
	TRY(fdatasync(dir));
	TRY(fsync(path));
	TRY(fsync(fifo));
	TRY(syncfs(fd));
	TRY(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	TRY(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED));
	TRY(readahead(reader, 0, 4096));
	record_content("f", "f");
	close(fd);
	close(reader);
	close(dir);
	close(path);
	close(fifo);
}

static void data_fallocate(void)
{
	int fd = TRY_FD(open("f", O_RDWR));
	int reader = TRY_FD(open("g", O_RDONLY));

	TRY(fallocate(fd, 0, 0, 10));
	record_fstat("inside", fd);
	TRY(fallocate(fd, 0, 100, 5000));
	record_fd_content("longer", fd);
	TRY(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 100000));
	record_fstat("kept size", fd);
	TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE, 0, 4));
	TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 5));
	record_fd_content("punched", fd);
	TRY(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      1 << 20));
	record_fd_content("punched all", fd);
	TRY(pwrite(fd, "0123456789", 10, 0));
	TRY(fallocate(fd, FALLOC_FL_ZERO_RANGE, 5, 10000));
	record_fd_content("zeroed", fd);
	TRY(fallocate(fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 0,
		      20000));
	record_fd_content("zeroed all", fd);
	TRY(fallocate(fd, 0, -1, 10));
	TRY(fallocate(fd, 0, 0, 0));
	TRY(fallocate(fd, 0, 0, -5));
	TRY(fallocate(fd, 0x8000, 0, 10));
	TRY(fallocate(reader, 0, 0, 10));
	TRY(posix_fallocate(fd, 0, 30000));
	record_fstat("posix_fallocate", fd);
	close(fd);
	close(reader);
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(fallocate(fd, 0, 0, 10));
	close(fd);
}

/* Which blocks of a sparse file have data; the disk's block is 4 KiB. */
static void data_holes(void)
{
	int fd = TRY_FD(open("sparse", O_RDWR | O_CREAT, 0600));
	struct stat st;

	TRY(pwrite(fd, "data", 4, 1 << 20));
	TRY(pwrite(fd, "data", 4, 3 << 20));
	TRY(ftruncate(fd, 5 << 20));
	TRY(lseek(fd, 0, SEEK_DATA));
	TRY(lseek(fd, 1 << 20, SEEK_HOLE));
	TRY(lseek(fd, 2 << 20, SEEK_DATA));
	TRY(lseek(fd, 2 << 20, SEEK_HOLE));
	TRY(lseek(fd, 4 << 20, SEEK_DATA));
	TRY(lseek(fd, 5 << 20, SEEK_DATA));
	TRY(lseek(fd, 5 << 20, SEEK_HOLE));
	TRY(lseek(fd, 6 << 20, SEEK_HOLE));
	TRY(fstat(fd, &st));
	record("is sparse", "%d", st.st_blocks < 256);
	close(fd);
	fd = TRY_FD(open("big", O_RDONLY));
	TRY(lseek(fd, 0, SEEK_DATA));
	TRY(lseek(fd, 0, SEEK_HOLE));
	TRY(lseek(fd, STATE_BIG_BYTES, SEEK_DATA));
	close(fd);
	fd = TRY_FD(open("d", O_RDONLY));
	TRY(lseek(fd, 0, 99));
	close(fd);
}

static void data_copy_range(void)
{
	int from = TRY_FD(open("big", O_RDWR));
	int to = TRY_FD(open("copy", O_RDWR | O_CREAT, 0600));
	int append = TRY_FD(open("f", O_WRONLY | O_APPEND));
	off_t in = 1000;
	off_t out = 5000;

	TRY(copy_file_range(from, &in, to, &out, 20000, 0));
	record("offsets", "%lld %lld", (long long)in, (long long)out);
	record_fd_content("copy", to);
	TRY(copy_file_range(from, NULL, to, NULL, 500, 0));
	TRY(lseek(from, 0, SEEK_CUR));
	record_fd_content("copy", to);
	in = STATE_BIG_BYTES - 100;
	TRY(copy_file_range(from, &in, to, NULL, 1000, 0));
	TRY(copy_file_range(from, &in, to, NULL, 1000, 0));
	in = 0;
	out = 1000;
	TRY(copy_file_range(from, &in, from, &out, 5000, 0));
	out = 100000;
	in = 0;
	TRY(copy_file_range(from, &in, from, &out, 5000, 0));
	record_fd_content("big", from);
	TRY(copy_file_range(from, NULL, append, NULL, 10, 0));
	TRY(copy_file_range(append, NULL, to, NULL, 10, 0));
	TRY(copy_file_range(from, NULL, to, NULL, 10, 1));
	TRY(lseek(to, 0, SEEK_SET));
	TRY(lseek(from, 0, SEEK_SET));
	TRY(sendfile(to, from, NULL, 70000));
	record_fd_content("sent", to);
	close(from);
	close(to);
	close(append);
}

#define DIRECT_BYTES 4096

static void data_direct(void)
{
	char *block = aligned_alloc(DIRECT_BYTES, DIRECT_BYTES);
	int fd = TRY_FD(open("big", O_RDWR | O_DIRECT));
	int cached = TRY_FD(open("big", O_RDWR));

	TRY(pread(fd, block, DIRECT_BYTES, 8192));
	record("read", "%016lx", record_hash(block, DIRECT_BYTES));
	memset(block, 'D', DIRECT_BYTES);
	TRY(pwrite(fd, block, DIRECT_BYTES, 16384));
	record_fd_content("cached after direct", cached);
	TRY(pwrite(cached, "cached", 6, 16400));
	TRY(pread(fd, block, DIRECT_BYTES, 16384));
	record("direct after cached", "%016lx",
	       record_hash(block, DIRECT_BYTES));
	/* the last, short block */
	TRY(pwrite(cached, "tail", 4, STATE_BIG_BYTES + 10));
	TRY(pread(fd, block, DIRECT_BYTES, STATE_BIG_BYTES));
	free(block);
	close(fd);
	close(cached);
}

/* A seeded walk of reads, writes and truncates, in the manner of fsx. */
static void data_random(void)
{
	static char data[40000];
	unsigned long seed = 42;
	int fd = TRY_FD(open("big", O_RDWR));
	int second = TRY_FD(open("big", O_RDWR));
	unsigned long reads = 0;

#define NEXT(limit) ((seed = seed * 6364136223846793005UL + 1) >> 33) % (limit)
	for (int i = 0; i < 600; i++) {
		off_t off = (off_t)(NEXT(400000));
		size_t size = NEXT(sizeof(data));
		int on = NEXT(2) ? fd : second;
		ssize_t n;

		switch (NEXT(8)) {
		case 0:
			TRY(ftruncate(on, off));
			break;
		case 1:
		case 2:
		case 3:
			memset(data, 'a' + i % 26, size);
			n = pwrite(on, data, size, off);
			record("written", "%d", n == (ssize_t)size);
			break;
		default:
			n = pread(on, data, size, off);
			reads ^= record_hash(data, n > 0 ? (size_t)n : 0);
			break;
		}
	}
#undef NEXT
	record("all that was read", "%016lx", reads);
	record_fd_content("big", second);
	close(fd);
	close(second);
}

#define APPENDERS    4
#define APPENDS      150
#define APPEND_BYTES 96

static void append_records(int who)
{
	char line[APPEND_BYTES + 1];
	int fd = open("d/a", O_WRONLY | O_APPEND);

	for (int i = 0; i < APPENDS; i++) {
		memset(line, 'a' + who, APPEND_BYTES);
		line[APPEND_BYTES - 1] = '\n';
		if (write(fd, line, APPEND_BYTES) != APPEND_BYTES) {
			_exit(1);
		}
	}
	_exit(0);
}

/* No record may be lost or torn, whatever the order. */
static void data_append_by_many(void)
{
	unsigned int counts[APPENDERS] = {0};
	char line[APPEND_BYTES + 2];
	unsigned int torn = 0;
	FILE *file;

	fflush(stdout);
	TRY(truncate("d/a", 0));
	for (int i = 0; i < APPENDERS; i++) {
		if (fork() == 0) {
			append_records(i);
		}
	}
	for (int i = 0; i < APPENDERS; i++) {
		int status = -1;

		wait(&status);
		record("writer", "%d", status);
	}
	file = fopen("d/a", "re");
	while (file && fgets(line, sizeof(line), file)) {
		int who = line[0] - 'a';

		if (strlen(line) != APPEND_BYTES || who < 0 ||
		    who >= APPENDERS || line[APPEND_BYTES - 2] != line[0]) {
			torn++;
		} else {
			counts[who]++;
		}
	}
	for (int i = 0; i < APPENDERS; i++) {
		record("records", "%u", counts[i]);
	}
	record("torn", "%u", torn);
	/* The order of lines is nobody's promise. */
	TRY(unlink("d/a"));
}

const struct parity_case cases_data[] = {
	{"data-read", data_read, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-write", data_write, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-truncate", data_truncate, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-statfs", data_statfs, STATE_FEW, PARITY_ANYONE, NULL},
	{"data-sync", data_sync, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-fallocate", data_fallocate, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-holes", data_holes, STATE_FEW, PARITY_ANYONE, NULL},
	{"data-copy-range", data_copy_range, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-direct", data_direct, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-random", data_random, STATE_ALL, PARITY_ANYONE, NULL},
	{"data-append-by-many", data_append_by_many, STATE_FEW, PARITY_ANYONE,
	 NULL},
	{.name = NULL},
};
