#include "compare.h"

#include "attrs.h"
#include "content.h"
#include "merged.h"

static int files_equal(const struct compare_end *a, const struct compare_end *b)
{
	AUTO_MERGED merged = MERGED_INIT;
	int partial =
		b->sides ? merged_open(&merged, b->sides, b->dirfd, b->name)
			 : 0;

	return partial < 0 ? partial
	       : partial   ? merged_equals(&merged, a->dirfd, a->name)
			   : content_files_equal(a->dirfd, a->name, b->dirfd,
						 b->name);
}

/* 1 if equal, 0 if not, or -errno. */
static int content_equal(const struct compare_end *a,
			 const struct compare_end *b)
{
	enum change_kind kind = a->side->kind;

	if (kind == KIND_LINK) {
		return content_links_equal(a->dirfd, a->name, b->dirfd,
					   b->name);
	}
	if (kind == KIND_FILE) {
		return a->side->id.size_bytes != b->side->id.size_bytes
			       ? 0
			       : files_equal(a, b);
	}
	return (kind != KIND_BLOCK && kind != KIND_CHAR) ||
	       a->side->rdev == b->side->rdev;
}

int compare_ends(const struct compare_end *a, const struct compare_end *b)
{
	unsigned int flags = 0;
	int equal;

	if (a->side->id.dev == b->side->id.dev &&
	    a->side->id.ino == b->side->id.ino) {
		return 0; /* the very same file */
	}
	equal = content_equal(a, b);
	if (equal < 0) {
		return equal;
	}
	if (!equal) {
		flags |= CHANGE_CONTENT;
	}
	/* A link has no mode of its own. */
	if (a->side->kind != KIND_LINK && a->side->mode != b->side->mode) {
		flags |= CHANGE_MODE;
	}
	equal = attrs_equal(a->dirfd, a->name, b->dirfd, b->name);
	if (equal < 0) {
		return equal;
	}
	if (!equal) {
		flags |= CHANGE_XATTR;
	}
	return (int)flags;
}
