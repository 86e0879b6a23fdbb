#include "stats_page.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "fdio.h"
#include "sys.h"

#define STATS_MAGIC   UINT64_C(0x73746174732d676c) /* "lg-stats" */
#define STATS_VERSION 1U
#define STATS_SHARDS  8U

#define NS_PER_US 1000U

struct counters {
	atomic_uint_least64_t count;
	atomic_uint_least64_t failed;
	atomic_uint_least64_t total_ns;
	atomic_uint_least64_t buckets[STATS_BUCKETS];
};

/* On disk. Numbers are the machine's: the magic tells the byte order. */
struct stats_page {
	uint64_t magic;
	uint32_t version;
	uint32_t shards;
	uint32_t opcodes;
	uint32_t buckets;
	/* Threads of different shards share no line of the processor's cache.
	 */
	alignas(64) struct counters rows[STATS_SHARDS][STATS_OPCODES];
};
static_assert(sizeof(struct counters) == sizeof(struct stats_row), "same");

static const char *const names[STATS_OPCODES] = {
	[FUSE_LOOKUP] = "LOOKUP",
	[FUSE_FORGET] = "FORGET",
	[FUSE_GETATTR] = "GETATTR",
	[FUSE_SETATTR] = "SETATTR",
	[FUSE_READLINK] = "READLINK",
	[FUSE_SYMLINK] = "SYMLINK",
	[FUSE_MKNOD] = "MKNOD",
	[FUSE_MKDIR] = "MKDIR",
	[FUSE_UNLINK] = "UNLINK",
	[FUSE_RMDIR] = "RMDIR",
	[FUSE_RENAME] = "RENAME",
	[FUSE_LINK] = "LINK",
	[FUSE_OPEN] = "OPEN",
	[FUSE_READ] = "READ",
	[FUSE_WRITE] = "WRITE",
	[FUSE_STATFS] = "STATFS",
	[FUSE_RELEASE] = "RELEASE",
	[FUSE_FSYNC] = "FSYNC",
	[FUSE_SETXATTR] = "SETXATTR",
	[FUSE_GETXATTR] = "GETXATTR",
	[FUSE_LISTXATTR] = "LISTXATTR",
	[FUSE_REMOVEXATTR] = "REMOVEXATTR",
	[FUSE_FLUSH] = "FLUSH",
	[FUSE_INIT] = "INIT",
	[FUSE_OPENDIR] = "OPENDIR",
	[FUSE_READDIR] = "READDIR",
	[FUSE_RELEASEDIR] = "RELEASEDIR",
	[FUSE_FSYNCDIR] = "FSYNCDIR",
	[FUSE_GETLK] = "GETLK",
	[FUSE_SETLK] = "SETLK",
	[FUSE_SETLKW] = "SETLKW",
	[FUSE_ACCESS] = "ACCESS",
	[FUSE_CREATE] = "CREATE",
	[FUSE_INTERRUPT] = "INTERRUPT",
	[FUSE_BMAP] = "BMAP",
	[FUSE_DESTROY] = "DESTROY",
	[FUSE_IOCTL] = "IOCTL",
	[FUSE_POLL] = "POLL",
	[FUSE_NOTIFY_REPLY] = "NOTIFY_REPLY",
	[FUSE_BATCH_FORGET] = "BATCH_FORGET",
	[FUSE_FALLOCATE] = "FALLOCATE",
	[FUSE_READDIRPLUS] = "READDIRPLUS",
	[FUSE_RENAME2] = "RENAME2",
	[FUSE_LSEEK] = "LSEEK",
	[FUSE_COPY_FILE_RANGE] = "COPY_FILE_RANGE",
	[FUSE_SETUPMAPPING] = "SETUPMAPPING",
	[FUSE_REMOVEMAPPING] = "REMOVEMAPPING",
	[FUSE_SYNCFS] = "SYNCFS",
	[FUSE_TMPFILE] = "TMPFILE",
	[FUSE_STATX] = "STATX",
};

const char *stats_opcode_name(unsigned int opcode)
{
	return opcode < STATS_OPCODES ? names[opcode] : NULL;
}

static int map_page(int fd, int protection, struct stats_page **ret_page)
{
	void *page =
		mmap(NULL, sizeof(**ret_page), protection, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED) {
		return -errno;
	}
	*ret_page = page;
	return 0;
}

