#include "elsewhere.h"

#include <fcntl.h>
#include <string.h>

#include "log.h"
#include "merge.h"
#include "metacopy.h"
#include "path.h"
#include "redirect.h"
#include "sys.h"
#include "whiteout.h"

/* Where the search for the data goes on below the parent's lower `index`: at
 * what the file's redirect says, else at the same name. *ret_first is the
 * layer, *ret_path the caller's. -ENOENT: there is nothing below. */
static int first_below(struct node *parent, unsigned int index, int dirfd,
		       const char *name, unsigned int *ret_first,
		       char **ret_path)
{
	const struct lowers *lowers = parent->lowers;
	AUTO_FREE char *target = NULL;
	int kind = redirect_read(dirfd, name, true, &target);

	if (kind < 0) {
		return kind;
	}
	*ret_first = lowers->at[index].layer + 1;
	if (kind == REDIRECT_PATH) {
		*ret_path = TAKE_PTR(target);
		return 0;
	}
	if (index + 1 >= lowers->count) {
		return -ENOENT;
	}
	*ret_first = lowers->at[index + 1].layer;
	*ret_path =
		path_join(lowers->at[index + 1].path, target ? target : name);
	return *ret_path ? 0 : -ENOMEM;
}

static int take_file(struct found *found, const struct merge_file *file)
{
	size_t size = strlen(file->path) + 1;
	struct elsewhere *at = malloc(sizeof(*at) + size);

	if (!at) {
		return -ENOMEM;
	}
	at->layer = file->layer;
	at->blocks = file->st.st_blocks;
	memcpy(at->path, file->path, size);
	found->data_at = at;
	found->st.st_blocks = file->st.st_blocks;
	return 0;
}

int elsewhere_find(struct node *parent, unsigned int index, int dirfd,
		   const char *name, struct found *found)
{
	const struct view *view = parent->view;
	AUTO_FREE char *path = NULL;
	struct merge_file file;
	unsigned int first;
	int known;
	int error;

	if (!view->has_foreign_marks ||
	    parent->lowers->at[index].layer + 1 == view->lower_count) {
		return 0;
	}
	known = metacopy_is(dirfd, name);
	if (known < 0 || (!known && !view->has_hidden_marks)) {
		return known;
	}
	error = first_below(parent, index, dirfd, name, &first, &path);
	error = error ? error : merge_find_data(view, first, path, &file);
	if (error) {
		return error != -ENOENT ? error : known ? -EBADMSG : 0;
	}
	if (known) {
		error = take_file(found, &file);
	} else if (metacopy_is_likely(dirfd, name, &found->st, &file.st)) {
		error = -EBADMSG;
	}
	free(file.path);
	return error;
}

int elsewhere_refuse(const struct view *view, int dirfd, const char *name)
{
	int known = view->has_foreign_marks ? metacopy_is(dirfd, name) : 0;

	return known > 0 ? -EBADMSG : known;
}

int elsewhere_open(const struct view *view, const struct elsewhere *at)
{
	const int flags = O_RDONLY | O_NONBLOCK | O_NOFOLLOW;
	const struct layer *layer = &view->lowers[at->layer];
	AUTO_FD fd = layer_open_path(layer, at->path, flags | O_NOATIME);
	struct stat st;
	int error;

	if (fd == -EPERM) {
		fd = layer_open_path(layer, at->path, flags);
	}
	error = fd < 0 ? fd : sys_fstat(fd, &st);
	if (error || !S_ISREG(st.st_mode)) {
		log_warn("the data of a file is gone from layer %u", at->layer);
		return -EIO;
	}
	return TAKE_FD(fd);
}
