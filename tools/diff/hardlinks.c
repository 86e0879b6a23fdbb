#include "hardlinks.h"

#include <fcntl.h>
#include <string.h>

#include "compare.h"
#include "names.h"
#include "path.h"
#include "sys.h"

/* A base file with several names, of which the view has a copy. */
struct linked {
	uint64_t dev;
	uint64_t ino;
	uint64_t n_names; /* in the base, or outside of it */
	uint64_t n_seen;  /* in the queue, or found by the walk */
	bool is_changed;
};

struct search {
	struct change_list *list;
	const struct sides *sides;
	struct trouble *trouble;
	struct linked *files; /* sorted */
	size_t n_files;
	char **old_paths; /* of the queue, borrowed, sorted */
	size_t n_old_paths;
	struct names pending; /* paths of directories still to be read */
};

static int compare_files(const void *a, const void *b)
{
	const struct linked *left = a;
	const struct linked *right = b;

	if (left->dev != right->dev) {
		return left->dev < right->dev ? -1 : 1;
	}
	return (left->ino > right->ino) - (left->ino < right->ino);
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct linked *find_file(const struct search *search, uint64_t dev,
				uint64_t ino)
{
	struct linked wanted = {.dev = dev, .ino = ino};

	return bsearch(&wanted, search->files, search->n_files, sizeof(wanted),
		       compare_files);
}

/* Whether `name` is that of a copy; others in the folder are none of ours. */
static bool parse_link(const char *name, struct origin *ret_id)
{
	char again[ORIGIN_KEY_BYTES];
	char *end;

	*ret_id = (struct origin){.dev = strtoull(name, &end, 16)};
	if (*end != '-') {
		return false;
	}
	ret_id->ino = strtoull(end + 1, &end, 16);
	if (*end != '-') {
		return false;
	}
	ret_id->birth_ns = strtoull(end + 1, NULL, 16);
	origin_key(ret_id, again);
	return strcmp(name, again) == 0;
}

static int read_files(struct search *search)
{
	AUTO_NAMES names = {0};
	int error = names_read(&names, search->sides->links.root_fd);

	if (error) {
		return error;
	}
	search->files = calloc(names.n + 1, sizeof(*search->files));
	if (!search->files) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < names.n; i++) {
		struct origin id;

		if (parse_link(names.items[i], &id)) {
			search->files[search->n_files++] =
				(struct linked){.dev = id.dev, .ino = id.ino};
		}
	}
	qsort(search->files, search->n_files, sizeof(*search->files),
	      compare_files);
	return 0;
}

/* Which names of each file the queue has, and whether it is changed. */
static int read_queue(struct search *search)
{
	const struct change_list *list = search->list;

	search->old_paths = calloc(list->n + 1, sizeof(*search->old_paths));
	if (!search->old_paths) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];
		const struct origin *id = &change->old_side.id;
		struct linked *file = NULL;

		if (change->old_side.kind == KIND_FILE) {
			search->old_paths[search->n_old_paths++] = change->path;
			file = find_file(search, id->dev, id->ino);
		}
		if (file) {
			file->n_names = change->old_side.n_links;
			file->n_seen++;
		}
		if (change->has_origin && change->letter != CHANGE_NONE) {
			file = find_file(search, change->origin.dev,
					 change->origin.ino);
		}
		if (file && change->letter != CHANGE_NONE) {
			file->is_changed = true;
		}
	}
	qsort(search->old_paths, search->n_old_paths,
	      sizeof(*search->old_paths), compare_paths);
	return 0;
}

/* A copy of which the queue has no name at all is unknown, so it is looked
 * for: nothing may be hidden. */
static bool is_wanted(const struct linked *file)
{
	return file->n_seen == 0 ||
	       (file->is_changed && file->n_seen < file->n_names);
}

static bool wants_more(const struct search *search)
{
	for (size_t i = 0; i < search->n_files; i++) {
		if (is_wanted(&search->files[i])) {
			return true;
		}
	}
	return false;
}

/* A base file that is a wanted one, and that the upper does not have: what
 * the view shows there is the copy. */