int stats_page_create(struct stats_page **ret_page, int dirfd)
{
	AUTO_FD fd = -1;
	int error = sys_unlinkat(dirfd, STATS_FILE, 0);

	if (error && error != -ENOENT) {
		return error;
	}
	fd = sys_openat(dirfd, STATS_FILE, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0) {
		return fd;
	}
	/* A store into a page that a full disk can't hold would kill us. */
	error = fdio_allocate(fd, sizeof(**ret_page));
	error = error ? error : map_page(fd, PROT_READ | PROT_WRITE, ret_page);
	if (error) {
		(void)!sys_unlinkat(dirfd, STATS_FILE, 0);
		return error;
	}
	(*ret_page)->version = STATS_VERSION;
	(*ret_page)->shards = STATS_SHARDS;
	(*ret_page)->opcodes = STATS_OPCODES;
	(*ret_page)->buckets = STATS_BUCKETS;
	(*ret_page)->magic = STATS_MAGIC;
	return 0;
}

void stats_page_release(struct stats_page *page)
{
	if (page) {
		munmap(page, sizeof(*page));
	}
}

static unsigned int bucket_of(uint64_t ns)
{
	uint64_t us = ns / NS_PER_US;
	unsigned int bucket = us ? 64U - (unsigned int)__builtin_clzll(us) : 0U;

	return bucket < STATS_BUCKETS ? bucket : STATS_BUCKETS - 1;
}

static void add(atomic_uint_least64_t *counter, uint64_t value)
{
	/* relaxed: whoever reads wants sums, not an order */
	atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

void stats_page_count(struct stats_page *page, unsigned int shard,
		      unsigned int opcode, bool failed, uint64_t ns)
{
	struct counters *row = &page->rows[shard % STATS_SHARDS]
					  [opcode < STATS_OPCODES ? opcode : 0];

	add(&row->count, 1);
	if (failed) {
		add(&row->failed, 1);
	}
	add(&row->total_ns, ns);
	add(&row->buckets[bucket_of(ns)], 1);
}

static uint64_t value_of(const atomic_uint_least64_t *counter)
{
	/* relaxed: as add */
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void add_up(const struct counters *counters, struct stats_row *row)
{
	row->count += value_of(&counters->count);
	row->failed += value_of(&counters->failed);
	row->total_ns += value_of(&counters->total_ns);
	for (unsigned int i = 0; i < STATS_BUCKETS; i++) {
		row->buckets[i] += value_of(&counters->buckets[i]);
	}
}

static int check_page(const struct stats_page *page)
{
	if (page->magic != STATS_MAGIC) {
		return -EBADMSG;
	}
	return page->version == STATS_VERSION && page->shards == STATS_SHARDS &&
			       page->opcodes == STATS_OPCODES &&
			       page->buckets == STATS_BUCKETS
		       ? 0
		       : -EPROTONOSUPPORT;
}

/* A copy, since a mapped file that somebody cuts would kill us. */
static int load_page(int dirfd, struct stats_page *page)
{
	AUTO_FD fd = sys_openat(dirfd, STATS_FILE,
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	size_t done = 0;

	if (fd < 0) {
		return fd;
	}
	while (done < sizeof(*page)) {
		ssize_t n = sys_pread(fd, (char *)page + done,
				      sizeof(*page) - done, (off_t)done);

		if (n <= 0) {
			return n ? (int)n : -EBADMSG;
		}
		done += (size_t)n;
	}
	return check_page(page);
}

int stats_page_read(int dirfd, struct stats_row ret_rows[STATS_OPCODES])
{
	AUTO_FREE struct stats_page *page =
		aligned_alloc(alignof(struct stats_page), sizeof(*page));
	int error = page ? load_page(dirfd, page) : -ENOMEM;

	if (error) {
		return error;
	}
	for (unsigned int op = 0; op < STATS_OPCODES; op++) {
		ret_rows[op] = (struct stats_row){0};
		for (unsigned int i = 0; i < STATS_SHARDS; i++) {
			add_up(&page->rows[i][op], &ret_rows[op]);
		}
	}
	return 0;
}

uint64_t stats_row_quantile(const struct stats_row *row, double part)
{
	double wanted = (double)row->count * part;
	uint64_t seen = 0;

	for (unsigned int i = 0; row->count && i < STATS_BUCKETS; i++) {
		seen += row->buckets[i];
		if ((double)seen >= wanted) {
			return UINT64_C(1) << i;
		}
	}
	return 0;
}
