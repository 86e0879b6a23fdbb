#include "journal_area.h"

#include <fcntl.h>
#include <sys/file.h>

#include "fdio.h"
#include "journal_slot.h"
#include "sys.h"

int journal_area_check(const struct journal_head *head)
{
	if (head->magic != JOURNAL_MAGIC) {
		return -EBADMSG;
	}
	if (head->version != JOURNAL_VERSION) {
		return -EPROTONOSUPPORT;
	}
	return head->check == journal_head_check(head) &&
			       head->segments == JOURNAL_SEGMENTS &&
			       head->segment_bytes == JOURNAL_SEGMENT_BYTES &&
			       head->align == JOURNAL_ALIGN
		       ? 0
		       : -EBADMSG;
}

static int map(struct journal_area *area)
{
	void *memory;
	int error = sys_map(area->fd, JOURNAL_AREA_BYTES, &memory);

	area->head = error ? NULL : memory;
	return error;
}

/* The magic comes last: without it the area was never there. */
static int fill_head(struct journal_head *head)
{
	uint64_t key;
	int error = sys_random(&key, sizeof(key));

	if (error) {
		return error;
	}
	*head = (struct journal_head){
		.magic = JOURNAL_MAGIC,
		.version = JOURNAL_VERSION,
		.segments = JOURNAL_SEGMENTS,
		.segment_bytes = JOURNAL_SEGMENT_BYTES,
		.align = JOURNAL_ALIGN,
		.key = key,
	};
	head->check = journal_head_check(head);
	return 0;
}

static int make(struct journal_area *area)
{
	struct journal_head head;
	ssize_t n;
	int error = sys_ftruncate(area->fd, 0);

	error = error ? error : fdio_allocate(area->fd, JOURNAL_AREA_BYTES);
	error = error ? error : fill_head(&head);
	if (error) {
		return error;
	}
	/* Less than a block: whole or not at all. */
	n = sys_pwrite(area->fd, &head, sizeof(head), 0);
	if (n != sizeof(head)) {
		return n < 0 ? (int)n : -EIO;
	}
	return map(area);
}

/* Whether nobody ever got as far as to use it. */
static int is_unfinished(int fd, off_t size)
{
	uint64_t magic = 0;
	ssize_t n = size ? sys_pread(fd, &magic, sizeof(magic), 0) : 0;

	return n < 0 ? (int)n : magic == 0;
}

static int open_locked(struct journal_area *area)
{
	struct stat st;
	int unfinished;
	int error = sys_fstat(area->fd, &st);

	if (error) {
		return error;
	}
	unfinished = is_unfinished(area->fd, st.st_size);
	if (unfinished) {
		return unfinished < 0 ? unfinished : make(area);
	}
	if (st.st_size != (off_t)JOURNAL_AREA_BYTES) {
		return -EBADMSG;
	}
	error = map(area);
	return error ? error : journal_area_check(area->head);
}

int journal_area_open(struct journal_area *ret_area, int journal_dirfd)
{
	struct journal_area area = JOURNAL_AREA_INIT;
	int error;

	area.fd = sys_openat(journal_dirfd, JOURNAL_AREA_FILE,
			     O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
	if (area.fd < 0) {
		return area.fd;
	}
	error = sys_flock(area.fd, LOCK_EX | LOCK_NB);
	error = error ? error : open_locked(&area);
	if (error) {
		journal_area_close(&area);
		return error;
	}
	*ret_area = area;
	return 0;
}

void journal_area_close(struct journal_area *area)
{
	if (area->head) {
		sys_unmap(area->head, JOURNAL_AREA_BYTES);
	}
	auto_close_fd(&area->fd);
	*area = (struct journal_area)JOURNAL_AREA_INIT;
}
