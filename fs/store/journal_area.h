/*
 * journal_area.h - the append area's file: made, checked, mapped.
 *
 * One process at a time has it open to append (flock); readers need no lock
 * (journal_read.h).
 */
#ifndef FS_STORE_JOURNAL_AREA_H
#define FS_STORE_JOURNAL_AREA_H

#include "compiler.h"
#include "journal_format.h"

struct journal_area {
	int fd;                    /* owned */
	struct journal_head *head; /* the whole map, owned */
};

#define JOURNAL_AREA_INIT                                                      \
	{                                                                      \
		.fd = -1                                                       \
	}

/*
 * Opens the area in the journal's folder; makes it where there is none, or one
 * that was never finished. -EWOULDBLOCK: another process appends; -EBADMSG: not
 * an area, or a damaged one; -EPROTONOSUPPORT: another version's; -ENOSPC, ...
 * What is refused is not changed.
 */
int journal_area_open(struct journal_area *ret_area,
		      int journal_dirfd) MUST_CHECK;
void journal_area_close(struct journal_area *area);

/* 0, -EBADMSG or -EPROTONOSUPPORT, as above. */
int journal_area_check(const struct journal_head *head) MUST_CHECK;

static inline struct journal_segment *
journal_area_segment(const struct journal_head *head, unsigned int index)
{
	return (struct journal_segment *)((char *)(uintptr_t)head +
					  JOURNAL_HEAD_BYTES +
					  (size_t)index *
						  JOURNAL_SEGMENT_BYTES);
}

#endif
