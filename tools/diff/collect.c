#include "collect.h"

#include <fcntl.h>
#include <string.h>

#include "compare.h"
#include "names.h"
#include "path.h"
#include "sys.h"
#include "whiteout.h"

enum task_kind {
	TASK_MERGED, /* a directory of the upper, over one of the base */
	TASK_OPAQUE, /* the same, but nothing of the base shows through */
	TASK_FRESH,  /* a directory of the upper, over nothing comparable */
	TASK_GONE,   /* a directory of the base that the view hides */
};

/* A directory that is still to be read. */
struct task {
	enum task_kind kind;
	char *path; /* owned */
	/* Told as added or deleted itself when it turns out to be empty. */
	bool tell_empty;
	struct change_side side;
};

/* A stack of tasks instead of recursion: depth costs heap only. */
struct walk {
	struct change_list *list;
	const struct sides *sides;
	struct trouble *trouble;
	struct task *tasks;
	size_t n_tasks;
	size_t capacity;
};

/* One directory that is being read. */
struct place {
	const struct task *task;
	int upper_fd; /* -1 for TASK_GONE */
	int base_fd;  /* -1 for TASK_FRESH */
	struct names names;
};

/* Takes `path`. */
static int push(struct walk *walk, enum task_kind kind, char *path,
		bool tell_empty, const struct change_side *side)
{
	if (walk->n_tasks == walk->capacity) {
		size_t capacity = walk->capacity ? walk->capacity * 2 : 64;
		struct task *tasks =
			reallocarray(walk->tasks, capacity, sizeof(*tasks));

		if (!tasks) {
			free(path);
			return -ENOMEM;
		}
		walk->tasks = tasks;
		walk->capacity = capacity;
	}
	walk->tasks[walk->n_tasks++] = (struct task){
		.kind = kind,
		.path = path,
		.tell_empty = tell_empty,
		.side = *side,
	};
	return 0;
}

/* Whether the error only says that the agent was faster. */
static bool is_vanished(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -ESTALE;
}

/* Tells an error that the walk survives. -ENOMEM is the one it does not. */
static int survive(struct walk *walk, const char *path, int error)
{
	if (error == -ENOMEM) {
		return error;
	}
	if (!is_vanished(error)) {
		trouble_error(walk->trouble, "read", path, error);
	}
	return 0;
}

static int add_one_sided(struct walk *walk, enum change_letter letter,
			 char *path, const struct change_side *side)
{
	struct change *change = change_list_add(walk->list, path);

	if (!change) {
		return -ENOMEM;
	}
	change->letter = letter;
	if (letter == CHANGE_DELETED) {
		change->old_side = *side;
	} else {
		change->new_side = *side;
	}
	return 0;
}

/* The base's entry `name`; KIND_NONE where there is none. */
static int stat_base(struct change_side *ret_side, int base_fd,
		     const char *name)
{
	struct stat st;
	int error;

	*ret_side = (struct change_side){.kind = KIND_NONE};
	if (base_fd < 0) {
		return 0;
	}
	error = sys_fstatat(base_fd, name, &st);
	if (error) {
		return is_vanished(error) ? 0 : error;
	}
	/* The base may be an upper itself. */
	if (!whiteout_is(&st)) {
		change_side_from_stat(ret_side, &st);
	}
	return 0;
}

/* The base entry at `path` (taken) is hidden by the view. */
static int add_deleted(struct walk *walk, char *path,
		       const struct change_side *side, bool tell_empty)
{
	if (side->kind == KIND_NONE) {
		free(path);
		return 0;
	}
	if (side->kind == KIND_DIR) {
		return push(walk, TASK_GONE, path, tell_empty, side);
	}
	return add_one_sided(walk, CHANGE_DELETED, path, side);
}

/* Both sides are there, with the same kind: M, or touched but equal. */
static int compare_pair(struct walk *walk, struct change *change,
			const struct place *place, const char *name)
{
	const struct compare_end below = {place->base_fd, name,
					  &change->old_side};
	const struct compare_end above = {place->upper_fd, name,
					  &change->new_side};
	int flags = compare_ends(&below, &above);

	if (flags < 0) {
		int error = survive(walk, change->path, flags);

		if (error) {
			return error;
		}
		/* Unknown is told, not hidden. */
		flags = is_vanished(flags) ? 0 : CHANGE_CONTENT;
	}
	change->flags = (unsigned int)flags;
	change->letter = flags ? CHANGE_MODIFIED : CHANGE_NONE;
	return 0;
}

