#include "stats.h"

#include <linux/fuse.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SECOND 1000000000U

/* The session has one daemon to itself, and libfuse hands the callbacks the
 * server, which has no business with this. */
static struct stats_page *counted_in;

/* What this thread serves. */
static _Thread_local struct {
	uint64_t unique; /* 0: nothing */
	uint32_t opcode;
	uint64_t began_ns;
} request;

static unsigned int own_shard(void)
{
	static atomic_uint threads;
	static _Thread_local unsigned int shard; /* from 1; 0: not yet given */

	if (!shard) {
		/* relaxed: only different numbers are wanted */
		shard = 1 + atomic_fetch_add_explicit(&threads, 1,
						      memory_order_relaxed);
	}
	return shard;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static void count_request(bool failed)
{
	stats_page_count(counted_in, own_shard(), request.opcode, failed,
			 now_ns() - request.began_ns);
	request.unique = 0;
}

static ssize_t read_request(int fd, void *buffer, size_t size, void *data)
{
	const struct fuse_in_header *header = buffer;
	ssize_t n;

	(void)data;
	if (request.unique) {
		count_request(false); /* of the kind that has no answer */
	}
	n = read(fd, buffer, size);
	if (n >= (ssize_t)sizeof(*header)) {
		request.unique = header->unique;
		request.opcode = header->opcode;
		request.began_ns = now_ns();
	}
	return n;
}

static ssize_t write_answer(int fd, struct iovec *iov, int count, void *data)
{
	const struct fuse_out_header *header = iov[0].iov_base;

	(void)data;
	/* Not a notification, whose number is 0. Counted before the write: once
	 * it is written, whoever asked may look. */
	if (request.unique && header->unique == request.unique) {
		count_request(header->error != 0);
	}
	return writev(fd, iov, count);
}

int stats_attach(struct fuse_session *session, int fd, struct stats_page *page)
{
	static const struct fuse_custom_io io = {
		.read = read_request,
		.writev = write_answer,
	};

	counted_in = page;
	return page ? fuse_session_custom_io(session, &io, sizeof(io), fd) : 0;
}
