#include "applied.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "fdio.h"
#include "sys.h"

#define APPLIED_FILE "applied"

/* 2^31: no tree comes near. */
#define MAX_BYTES (1UL << 31)

static int compare(const void *a, const void *b)
{
	const struct origin *left = a;
	const struct origin *right = b;

	if (left->dev != right->dev) {
		return left->dev < right->dev ? -1 : 1;
	}
	return (left->ino > right->ino) - (left->ino < right->ino);
}

int applied_add(struct applied *applied, const struct origin *id)
{
	/* Doubles at each power of two. */
	if ((applied->n & (applied->n - 1)) == 0) {
		size_t capacity = applied->n ? applied->n * 2 : 1;
		struct origin *ids =
			reallocarray(applied->ids, capacity, sizeof(*ids));

		if (!ids) {
			return -ENOMEM;
		}
		applied->ids = ids;
	}
	applied->ids[applied->n++] = *id;
	return 0;
}

static int parse(struct applied *applied, char *text)
{
	char *line;

	while ((line = strsep(&text, "\n")) && *line) {
		struct origin id = {0};
		int error;

		if (sscanf(line,
			   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
			   " %" SCNu64,
			   &id.dev, &id.ino, &id.size_bytes, &id.mtime_ns,
			   &id.ctime_ns) != 5) {
			return -EBADMSG;
		}
		error = applied_add(applied, &id);
		if (error) {
			return error;
		}
	}
	return 0;
}

int applied_read(struct applied *applied, int view_fd)
{
	AUTO_BUF buf = BUF_INIT;
	AUTO_FD fd =
		sys_openat(view_fd, APPLIED_FILE, O_RDONLY | O_NOFOLLOW, 0);
	int error = fd;

	if (fd == -ENOENT) {
		return 0;
	}
	if (fd >= 0) {
		error = fdio_read_all(fd, &buf, MAX_BYTES);
	}
	error = error ? error : parse(applied, buf.data);
	if (!error && applied->n > 0) {
		qsort(applied->ids, applied->n, sizeof(*applied->ids), compare);
	}
	return error;
}

int applied_write(const struct applied *applied, int view_fd)
{
	AUTO_BUF buf = BUF_INIT;
	int error;

	for (size_t i = 0; i < applied->n; i++) {
		const struct origin *id = &applied->ids[i];

		buf_addf(&buf,
			 "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			 " %" PRIu64 "\n",
			 id->dev, id->ino, id->size_bytes, id->mtime_ns,
			 id->ctime_ns);
	}
	error = buf_error(&buf);
	return error ? error
		     : fdio_replace_file(view_fd, APPLIED_FILE, buf.data,
					 buf.len);
}

static bool is_same(const struct origin *a, const struct origin *b, bool is_dir)
{
	return is_dir ||
	       (a->size_bytes == b->size_bytes && a->mtime_ns == b->mtime_ns &&
		a->ctime_ns == b->ctime_ns);
}

bool applied_contains(const struct applied *applied, const struct origin *id,
		      bool is_dir)
{
	const struct origin *at =
		applied->n ? bsearch(id, applied->ids, applied->n,
				     sizeof(*applied->ids), compare)
			   : NULL;

	if (!at) {
		return false;
	}
	/* An inode may have been written more than once. */
	while (at > applied->ids && compare(at - 1, id) == 0) {
		at--;
	}
	for (; at < applied->ids + applied->n && compare(at, id) == 0; at++) {
		if (is_same(at, id, is_dir)) {
			return true;
		}
	}
	return false;
}

void applied_release(struct applied *applied)
{
	free(applied->ids);
	*applied = (struct applied){0};
}