/* Which base file this one came from; a warning if that can't be told. */
static void read_origin(struct walk *walk, struct change *change, int dirfd,
			const char *name)
{
	int found = origin_read(dirfd, name, &change->origin);

	change->has_origin = found == 1;
	if (found == -EBADMSG) {
		trouble_warn(walk->trouble, "broken origin attribute",
			     change->path);
	}
}

/* Queues what lies in the upper at `path` (taken) against what lies below. */
static int add_pair(struct walk *walk, const struct place *place,
		    const char *name, char *path,
		    const struct change_side *old_side,
		    const struct change_side *new_side)
{
	struct change *change = change_list_add(walk->list, path);

	if (!change) {
		return -ENOMEM;
	}
	change->old_side = *old_side;
	change->new_side = *new_side;
	if (new_side->kind == KIND_FILE) {
		read_origin(walk, change, place->upper_fd, name);
	}
	if (old_side->kind == KIND_NONE) {
		change->letter = CHANGE_ADDED;
	} else if (old_side->kind != new_side->kind) {
		change->letter = CHANGE_TYPE;
	} else {
		return compare_pair(walk, change, place, name);
	}
	return 0;
}

/* How the upper's directory `name` relates to the base's entry there. */
static int dir_task_kind(const struct place *place, const char *name,
			 const struct change_side *old_side)
{
	int opaque;

	if (old_side->kind != KIND_DIR) {
		return TASK_FRESH;
	}
	if (place->task->kind == TASK_OPAQUE) {
		return TASK_OPAQUE;
	}
	opaque = whiteout_is_opaque(place->upper_fd, name);
	if (opaque < 0) {
		return opaque;
	}
	return opaque ? TASK_OPAQUE : TASK_MERGED;
}

static int add_dir(struct walk *walk, const struct place *place,
		   const char *name, const char *path,
		   const struct change_side *old_side,
		   const struct change_side *new_side)
{
	int kind = dir_task_kind(place, name, old_side);
	char *copy;
	int error = 0;

	if (kind < 0) {
		return survive(walk, path, kind);
	}
	if (old_side->kind != KIND_NONE) {
		error = add_pair(walk, place, name, strdup(path), old_side,
				 new_side);
	}
	if (error) {
		return error;
	}
	copy = strdup(path);
	return copy ? push(walk, (enum task_kind)kind, copy,
			   old_side->kind == KIND_NONE, new_side)
		    : -ENOMEM;
}

/* One entry of an upper directory. */
static int add_entry(struct walk *walk, const struct place *place,
		     const char *name)
{
	AUTO_FREE char *path = path_join(place->task->path, name);
	struct change_side old_side;
	struct change_side new_side;
	struct stat st;
	int error;

	if (!path) {
		return -ENOMEM;
	}
	error = sys_fstatat(place->upper_fd, name, &st);
	error = error ? error : stat_base(&old_side, place->base_fd, name);
	if (error) {
		return survive(walk, path, error);
	}
	if (whiteout_is(&st)) {
		return add_deleted(walk, TAKE_PTR(path), &old_side, true);
	}
	change_side_from_stat(&new_side, &st);
	if (new_side.kind == KIND_DIR) {
		return add_dir(walk, place, name, path, &old_side, &new_side);
	}
	if (old_side.kind == KIND_DIR) {
		char *gone = strdup(path);

		error = gone ? add_deleted(walk, gone, &old_side, false)
			     : -ENOMEM;
		if (error) {
			return error;
		}
	}
	return add_pair(walk, place, name, TAKE_PTR(path), &old_side,
			&new_side);
}

/* One entry of a base directory that the view hides, unless the upper has
 * something at its place. */
static int add_hidden(struct walk *walk, const struct place *place,
		      const char *name)
{
	AUTO_FREE char *path = NULL;
	struct change_side side;
	int error;

	if (names_contain(&place->names, name)) {
		return 0;
	}
	path = path_join(place->task->path, name);
	if (!path) {
		return -ENOMEM;
	}
	error = stat_base(&side, place->base_fd, name);
	if (error) {
		return survive(walk, path, error);
	}
	return add_deleted(walk, TAKE_PTR(path), &side, true);
}

