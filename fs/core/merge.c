#include "merge.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "metacopy.h"
#include "path.h"
#include "redirect.h"
#include "sys.h"
#include "whiteout.h"

static struct lowers *lowers_new(unsigned int room)
{
	return calloc(1, sizeof(struct lowers) + room * sizeof(struct lower));
}

struct lowers *merge_root(const struct view *view)
{
	struct lowers *lowers = lowers_new(view->lower_count);

	for (unsigned int i = 0; lowers && i < view->lower_count; i++) {
		lowers->at[i].layer = i;
		lowers->at[i].path = strdup("");
		lowers->count++;
		if (!lowers->at[i].path) {
			lowers_free(lowers);
			return NULL;
		}
	}
	return lowers;
}

/* Never 0, which means "not known". */
static unsigned long identity_of(const struct stat *st)
{
	return ((unsigned long)st->st_dev * 31 + st->st_ino) | 1UL << 63;
}

/* Takes `path` over, and takes NULL for out of memory. */
static int add_taken(struct lowers **lowers, const struct view *view,
		     unsigned int layer, char *path, const struct stat *st)
{
	struct lower *to;

	/* Each that comes later is from a layer further down. */
	if (!*lowers) {
		*lowers = lowers_new(view->lower_count - layer);
	}
	if (!*lowers || !path) {
		free(path);
		return -ENOMEM;
	}
	to = &(*lowers)->at[(*lowers)->count++];
	to->layer = layer;
	to->path = path;
	atomic_init(&to->identity, identity_of(st));
	return 0;
}

int merge_add(struct lowers **lowers, const struct view *view,
	      const struct lower *from, const char *name, const struct stat *st)
{
	return add_taken(lowers, view, from->layer, path_join(from->path, name),
			 st);
}

/*
 * Goes along a path in one layer after the other, as the kernel's overlayfs
 * does for a redirect: in each the layer's own redirects, and its opaque
 * directories and whiteouts, say where to go on, and whether.
 */
struct trail {
	const struct view *view;
	struct buf path; /* in the layer that is next */
	bool more;       /* the layers below count, too */
	/* What is looked for: directories, or the file that has the data. */
	struct lowers **lowers;
	struct merge_file *file;
	struct stat *st; /* of the topmost directory */
};

/* The redirect of what is at `name`, the component of the path that ends
 * `tail` bytes before its end, counts for the layers below. */
static int apply_redirect(struct trail *trail, int dirfd, const char *name,
			  size_t tail)
{
	AUTO_FREE char *target = NULL;
	AUTO_BUF next = BUF_INIT;
	const struct buf *path = &trail->path;
	int kind = redirect_read(dirfd, name, true, &target);

	if (kind <= 0) {
		return kind;
	}
	if (kind == REDIRECT_NAME) {
		buf_add(&next, path->data, path->len - tail - strlen(name));
	}
	buf_adds(&next, target);
	buf_add(&next, path->data + path->len - tail, tail);
	if (buf_error(&next)) {
		return buf_error(&next);
	}
	buf_release(&trail->path);
	trail->path = next;
	next = (struct buf)BUF_INIT;
	return 0;
}

/* A file at the end of the path in this layer: the data, or one more that has
 * its attributes only. */
static int end_at_file(struct trail *trail, unsigned int layer, int dirfd,
		       const char *name, const char *path,
		       const struct stat *st)
{
	int attributes_only = trail->file && S_ISREG(st->st_mode)
				      ? metacopy_is(dirfd, name)
				      : 0;

	if (attributes_only > 0) {
		return apply_redirect(trail, dirfd, name, 0);
	}
	trail->more = false;
	if (attributes_only == 0 && trail->file && S_ISREG(st->st_mode)) {
		trail->file->layer = layer;
		trail->file->path = strdup(path);
		trail->file->st = *st;
		return trail->file->path ? 0 : -ENOMEM;
	}
	return attributes_only;
}

/* A directory on the way, or at the end. */
static int pass_dir(struct trail *trail, int dirfd, const char *name,
		    size_t tail)
{
	int hides = whiteout_hides_below(dirfd, name,
					 trail->view->has_foreign_marks);

	trail->more = trail->more && !hides;
	return hides < 0 ? hides
	       : trail->more && trail->view->has_foreign_marks
		       ? apply_redirect(trail, dirfd, name, tail)
		       : 0;
}

