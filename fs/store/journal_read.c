#include "journal_read.h"

#include <fcntl.h>

#include "journal_area.h"
#include "journal_slot.h"
#include "sys.h"

/* How often a segment began its next life while it was read. Each time takes
 * the daemon thousands of changes. */
#define TRIES 16

int journal_open_dir(int execution_dirfd)
{
	return sys_openat(execution_dirfd, JOURNAL_DIR,
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* All of it; -EBADMSG where the file ends early. */
static int read_at(int fd, void *data, size_t size, off_t from)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = sys_pread(fd, (char *)data + done, size - done,
				      from + (off_t)done);

		if (n <= 0) {
			return n ? (int)n : -EBADMSG;
		}
		done += (size_t)n;
	}
	return 0;
}

static int add_segment(const struct journal_segment *segment, uint64_t key,
		       struct journal_batch *batch)
{
	struct journal_scan scan = {.segment = segment, .key = key};
	const struct journal_slot *slot;
	uint64_t progress;
	int error = 0;

	if (!journal_segment_valid(segment, key)) {
		return 0;
	}
	while (!error && (slot = journal_scan_next(&scan, &progress))) {
		error = journal_batch_add(
			batch, slot, progress,
			journal_slot_outcome(slot, progress, key));
	}
	return error;
}

/* Whether all segments are in the lives in which they were read: 1, 0 or
 * -errno. */
static int is_consistent(int fd, const struct journal_head *area)
{
	for (unsigned int i = 0; i < JOURNAL_SEGMENTS; i++) {
		const struct journal_segment *seen =
			journal_area_segment(area, i);
		struct journal_segment now;
		int error = read_at(fd, &now, sizeof(now),
				    (const char *)seen - (const char *)area);

		if (error) {
			return error;
		}
		if (journal_segment_generation(&now) !=
		    journal_segment_generation(seen)) {
			return 0;
		}
	}
	return 1;
}

static int read_area(int fd, struct journal_head *area)
{
	for (int i = 0; i < TRIES; i++) {
		int error = read_at(fd, area, JOURNAL_AREA_BYTES, 0);

		error = error ? error : journal_area_check(area);
		error = error ? error : is_consistent(fd, area);
		if (error) {
			return error < 0 ? error : 0;
		}
	}
	return -EAGAIN;
}

int journal_read(int journal_dirfd, struct journal_batch *batch)
{
	AUTO_FD fd = sys_openat(journal_dirfd, JOURNAL_AREA_FILE,
				O_RDONLY | O_NOFOLLOW, 0);
	AUTO_FREE struct journal_head *area = NULL;
	int error;

	if (fd < 0) {
		return fd;
	}
	area = malloc(JOURNAL_AREA_BYTES);
	if (!area) {
		return -ENOMEM;
	}
	error = read_area(fd, area);
	for (unsigned int i = 0; i < JOURNAL_SEGMENTS && !error; i++) {
		error = add_segment(journal_area_segment(area, i), area->key,
				    batch);
	}
	return error ? error : journal_batch_finish(batch);
}