static int add_all_hidden(struct walk *walk, const struct place *place,
			  size_t *ret_count)
{
	AUTO_NAMES names = {0};
	int error = names_read(&names, place->base_fd);

	*ret_count = names.n;
	if (error) {
		return survive(walk, place->task->path, error);
	}
	for (size_t i = 0; i < names.n && !error; i++) {
		error = add_hidden(walk, place, names.items[i]);
	}
	return error;
}

static int read_gone(struct walk *walk, const struct task *task)
{
	struct place place = {.task = task, .upper_fd = -1};
	AUTO_FD base_fd = layer_open_path(&walk->sides->base, task->path,
					  O_PATH | O_DIRECTORY);
	size_t count = 0;
	int error = base_fd < 0 ? survive(walk, task->path, base_fd) : 0;

	place.base_fd = base_fd;
	if (base_fd >= 0) {
		error = add_all_hidden(walk, &place, &count);
	}
	if (!error && count == 0 && task->tell_empty) {
		char *path = strdup(task->path);

		error = path ? add_one_sided(walk, CHANGE_DELETED, path,
					     &task->side)
			     : -ENOMEM;
	}
	return error;
}

/* Opens the place's directories; 0 or -errno. */
static int open_place(const struct walk *walk, struct place *place)
{
	const struct task *task = place->task;
	int fd = layer_open_path(&walk->sides->upper, task->path,
				 O_PATH | O_DIRECTORY);

	if (fd < 0) {
		return fd;
	}
	place->upper_fd = fd;
	if (task->kind == TASK_FRESH) {
		return 0;
	}
	fd = layer_open_path(&walk->sides->base, task->path,
			     O_PATH | O_DIRECTORY);
	/* The base's directory vanished: then all of ours is new. */
	if (fd < 0 && !is_vanished(fd)) {
		return fd;
	}
	place->base_fd = fd;
	return 0;
}

static int read_upper(struct walk *walk, struct place *place)
{
	const struct task *task = place->task;
	size_t count = 0;
	int error = open_place(walk, place);

	error = error ? error : names_read(&place->names, place->upper_fd);
	if (error) {
		return survive(walk, task->path, error);
	}
	for (size_t i = 0; i < place->names.n && !error; i++) {
		error = add_entry(walk, place, place->names.items[i]);
	}
	if (!error && task->kind == TASK_OPAQUE && place->base_fd >= 0) {
		error = add_all_hidden(walk, place, &count);
	}
	return error;
}

/* Whether the upper's directory shows nothing: empty, or whiteouts only. */
static bool is_empty(const struct place *place)
{
	for (size_t i = 0; i < place->names.n; i++) {
		struct stat st;

		if (sys_fstatat(place->upper_fd, place->names.items[i], &st) ||
		    !whiteout_is(&st)) {
			return false;
		}
	}
	return true;
}

static void release_place(struct place *place)
{
	auto_close_fd(&place->upper_fd);
	auto_close_fd(&place->base_fd);
	names_release(&place->names);
}

static int read_task(struct walk *walk, const struct task *task)
{
	AUTO(release_place)
	struct place place = {.task = task, .upper_fd = -1, .base_fd = -1};
	int error;

	if (task->kind == TASK_GONE) {
		return read_gone(walk, task);
	}
	error = read_upper(walk, &place);
	if (!error && task->tell_empty && is_empty(&place)) {
		char *path = strdup(task->path);

		error = path ? add_one_sided(walk, CHANGE_ADDED, path,
					     &task->side)
			     : -ENOMEM;
	}
	return error;
}

static int push_root(struct walk *walk)
{
	struct change_side side = {.kind = KIND_DIR};
	char *path = strdup("");
	int opaque = whiteout_is_opaque(walk->sides->upper.root_fd, "");

	return path ? push(walk, opaque == 1 ? TASK_OPAQUE : TASK_MERGED, path,
			   false, &side)
		    : -ENOMEM;
}

int collect_changes(struct change_list *list, const struct sides *sides,
		    struct trouble *trouble)
{
	struct walk walk = {.list = list, .sides = sides, .trouble = trouble};
	int error = push_root(&walk);

	while (walk.n_tasks > 0) {
		struct task task = walk.tasks[--walk.n_tasks];

		if (!error) {
			error = read_task(&walk, &task);
		}
		free(task.path);
	}
	free(walk.tasks);
	return error;
}
