#include "merge.h"

#include <git2.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "blob.h"
#include "path.h"

#define NS_PER_S 1000000000ULL

struct repository {
	git_repository *repo;
	git_index *index;
	git_blob *blob;
};

static void release_repository(struct repository *repository)
{
	git_blob_free(repository->blob);
	git_index_free(repository->index);
	git_repository_free(repository->repo);
}

/* Whether the index saw the file as the view took it over. */
static bool is_same_file(const git_index_entry *entry,
			 const struct origin *origin)
{
	return entry->file_size == (uint32_t)origin->size_bytes &&
	       (uint32_t)entry->mtime.seconds ==
		       (uint32_t)(origin->mtime_ns / NS_PER_S) &&
	       entry->mtime.nanoseconds == origin->mtime_ns % NS_PER_S;
}

static void find_in_index(struct repository *repository, const char *path,
			  const struct origin *origin)
{
	const git_index_entry *entry;

	if (git_repository_index(&repository->index, repository->repo)) {
		return;
	}
	entry = git_index_get_bypath(repository->index, path, 0);
	if (entry && is_same_file(entry, origin)) {
		(void)git_blob_lookup(&repository->blob, repository->repo,
				      &entry->id);
	}
}

static void find_in_head(struct repository *repository, const char *path,
			 const struct origin *origin)
{
	git_object *tree = NULL;
	git_tree_entry *entry = NULL;

	if (!git_revparse_single(&tree, repository->repo, "HEAD^{tree}") &&
	    !git_tree_entry_bypath(&entry, (git_tree *)tree, path) &&
	    git_tree_entry_type(entry) == GIT_OBJECT_BLOB) {
		(void)git_blob_lookup(&repository->blob, repository->repo,
				      git_tree_entry_id(entry));
	}
	if (repository->blob && (uint64_t)git_blob_rawsize(repository->blob) !=
					origin->size_bytes) {
		git_blob_free(repository->blob);
		repository->blob = NULL;
	}
	git_tree_entry_free(entry);
	git_object_free(tree);
}

/* `blob` stays NULL where it is not to be had. */
static void find_ancestor(struct repository *repository,
			  const struct sides *sides,
			  const struct change *change)
{
	char real_base[PATH_MAX];
	AUTO_FREE char *whole = NULL;
	const char *workdir;

	if (!change->has_origin || !realpath(sides->view->base, real_base) ||
	    git_repository_open_ext(&repository->repo, real_base, 0, NULL)) {
		return;
	}
	workdir = git_repository_workdir(repository->repo);
	whole = path_join(real_base, change_old_path(change));
	if (!workdir || !whole ||
	    strncmp(whole, workdir, strlen(workdir)) != 0) {
		return;
	}
	find_in_index(repository, whole + strlen(workdir), &change->origin);
	if (!repository->blob) {
		find_in_head(repository, whole + strlen(workdir),
			     &change->origin);
	}
}

static bool is_text(const struct blob *blob)
{
	return !git_blob_data_is_binary(blob->data.data, blob->data.len);
}

static int merge(struct buf *content, bool *ret_has_conflicts,
		 const git_blob *ancestor, const struct blob *ours,
		 const struct blob *theirs)
{
	git_merge_file_input inputs[3] = {{0}};
	git_merge_file_options options;
	git_merge_file_result result = {0};

	if (git_merge_file_options_init(&options,
					GIT_MERGE_FILE_OPTIONS_VERSION)) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		inputs[i].version = GIT_MERGE_FILE_INPUT_VERSION;
	}
	inputs[1].ptr = ours->data.data;
	inputs[1].size = ours->data.len;
	inputs[2].ptr = theirs->data.data;
	inputs[2].size = theirs->data.len;
	if (ancestor) {
		inputs[0].ptr = git_blob_rawcontent(ancestor);
		inputs[0].size = (size_t)git_blob_rawsize(ancestor);
	}
	options.our_label = "base";
	options.their_label = "execution";
	if (git_merge_file(&result, ancestor ? &inputs[0] : NULL, &inputs[1],
			   &inputs[2], &options)) {
		return -ENOMEM;
	}
	buf_add(content, result.ptr, result.len);
	*ret_has_conflicts = !result.automergeable;
	git_merge_file_result_free(&result);
	return buf_error(content);
}

int merge_change(struct buf *content, bool *ret_has_conflicts,
		 const struct sides *sides, const struct change *change)
{
	AUTO(release_repository) struct repository repository = {0};
	AUTO_BLOB ours = BLOB_INIT;
	AUTO_BLOB theirs = BLOB_INIT;
	int error;

	if (change->old_side.kind != KIND_FILE ||
	    change->new_side.kind != KIND_FILE ||
	    !blob_is_possible(&change->old_side) ||
	    !blob_is_possible(&change->new_side)) {
		return -EMEDIUMTYPE;
	}
	error = blob_load_old(&ours, sides, change);
	error = error ? error : blob_load_new(&theirs, sides, change);
	if (error) {
		return error;
	}
	if (!is_text(&ours) || !is_text(&theirs)) {
		return -EMEDIUMTYPE;
	}
	find_ancestor(&repository, sides, change);
	return merge(content, ret_has_conflicts, repository.blob, &ours,
		     &theirs);
}
