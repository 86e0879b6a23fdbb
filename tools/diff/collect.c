#include "collect.h"

#include <fcntl.h>
#include <string.h>

#include "compare.h"
#include "names.h"
#include "path.h"
#include "redirect.h"
#include "sys.h"
#include "whiteout.h"

#define FIRST_CAPACITY 64

/*
 * A directory that is still to be read: of the view, of the base, or of both.
 */
struct task {
	char *path;    /* owned */
	bool in_upper; /* the upper has it */
	char *lower;   /* owned: the base's directory that shows through there,
			  or NULL */
	bool in_base;  /* the base has a directory at `path` */
	/* Tell the directory itself as A or D if it turns out to be empty. */
	bool tell_empty;
	struct change_side side;
	/* When the view took over from what the base has here; 0: not yet, or
	 * unknown. */
	uint64_t taken_ns;
};

/* A stack of tasks instead of recursion: depth costs heap only. */
struct walk {
	struct change_list *list;
	const struct sides *sides;
	struct trouble *trouble;
	bool with_dirs; /* tell those with content, too */
	struct task *tasks;
	size_t n_tasks;
	size_t capacity;
};

/* One directory while it is read. A descriptor is -1 where the task says that
 * there is none; where the base's own directory shows through, `lower_fd` is
 * too, and only the upper's names matter. */
struct place {
	const struct task *task;
	int upper_fd;
	int lower_fd;
	int base_fd;
	struct names upper_names;
	size_t n_shown;
	size_t n_base;
};

/* What the view shows at one name, and where that is. */
struct shown {
	struct change_side side; /* KIND_NONE: nothing */
	enum change_place place;
	int dirfd;
	const char *name;            /* in dirfd */
	uint64_t taken_ns;           /* as in struct task */
	char link[ORIGIN_KEY_BYTES]; /* `name`, for PLACE_LINKS */
};

static void release_task(struct task *task)
{
	free(task->path);
	free(task->lower);
}

/* Takes the task's strings. */
static int push(struct walk *walk, struct task *task)
{
	if (walk->n_tasks == walk->capacity) {
		size_t capacity =
			walk->capacity ? walk->capacity * 2 : FIRST_CAPACITY;
		struct task *tasks =
			reallocarray(walk->tasks, capacity, sizeof(*tasks));

		if (!tasks) {
			release_task(task);
			return -ENOMEM;
		}
		walk->tasks = tasks;
		walk->capacity = capacity;
	}
	walk->tasks[walk->n_tasks++] = *task;
	return 0;
}

/* Tells an error that the walk survives. -ENOMEM is the one it does not. */
static int survive(struct walk *walk, const char *path, int error)
{
	if (error == -ENOMEM) {
		return error;
	}
	if (!trouble_is_vanished(error)) {
		trouble_error(walk->trouble, "read", path, error);
	}
	return 0;
}

/* The base's directory at the task's own path shows through. */
static bool is_plain(const struct task *task)
{
	return task->lower && task->in_base &&
	       strcmp(task->lower, task->path) == 0;
}

/* ---------------------------------------------------------------- one entry */

static int add_one_sided(struct walk *walk, enum change_letter letter,
			 const char *path, const struct change_side *side,
			 uint64_t taken_ns)
{
	struct change *change = change_list_add(walk->list, strdup(path));

	if (!change) {
		return -ENOMEM;
	}
	change->letter = letter;
	change->taken_ns = taken_ns;
	if (letter == CHANGE_DELETED) {
		change->old_side = *side;
	} else {
		change->new_side = *side;
	}
	return 0;
}

/* An entry of the base, in its directory `dir`; KIND_NONE where there is none
 * that the view may show. */
static int stat_base(const struct walk *walk, struct change_side *ret_side,
		     int dirfd, const char *dir, const char *name)
{
	struct stat st;
	int error;

	*ret_side = (struct change_side){.kind = KIND_NONE};
	if (dirfd < 0) {
		return 0;
	}
	error = sys_fstatat(dirfd, name, &st);
	if (error) {
		return trouble_is_vanished(error) ? 0 : error;
	}
	/* The base may be an upper itself. */
	if (!whiteout_is(&st) && !sides_hide(walk->sides, dir, name, &st)) {
		change_side_from_stat(ret_side, &st);
	}
	return 0;
}

