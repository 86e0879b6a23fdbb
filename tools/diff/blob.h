/*
 * blob.h - what git knows of one side: a mode and bytes; and the difference
 * of two of them, by libgit2.
 *
 * git knows files (100644, 100755) and links (120000), and nothing else.
 *
 * Calling sequence: `AUTO_BLOB blob = BLOB_INIT;`, blob_load_old or
 * blob_load_new, use. An absent
 * side is a blob left at BLOB_INIT. libgit_need comes first.
 *
 * Threads: one at a time per blob.
 */
#ifndef TOOLS_DIFF_BLOB_H
#define TOOLS_DIFF_BLOB_H

#include <git2.h>
#include <stdbool.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "sides.h"

struct blob {
	unsigned int mode; /* as git has it; 0 = absent */
	git_oid id;        /* all zero = absent */
	struct buf data;
};

#define BLOB_INIT                                                              \
	{                                                                      \
		.data = BUF_INIT                                               \
	}
#define AUTO_BLOB AUTO(blob_release) struct blob

/* git's mode for a side; 0 where git has none for its kind. */
unsigned int blob_mode(const struct change_side *side);

/* Whether a side can be a blob: of a kind that git knows, and not too big. */
bool blob_is_possible(const struct change_side *side);

/* Reads a side of a change. -EFBIG above CONTENT_MAX_LOAD_BYTES, or as
 * content_load; the blob is absent then. */
int blob_load_old(struct blob *blob, const struct sides *sides,
		  const struct change *change) MUST_CHECK;
int blob_load_new(struct blob *blob, const struct sides *sides,
		  const struct change *change) MUST_CHECK;

void blob_release(struct blob *blob);

/* The difference, with the data of a binary one where `with_binary`; the
 * caller frees it with git_patch_free. -ENOMEM. */
int blob_diff(git_patch **ret_patch, const struct blob *old_blob,
	      const struct blob *new_blob, bool with_binary) MUST_CHECK;

bool blob_diff_is_binary(const git_patch *patch);

/* How alike two blobs are, in percent; 100 only for equal bytes. */
int blob_likeness(const struct blob *a, const struct blob *b);

/* The same for both ends of a rename, which it loads if it must; -1 for no
 * rename, or where they can't be read. */
int blob_similarity(const struct sides *sides, const struct change *change);

#endif
