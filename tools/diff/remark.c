#include "remark.h"

#include "blob.h"
#include "content.h"
#include "text.h"

#define SPECIAL_BITS (S_ISUID | S_ISGID | S_ISVTX)
#define EXEC_BITS    (S_IXUSR | S_IXGRP | S_IXOTH)
#define READ_BITS    (S_IRUSR | S_IRGRP | S_IROTH)

/* Whether git's one bit, turned on or off under a umask like the one that
 * made the file, gives `new_mode` from `old_mode`. */
static bool is_exec_flip(mode_t old_mode, mode_t new_mode)
{
	mode_t exec = new_mode & EXEC_BITS;

	return (old_mode & ~EXEC_BITS) == (new_mode & ~EXEC_BITS) &&
	       ((old_mode ^ new_mode) & S_IXUSR) &&
	       (exec == 0 || exec == (new_mode & READ_BITS) >> 2);
}

static void add(struct buf *line, size_t start, const char *text)
{
	buf_adds(line, line->len > start ? ", " : "");
	buf_adds(line, text);
}

static void add_mode(struct buf *line, size_t start,
		     const struct change *change)
{
	const struct change_side *old_side = &change->old_side;
	const struct change_side *new_side = &change->new_side;

	if (change->flags & CHANGE_MODE &&
	    (new_side->kind != KIND_FILE ||
	     !is_exec_flip(old_side->mode, new_side->mode))) {
		add(line, start, "");
		buf_addf(line, "mode %04o => %04o", old_side->mode,
			 new_side->mode);
	} else if (!(change->flags & CHANGE_MODE) &&
		   new_side->kind == KIND_FILE && old_side->kind != KIND_FILE &&
		   (new_side->mode & SPECIAL_BITS ||
		    !(new_side->mode & S_IRUSR))) {
		add(line, start, "");
		buf_addf(line, "mode %04o", new_side->mode);
	}
}

static void add_kind(struct buf *line, size_t start, const char *what,
		     const struct change_side *side)
{
	static const char *const names[] = {
		[KIND_DIR] = "directory",         [KIND_FIFO] = "FIFO",
		[KIND_SOCKET] = "socket",         [KIND_BLOCK] = "block device",
		[KIND_CHAR] = "character device",
	};

	if (side->kind == KIND_FILE &&
	    side->id.size_bytes > CONTENT_MAX_LOAD_BYTES) {
		add(line, start, what);
		buf_adds(line, "content too big for a patch (");
		text_add_size(line, side->id.size_bytes);
		buf_addc(line, ')');
	} else if (side->kind && !blob_mode(side)) {
		add(line, start, what);
		buf_adds(line, names[side->kind]);
	}
}

void remark_add(struct buf *buf, const struct change *change)
{
	size_t start = buf->len;

	add_mode(buf, start, change);
	if (change->flags & CHANGE_XATTR) {
		add(buf, start, "extended attributes");
	}
	/* A directory that only has another mode is both before and after. */
	if (change->letter == CHANGE_MODIFIED &&
	    change->new_side.kind == KIND_DIR) {
		return;
	}
	if (change->letter != CHANGE_RENAMED ||
	    change->flags & CHANGE_CONTENT) {
		add_kind(buf, start, "old ", &change->old_side);
		add_kind(buf, start, "new ", &change->new_side);
	}
}