/* A base file with several names may have a copy, which all of them show. */
static int stat_link(const struct walk *walk, struct shown *shown)
{
	const struct layer *links = &walk->sides->links;
	struct stat st;
	int error;

	if (shown->side.kind != KIND_FILE || shown->side.n_links < 2 ||
	    links->root_fd < 0) {
		return 0;
	}
	error = origin_add_birth(&shown->side.id, shown->dirfd, shown->name);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	origin_key(&shown->side.id, shown->link);
	error = sys_fstatat(links->root_fd, shown->link, &st);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	change_side_from_stat(&shown->side, &st);
	shown->place = PLACE_LINKS;
	shown->dirfd = links->root_fd;
	shown->name = shown->link;
	return 0;
}

/* Whether an entry of the upper is a whiteout: 1, 0 or -errno. */
static int is_whiteout(int dirfd, const char *name, const struct stat *st)
{
	return whiteout_is(st) ? 1 : whiteout_is_file(dirfd, name, st);
}

static int stat_shown(const struct walk *walk, struct shown *ret_shown,
		      const struct place *place, const char *name)
{
	bool in_upper = names_contain(&place->upper_names, name);
	struct origin id;
	struct stat st;
	int error;

	*ret_shown = (struct shown){
		.place = in_upper ? PLACE_UPPER : PLACE_BASE,
		.dirfd = in_upper ? place->upper_fd : place->lower_fd,
		.name = name,
		.taken_ns = place->task->taken_ns,
	};
	if (!in_upper) {
		error = stat_base(walk, &ret_shown->side, place->lower_fd,
				  place->task->lower, name);
		return error ? error : stat_link(walk, ret_shown);
	}
	error = sys_fstatat(place->upper_fd, name, &st);
	error = error ? error : is_whiteout(place->upper_fd, name, &st);
	if (error < 0) {
		return error;
	}
	if (error == 0) {
		change_side_from_stat(&ret_shown->side, &st);
		return 0;
	}
	origin_from_stat(&id, &st);
	ret_shown->taken_ns = id.ctime_ns;
	return 0;
}

/* When the upper's own entry came to be: from then on nobody saw the base's.
 */
static int add_birth(struct shown *shown)
{
	struct origin id = shown->side.id;
	int error;

	if (shown->place != PLACE_UPPER || shown->side.kind == KIND_NONE ||
	    shown->taken_ns) {
		return 0;
	}
	error = origin_add_birth(&id, shown->dirfd, shown->name);
	shown->taken_ns = id.birth_ns ? id.birth_ns : id.ctime_ns;
	return error;
}

/* The directory at `path` of the base is hidden by the view. */
static int push_hidden(struct walk *walk, const char *path,
		       const struct change_side *side,
		       const struct shown *shown)
{
	struct task task = {
		.path = strdup(path),
		.in_base = true,
		.tell_empty = shown->side.kind == KIND_NONE,
		.side = *side,
		.taken_ns = shown->taken_ns,
	};

	return task.path ? push(walk, &task) : -ENOMEM;
}

/* Both sides are there, with the same kind: M, or touched but equal. */
static int compare_pair(struct walk *walk, struct change *change,
			const struct compare_end *below,
			const struct compare_end *above)
{
	int flags = compare_ends(below, above);

	if (flags < 0) {
		int error = survive(walk, change->path, flags);

		if (error) {
			return error;
		}
		/* Unknown is told, not hidden. */
		flags = trouble_is_vanished(flags) ? 0 : CHANGE_CONTENT;
	}
	change->flags = (unsigned int)flags;
	change->letter = flags ? CHANGE_MODIFIED : CHANGE_NONE;
	return 0;
}