/* Takes a step to the component `name` of `path`, of which `tail` bytes are
 * left behind it. 1: it is a directory; 0: the layer is done with. */
static int take_step(struct trail *trail, unsigned int layer, int dirfd,
		     const char *path, const char *name, size_t tail)
{
	struct stat st;
	int error =
		whiteout_stat(dirfd, name, trail->view->has_foreign_marks, &st);

	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	if (!S_ISDIR(st.st_mode)) {
		if (tail == 0) {
			return end_at_file(trail, layer, dirfd, name, path,
					   &st);
		}
		trail->more = false;
		return 0;
	}
	error = pass_dir(trail, dirfd, name, tail);
	if (!error && tail == 0 && trail->lowers) {
		if (!*trail->lowers) {
			*trail->st = st;
		}
		error = add_taken(trail->lowers, trail->view, layer,
				  strdup(path), &st);
	} else if (!error && tail == 0) {
		trail->more = false; /* a file was looked for */
	}
	return error ? error : 1;
}

static int walk_layer(struct trail *trail, unsigned int layer)
{
	AUTO_FREE char *path = strdup(trail->path.data ? trail->path.data : "");
	int root_fd = trail->view->lowers[layer].root_fd;
	AUTO_FD at = -1;
	const char *rest = path;

	while (path && *rest) {
		size_t len = strcspn(rest, "/");
		char name[NAME_MAX + 1];
		int dirfd = at >= 0 ? at : root_fd;
		int result;

		if (len > NAME_MAX) {
			return -ENAMETOOLONG;
		}
		memcpy(name, rest, len);
		name[len] = '\0';
		rest += len;
		result = take_step(trail, layer, dirfd, path, name,
				   strlen(rest));
		if (result <= 0 || !*rest) {
			return result < 0 ? result : 0;
		}
		rest++;
		result = sys_open_beneath(dirfd, name, O_PATH | O_DIRECTORY);
		if (result < 0) {
			return result == -ENOENT ? 0 : result;
		}
		auto_close_fd(&at);
		at = result;
	}
	return path ? 0 : -ENOMEM;
}

static int walk_layers(struct trail *trail, unsigned int first,
		       const char *path)
{
	int error;

	trail->more = true;
	buf_adds(&trail->path, path);
	error = buf_error(&trail->path);
	for (unsigned int i = first;
	     i < trail->view->lower_count && !error && trail->more; i++) {
		error = walk_layer(trail, i);
	}
	buf_release(&trail->path);
	return error;
}

int merge_resolve(const struct view *view, unsigned int first, const char *path,
		  struct lowers **lowers, struct stat *ret_st)
{
	struct trail trail = {
		.view = view,
		.path = BUF_INIT,
		.lowers = lowers,
		.st = ret_st,
	};

	return walk_layers(&trail, first, path);
}

int merge_find_data(const struct view *view, unsigned int first,
		    const char *path, struct merge_file *ret_file)
{
	struct merge_file file = {0};
	struct trail trail = {.view = view, .path = BUF_INIT, .file = &file};
	int error = walk_layers(&trail, first, path);

	if (error || !file.path) {
		free(file.path);
		return error ? error : -ENOENT;
	}
	*ret_file = file;
	return 0;
}

const char *merge_shown_path(const struct lowers *lowers)
{
	return lowers->shown ? lowers->shown : lowers->at[0].path;
}

int merge_note_shown(const struct view *view, struct lowers *lowers,
		     const struct node *parent, const char *name)
{
	if (!lowers || !view->has_foreign_marks || view->lower_count < 2) {
		return 0;
	}
	lowers->shown =
		parent && parent->lowers
			? path_join(merge_shown_path(parent->lowers), name)
			: strdup(name);
	return lowers->shown ? 0 : -ENOMEM;
}

bool merge_note_identities(struct lowers *lowers, const struct lowers *found)
{
	bool replaced = false;

	if (!lowers || !found) {
		return false;
	}
	for (unsigned int i = 0; i < lowers->count && i < found->count; i++) {
		/* relaxed: each is looked at by itself */
		unsigned long now = atomic_load_explicit(
			&((struct lowers *)found)->at[i].identity,
			memory_order_relaxed);
		unsigned long before = atomic_exchange_explicit(
			&lowers->at[i].identity, now, memory_order_relaxed);

		replaced = replaced || (before && before != now);
	}
	return replaced;
}
