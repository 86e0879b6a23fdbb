#include "blob.h"

#include <git2/sys/hashsig.h>
#include <string.h>

#include "content.h"

unsigned int blob_mode(const struct change_side *side)
{
	if (side->kind == KIND_LINK) {
		return GIT_FILEMODE_LINK;
	}
	if (side->kind != KIND_FILE) {
		return 0;
	}
	return side->mode & S_IXUSR ? GIT_FILEMODE_BLOB_EXECUTABLE
				    : GIT_FILEMODE_BLOB;
}

bool blob_is_possible(const struct change_side *side)
{
	return blob_mode(side) != 0 &&
	       side->id.size_bytes <= CONTENT_MAX_LOAD_BYTES;
}

/* `fd` is the side's entry, or -errno. */
static int load(struct blob *blob, int fd, const struct change_side *side)
{
	int error = fd;

	if (fd >= 0) {
		error = content_load(fd, "", side->kind, &blob->data);
	}
	if (!error && git_odb_hash(&blob->id, blob->data.data, blob->data.len,
				   GIT_OBJECT_BLOB)) {
		error = -ENOMEM;
	}
	if (error) {
		blob_release(blob);
		return error;
	}
	blob->mode = blob_mode(side);
	return 0;
}

int blob_load_old(struct blob *blob, const struct sides *sides,
		  const struct change *change)
{
	AUTO_FD fd = content_open_old(sides, change);

	return load(blob, fd, &change->old_side);
}

int blob_load_new(struct blob *blob, const struct sides *sides,
		  const struct change *change)
{
	AUTO_FD fd = content_open_new(sides, change);

	return load(blob, fd, &change->new_side);
}

void blob_release(struct blob *blob)
{
	buf_release(&blob->data);
	*blob = (struct blob)BLOB_INIT;
}

int blob_diff(git_patch **ret_patch, const struct blob *old_blob,
	      const struct blob *new_blob, bool with_binary)
{
	git_diff_options options;
	const char *old_data = old_blob->mode ? old_blob->data.data : NULL;
	const char *new_data = new_blob->mode ? new_blob->data.data : NULL;

	if (git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION)) {
		return -ENOMEM;
	}
	options.flags = GIT_DIFF_PATIENCE | GIT_DIFF_INDENT_HEURISTIC;
	if (with_binary) {
		options.flags |= GIT_DIFF_SHOW_BINARY;
	}
	/* What is loaded at all is compared. */
	options.max_size = CONTENT_MAX_LOAD_BYTES + 1;
	return git_patch_from_buffers(ret_patch, old_data, old_blob->data.len,
				      NULL, new_data, new_blob->data.len, NULL,
				      &options)
		       ? -ENOMEM
		       : 0;
}

bool blob_diff_is_binary(const git_patch *patch)
{
	return git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY;
}

int blob_likeness(const struct blob *a, const struct blob *b)
{
	git_hashsig *a_signature = NULL;
	git_hashsig *b_signature = NULL;
	int percent = 0;

	if (git_oid_equal(&a->id, &b->id)) {
		return 100;
	}
	if (!git_hashsig_create(&a_signature, a->data.data, a->data.len,
				GIT_HASHSIG_ALLOW_SMALL_FILES) &&
	    !git_hashsig_create(&b_signature, b->data.data, b->data.len,
				GIT_HASHSIG_ALLOW_SMALL_FILES)) {
		percent = git_hashsig_compare(a_signature, b_signature);
	}
	git_hashsig_free(a_signature);
	git_hashsig_free(b_signature);
	/* It is an estimate, but 100 is a promise. */
	return percent < 0 ? 0 : percent > 99 ? 99 : percent;
}

int blob_similarity(const struct sides *sides, const struct change *change)
{
	AUTO_BLOB old_blob = BLOB_INIT;
	AUTO_BLOB new_blob = BLOB_INIT;

	if (change->letter != CHANGE_RENAMED) {
		return -1;
	}
	if (!(change->flags & CHANGE_CONTENT)) {
		return 100;
	}
	if (blob_load_old(&old_blob, sides, change) ||
	    blob_load_new(&new_blob, sides, change)) {
		return -1;
	}
	return blob_likeness(&old_blob, &new_blob);
}