/* Which base file the view's file is or was. */
static int find_origin(struct walk *walk, struct change *change,
		       const struct place *place, const char *name,
		       const struct shown *shown)
{
	int found;

	change->place = shown->place;
	if (shown->place == PLACE_BASE) {
		change->place_path = path_join(place->task->lower, name);
		change->origin = shown->side.id;
		change->has_origin = true;
		return change->place_path ? 0 : -ENOMEM;
	}
	if (shown->place == PLACE_LINKS) {
		change->place_path = strdup(shown->name);
		if (!change->place_path) {
			return -ENOMEM;
		}
	}
	/* What comes from a scratch view's base is directories only. */
	if (shown->side.kind != KIND_FILE ||
	    walk->sides->view->kind == MANIFEST_SCRATCH) {
		return 0;
	}
	found = origin_read(shown->dirfd, shown->name, &change->origin);
	change->has_origin = found == 1;
	if (found == -EBADMSG) {
		trouble_warn(walk->trouble, "broken origin attribute",
			     change->path);
	}
	return 0;
}

/* Until when the base's entry was seen. A copied-up file says better what it
 * was made from, but may have been moved here later. */
static int find_taken(struct change *change, struct shown *shown)
{
	int error = 0;

	if (change->has_origin && shown->place == PLACE_UPPER) {
		change->taken_ns = shown->side.id.ctime_ns;
		return 0;
	}
	if (change->old_side.kind != KIND_NONE &&
	    (change->old_side.kind != KIND_DIR ||
	     shown->side.kind != KIND_DIR)) {
		error = add_birth(shown);
	}
	change->taken_ns = shown->taken_ns;
	return trouble_is_vanished(error) ? 0 : error;
}

/* Queues what the view shows at `path` against what the base has there. */
static int add_pair(struct walk *walk, const struct place *place,
		    const char *name, const char *path,
		    const struct change_side *old_side, struct shown *shown)
{
	struct change *change = change_list_add(walk->list, strdup(path));
	struct compare_end below = {place->base_fd, name, NULL, NULL};
	struct compare_end above = {shown->dirfd, shown->name, NULL,
				    shown->place == PLACE_BASE ? NULL
							       : walk->sides};
	int error;

	if (!change) {
		return -ENOMEM;
	}
	change->old_side = *old_side;
	change->new_side = shown->side;
	error = find_origin(walk, change, place, name, shown);
	error = error ? error : find_taken(change, shown);
	if (error) {
		return error;
	}
	if (old_side->kind == KIND_NONE) {
		change->letter = CHANGE_ADDED;
	} else if (old_side->kind != shown->side.kind) {
		change->letter = CHANGE_TYPE;
	} else {
		below.side = &change->old_side;
		above.side = &change->new_side;
		return compare_pair(walk, change, &below, &above);
	}
	return 0;
}

/* ---------------------------------------------------------------- directories
 */

/*
 * The base's directory that shows through the view's directory `name`: where
 * a redirect of it points, else what lies beneath by its name, unless it is
 * opaque. *ret_lower is NULL for none; the caller frees.
 */
static int find_lower(const struct walk *walk, const struct place *place,
		      const char *name, const struct shown *shown,
		      const struct change_side *old_side, char **ret_lower)
{
	const struct task *task = place->task;
	struct change_side below = *old_side;
	int found = 0;

	*ret_lower = NULL;
	if (shown->place == PLACE_UPPER) {
		found = whiteout_is_opaque(shown->dirfd, name);
		if (!found) {
			found = redirect_read(shown->dirfd, name, false,
					      ret_lower);
		}
		if (*ret_lower || found < 0) {
			return found < 0 ? found : 0;
		}
	}
	if (found || !task->lower) {
		return found < 0 ? found : 0;
	}
	if (!is_plain(task)) {
		found = stat_base(walk, &below, place->lower_fd, task->lower,
				  name);
	}
	if (found || below.kind != KIND_DIR) {
		return found;
	}
	*ret_lower = path_join(task->lower, name);
	return *ret_lower ? 0 : -ENOMEM;
}

