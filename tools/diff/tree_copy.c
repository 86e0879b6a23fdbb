#include "tree_copy.h"

#include <fcntl.h>
#include <search.h>
#include <string.h>

#include "names.h"
#include "path.h"
#include "put.h"
#include "sys.h"

/* A file with several names, and the first one that was copied. */
struct linked {
	dev_t dev;
	ino_t ino;
	char *path;
};

struct copier {
	const struct layer *to;
	const struct layer *from;
	struct trouble *trouble;
	struct names dirs; /* in the order in which they were found */
	void *linked;      /* of tsearch */
};

static int compare_linked(const void *a, const void *b)
{
	const struct linked *left = a;
	const struct linked *right = b;

	if (left->dev != right->dev) {
		return left->dev < right->dev ? -1 : 1;
	}
	return (left->ino > right->ino) - (left->ino < right->ino);
}

static void free_linked(void *node)
{
	struct linked *linked = node;

	free(linked->path);
	free(linked);
}

/* The earlier name of the same file in *ret_path, borrowed; NULL if `path` is
 * the first, and then it is noted. */
static int find_linked(struct copier *copier, const struct stat *st,
		       const char *path, const char **ret_path)
{
	struct linked wanted = {st->st_dev, st->st_ino, NULL};
	struct linked *const *found =
		tfind(&wanted, &copier->linked, compare_linked);
	struct linked *linked;

	*ret_path = found ? (*found)->path : NULL;
	if (found) {
		return 0;
	}
	linked = malloc(sizeof(*linked));
	wanted.path = strdup(path);
	if (!linked || !wanted.path) {
		free(linked);
		free(wanted.path);
		return -ENOMEM;
	}
	*linked = wanted;
	if (!tsearch(linked, &copier->linked, compare_linked)) {
		free_linked(linked);
		return -ENOMEM;
	}
	return 0;
}

static int link_to(const struct copier *copier, const char *first, int to_dirfd,
		   const char *name)
{
	AUTO_FD fd = layer_open_path(copier->to, first, O_PATH | O_NOFOLLOW);

	return fd < 0 ? fd : sys_link_fd(fd, to_dirfd, name);
}

static int copy_entry(struct copier *copier, int from_dirfd, int to_dirfd,
		      const char *name, const char *path)
{
	AUTO_FD fd = sys_openat(from_dirfd, name, O_PATH | O_NOFOLLOW, 0);
	struct put_source source = {.fd = fd};
	struct change_side side;
	const char *first = NULL;
	struct stat st;
	int error = fd < 0 ? fd : sys_fstat(fd, &st);

	if (error) {
		return error;
	}
	change_side_from_stat(&side, &st);
	source.kind = side.kind;
	if (side.kind != KIND_DIR && side.n_links > 1) {
		error = find_linked(copier, &st, path, &first);
	}
	if (error || first) {
		return error ? error : link_to(copier, first, to_dirfd, name);
	}
	error = put_make(to_dirfd, name, &source);
	if (!error && side.kind == KIND_DIR) {
		error = names_add(&copier->dirs, path);
	}
	return error;
}

/* Whether going on makes no sense. */
static bool is_fatal(int error)
{
	return error == -ENOMEM || error == -ENOSPC || error == -EDQUOT;
}

static int copy_dir(struct copier *copier, const char *dir)
{
	AUTO_NAMES names = {0};
	AUTO_FD from = layer_open_path(copier->from, dir, O_PATH | O_DIRECTORY);
	AUTO_FD to = layer_open_path(copier->to, dir, O_PATH | O_DIRECTORY);
	int error = from < 0 ? from : to < 0 ? to : names_read(&names, from);

	if (error) {
		return error;
	}
	for (size_t i = 0; i < names.n; i++) {
		AUTO_FREE char *path = path_join(dir, names.items[i]);

		error = path ? copy_entry(copier, from, to, names.items[i],
					  path)
			     : -ENOMEM;
		if (is_fatal(error)) {
			return error;
		}
		if (error) {
			trouble_error(copier->trouble, "copy", path, error);
		}
	}
	return 0;
}

/* Modes and times, content before its directory. */
static int finish_dirs(const struct copier *copier)
{
	for (size_t i = copier->dirs.n; i-- > 0;) {
		const char *dir = copier->dirs.items[i];
		AUTO_FD from = layer_open_path(copier->from, dir, O_PATH);
		AUTO_FD to = layer_open_path(copier->to, dir, O_PATH);
		const struct put_source source = {.fd = from, .kind = KIND_DIR};
		int error = from < 0 ? from
			    : to < 0 ? to
				     : put_attributes(to, "", &source, true);

		if (is_fatal(error)) {
			return error;
		}
		if (error) {
			trouble_error(copier->trouble, "copy", dir, error);
		}
	}
	return 0;
}

int tree_copy(const struct layer *to, const struct layer *from,
	      struct trouble *trouble)
{
	struct copier copier = {.to = to, .from = from, .trouble = trouble};
	int error = names_add(&copier.dirs, "");

	/* Grows while it is walked. */
	for (size_t i = 0; i < copier.dirs.n && !error; i++) {
		error = copy_dir(&copier, copier.dirs.items[i]);
		if (error && !is_fatal(error)) {
			trouble_error(trouble, "copy", copier.dirs.items[i],
				      error);
			error = 0;
		}
	}
	error = error ? error : finish_dirs(&copier);
	names_release(&copier.dirs);
	tdestroy(copier.linked, free_linked);
	return error;
}