static int add_name(struct search *search, int dirfd, const char *name,
		    const char *path, const struct stat *st)
{
	int links_fd = search->sides->links.root_fd;
	struct change *change = change_list_add(search->list, strdup(path));
	char link[ORIGIN_KEY_BYTES];
	struct stat copy;
	int flags;

	if (!change) {
		return -ENOMEM;
	}
	change_side_from_stat(&change->old_side, st);
	flags = origin_add_birth(&change->old_side.id, dirfd, name);
	if (flags) {
		trouble_error(search->trouble, "read", path, flags);
	}
	origin_key(&change->old_side.id, link);
	change->place = PLACE_LINKS;
	change->place_path = strdup(link);
	if (!change->place_path) {
		return -ENOMEM;
	}
	flags = sys_fstatat(links_fd, link, &copy);
	if (flags == 0) {
		struct compare_end below = {dirfd, name, &change->old_side,
					    NULL};
		struct compare_end above = {links_fd, link, &change->new_side,
					    search->sides};

		change_side_from_stat(&change->new_side, &copy);
		flags = compare_ends(&below, &above);
	}
	if (flags < 0 && flags != -ENOMEM) {
		trouble_error(search->trouble, "compare", path, flags);
		flags = 0;
	}
	change->flags = flags > 0 ? (unsigned int)flags : 0;
	change->letter = flags > 0 ? CHANGE_MODIFIED : CHANGE_NONE;
	return flags < 0 ? flags : 0;
}

static int look_at(struct search *search, int dirfd, const char *dir,
		   const char *name)
{
	AUTO_FREE char *path = path_join(dir, name);
	struct linked *file;
	struct stat st;

	if (!path) {
		return -ENOMEM;
	}
	if (sys_fstatat(dirfd, name, &st) ||
	    sides_hide(search->sides, dir, name, &st)) {
		return 0; /* gone, or no business of the queue's */
	}
	if (S_ISDIR(st.st_mode)) {
		return names_add(&search->pending, path);
	}
	file = S_ISREG(st.st_mode) && st.st_nlink > 1
		       ? find_file(search, st.st_dev, st.st_ino)
		       : NULL;
	if (!file || !is_wanted(file) ||
	    bsearch(&path, search->old_paths, search->n_old_paths, sizeof(path),
		    compare_paths)) {
		return 0;
	}
	if (file->n_seen++ == 0) {
		file->n_names = st.st_nlink;
		file->is_changed = true;
	}
	return add_name(search, dirfd, name, path, &st);
}

/* Unreadable directories are no trouble: the view can't show more, either. */
static int read_dir(struct search *search, const char *path)
{
	AUTO_NAMES names = {0};
	AUTO_FD fd = layer_open_path(&search->sides->base, path,
				     O_PATH | O_DIRECTORY);
	int error = fd < 0 ? fd : names_read(&names, fd);

	if (error) {
		return error == -ENOMEM ? error : 0;
	}
	for (size_t i = 0; i < names.n && !error; i++) {
		error = look_at(search, fd, path, names.items[i]);
	}
	return error;
}

static int walk_base(struct search *search)
{
	int error = names_add(&search->pending, "");

	while (!error && search->pending.n > 0 && wants_more(search)) {
		AUTO_FREE char *path =
			search->pending.items[--search->pending.n];

		error = read_dir(search, path);
	}
	return error;
}

static void release_search(struct search *search)
{
	free(search->files);
	free(search->old_paths);
	names_release(&search->pending);
}

int hardlinks_collect(struct change_list *list, const struct sides *sides,
		      struct trouble *trouble)
{
	AUTO(release_search)
	struct search search = {
		.list = list, .sides = sides, .trouble = trouble};
	int error;

	if (sides->links.root_fd < 0) {
		return 0;
	}
	error = read_files(&search);
	if (error && error != -ENOMEM) {
		trouble_error(trouble, "read", "links", error);
		return 0;
	}
	if (error || search.n_files == 0) {
		return error;
	}
	error = read_queue(&search);
	return error ? error : walk_base(&search);
}