static int add_dir(struct walk *walk, const struct place *place,
		   const char *name, const char *path,
		   const struct change_side *old_side, struct shown *shown)
{
	struct task task = {
		.in_upper = shown->place == PLACE_UPPER,
		.in_base = old_side->kind == KIND_DIR,
		.tell_empty = old_side->kind == KIND_NONE,
		.side = shown->side,
	};
	int error = find_lower(walk, place, name, shown, old_side, &task.lower);

	if (!error && task.in_base &&
	    (!task.lower || strcmp(task.lower, path) != 0)) {
		error = add_birth(shown);
	}
	if (error) {
		free(task.lower);
		return survive(walk, path, error);
	}
	task.taken_ns = shown->taken_ns;
	if (old_side->kind != KIND_NONE) {
		error = add_pair(walk, place, name, path, old_side, shown);
	}
	task.path = strdup(path);
	if (error || !task.path) {
		release_task(&task);
		return -ENOMEM;
	}
	return push(walk, &task);
}

/* One name, which the upper, the base, or what shows through may have. */
static int add_name(struct walk *walk, struct place *place, const char *name)
{
	AUTO_FREE char *path = path_join(place->task->path, name);
	struct change_side old_side;
	struct shown shown;
	int error;

	if (!path) {
		return -ENOMEM;
	}
	error = stat_shown(walk, &shown, place, name);
	error = error ? error
		      : stat_base(walk, &old_side, place->base_fd,
				  place->task->path, name);
	if (error) {
		return survive(walk, path, error);
	}
	place->n_shown += shown.side.kind != KIND_NONE;
	place->n_base += old_side.kind != KIND_NONE;
	if (shown.side.kind == KIND_DIR) {
		return add_dir(walk, place, name, path, &old_side, &shown);
	}
	if (old_side.kind == KIND_DIR) {
		error = add_birth(&shown);
		error = error ? survive(walk, path, error) : 0;
		error = error ? error
			      : push_hidden(walk, path, &old_side, &shown);
	} else if (old_side.kind && !shown.side.kind) {
		error = add_one_sided(walk, CHANGE_DELETED, path, &old_side,
				      shown.taken_ns);
	}
	if (error || !shown.side.kind) {
		return error;
	}
	return add_pair(walk, place, name, path, &old_side, &shown);
}

/* All names of one of the directories, but those that `done` had. */
static int add_names(struct walk *walk, struct place *place,
		     const struct names *names, const struct names *done)
{
	int error = 0;

	for (size_t i = 0; i < names->n && !error; i++) {
		const char *name = names->items[i];

		if ((names == &place->upper_names ||
		     !names_contain(&place->upper_names, name)) &&
		    !(done && names_contain(done, name))) {
			error = add_name(walk, place, name);
		}
	}
	return error;
}

/* Reads a directory of the base. One that can't be read is told, and taken as
 * empty. */
static int read_base_names(struct walk *walk, const char *path, int dirfd,
			   struct names *names)
{
	int error = dirfd < 0 ? 0 : names_read(names, dirfd);

	return error ? survive(walk, path, error) : 0;
}

static int read_place(struct walk *walk, struct place *place)
{
	const struct task *task = place->task;
	AUTO_NAMES lower_names = {0};
	AUTO_NAMES base_names = {0};
	int error = place->upper_fd < 0
			    ? 0
			    : names_read(&place->upper_names, place->upper_fd);

	if (error) {
		return survive(walk, task->path, error);
	}
	error = add_names(walk, place, &place->upper_names, NULL);
	if (error || is_plain(task)) {
		return error;
	}
	error = read_base_names(walk, task->lower ? task->lower : "",
				place->lower_fd, &lower_names);
	error = error ? error
		      : read_base_names(walk, task->path, place->base_fd,
					&base_names);
	error = error ? error : add_names(walk, place, &lower_names, NULL);
	return error ? error
		     : add_names(walk, place, &base_names, &lower_names);
}

/* -1 in *ret_fd where the directory is gone. */
static int open_dir(const struct layer *layer, const char *path, int *ret_fd)
{
	int fd = layer_open_path(layer, path, O_PATH | O_DIRECTORY);

	if (fd < 0 && !trouble_is_vanished(fd)) {
		return fd;
	}
	*ret_fd = fd < 0 ? -1 : fd;
	return 0;
}

static int open_place(const struct walk *walk, struct place *place)
{
	const struct task *task = place->task;
	const struct layer *base = &walk->sides->base;
	int error = 0;

	if (task->in_upper) {
		error = open_dir(&walk->sides->upper, task->path,
				 &place->upper_fd);
		if (error || place->upper_fd < 0) {
			return error ? error : -ENOENT;
		}
	}
	if (task->in_base) {
		error = open_dir(base, task->path, &place->base_fd);
	}
	if (!error && task->lower && !is_plain(task)) {
		error = open_dir(base, task->lower, &place->lower_fd);
	}
	return error;
}

static void release_place(struct place *place)
{
	auto_close_fd(&place->upper_fd);
	auto_close_fd(&place->lower_fd);
	auto_close_fd(&place->base_fd);
	names_release(&place->upper_names);
}

/* A directory that was added or deleted. What tells of one with content is
 * its content, unless directories are asked for. */
static int tell_dir(struct walk *walk, const struct task *task, bool is_deleted,
		    size_t n_entries)
{
	struct change *change;
	int error;

	if (n_entries > 0 && !walk->with_dirs) {
		return 0;
	}
	error = add_one_sided(walk, is_deleted ? CHANGE_DELETED : CHANGE_ADDED,
			      task->path, &task->side, task->taken_ns);
	if (error) {
		return error;
	}
	change = &walk->list->items[walk->list->n - 1];
	change->flags = n_entries > 0 ? CHANGE_FILLED : 0;
	if (!task->in_upper && task->lower) {
		change->place = PLACE_BASE;
		change->place_path = strdup(task->lower);
		return change->place_path ? 0 : -ENOMEM;
	}
	return 0;
}

static int run_task(struct walk *walk, const struct task *task)
{
	AUTO(release_place)
	struct place place = {
		.task = task, .upper_fd = -1, .lower_fd = -1, .base_fd = -1};
	bool is_hidden = !task->in_upper && !task->lower;
	int error = open_place(walk, &place);

	error = error ? survive(walk, task->path, error)
		      : read_place(walk, &place);
	return error || !task->tell_empty
		       ? error
		       : tell_dir(walk, task, is_hidden,
				  is_hidden ? place.n_base : place.n_shown);
}

/* ---------------------------------------------------------------- the root */

/* The root's own mode and attributes count only where the daemon has set them
 * once (then it has an origin); a bare folder's mean nothing. */
static int add_root(struct walk *walk)
{
	const struct sides *sides = walk->sides;
	const struct task task = {.in_upper = true, .in_base = true};
	struct place place = {.task = &task,
			      .upper_fd = sides->upper.root_fd,
			      .base_fd = sides->base.root_fd};
	struct shown shown = {.dirfd = sides->upper.root_fd, .name = ""};
	struct change_side old_side;
	struct origin origin;
	struct stat st;
	int error;

	if (origin_read(shown.dirfd, "", &origin) != 1) {
		return 0;
	}
	error = stat_base(walk, &old_side, sides->base.root_fd, "", "");
	error = error ? error : sys_fstat(shown.dirfd, &st);
	if (error) {
		return survive(walk, CHANGE_ROOT_PATH, error);
	}
	change_side_from_stat(&shown.side, &st);
	return add_pair(walk, &place, "", CHANGE_ROOT_PATH, &old_side, &shown);
}

static int push_root(struct walk *walk)
{
	bool opaque = whiteout_is_opaque(walk->sides->upper.root_fd, "") == 1;
	struct task task = {
		.path = strdup(""),
		.in_upper = true,
		.lower = opaque ? NULL : strdup(""),
		.in_base = true,
	};

	if (!task.path || (!task.lower && !opaque)) {
		release_task(&task);
		return -ENOMEM;
	}
	return push(walk, &task);
}

int collect_changes(struct change_list *list, const struct sides *sides,
		    bool with_dirs, struct trouble *trouble)
{
	struct walk walk = {
		.list = list,
		.sides = sides,
		.trouble = trouble,
		.with_dirs = with_dirs,
	};
	int error = push_root(&walk);

	error = error ? error : add_root(&walk);
	while (walk.n_tasks > 0) {
		struct task task = walk.tasks[--walk.n_tasks];

		if (!error) {
			error = run_task(&walk, &task);
		}
		release_task(&task);
	}
	free(walk.tasks);
	return error;
}
