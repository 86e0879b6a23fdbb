#include "plan.h"

#include <string.h>

#define FIRST_CAPACITY 64

/* A name of a file that has several. */
struct name {
	uint64_t dev;
	uint64_t ino;
	int turn; /* 0: as in the base, nothing has to be made; then as made */
	const char *path;
};

struct names_of_files {
	struct name *items;
	size_t n;
};

struct maker {
	struct plan *plan;
	const struct change_list *list;
	struct names_of_files names;
	const char **old_paths; /* of renames, sorted */
	size_t n_old_paths;
	bool in_place;
};

struct plan_step *plan_add(struct plan *plan, char *path)
{
	struct plan_step *step;

	if (path && plan->n == plan->capacity) {
		size_t capacity =
			plan->capacity ? plan->capacity * 2 : FIRST_CAPACITY;
		struct plan_step *steps =
			reallocarray(plan->steps, capacity, sizeof(*steps));

		if (!steps) {
			free(path);
			return NULL;
		}
		plan->steps = steps;
		plan->capacity = capacity;
	}
	if (!path) {
		return NULL;
	}
	step = &plan->steps[plan->n++];
	*step = (struct plan_step){.path = path};
	return step;
}

void plan_release(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		free(plan->steps[i].path);
		free(plan->steps[i].source);
		free(plan->steps[i].link_to);
	}
	free(plan->steps);
	*plan = (struct plan){0};
}

/* ------------------------------------------------- files with several names */

/* In the order of the steps. */
static int compare_names(const void *a, const void *b)
{
	const struct name *left = a;
	const struct name *right = b;

	if (left->dev != right->dev) {
		return left->dev < right->dev ? -1 : 1;
	}
	if (left->ino != right->ino) {
		return left->ino < right->ino ? -1 : 1;
	}
	if (left->turn != right->turn) {
		return left->turn - right->turn;
	}
	return strcmp(left->path, right->path);
}

/* Whether a directory must be emptied before. */
static bool is_late(const struct change *change)
{
	return change->letter == CHANGE_TYPE &&
	       change->old_side.kind == KIND_DIR;
}

static void gather(struct names_of_files *names, const struct change_list *list,
		   bool is_equal)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct change_side *side = &list->items[i].new_side;

		if (side->kind == KIND_FILE && side->n_links > 1) {
			names->items[names->n++] = (struct name){
				side->id.dev,
				side->id.ino,
				is_equal                   ? 0
				: is_late(&list->items[i]) ? 2
							   : 1,
				list->items[i].path,
			};
		}
	}
}

static int gather_names(struct names_of_files *names, const struct diff *diff)
{
	names->items =
		calloc(diff->list.n + diff->equal.n + 1, sizeof(*names->items));
	if (!names->items) {
		return -ENOMEM;
	}
	gather(names, &diff->equal, true);
	gather(names, &diff->list, false);
	qsort(names->items, names->n, sizeof(*names->items), compare_names);
	return 0;
}

/* The first name of the file of `change`; NULL if that is its own one. */
static const char *first_name(const struct names_of_files *names,
			      const struct change *change)
{
	const struct change_side *side = &change->new_side;
	size_t low = 0;
	size_t high = names->n;

	if (side->kind != KIND_FILE || side->n_links < 2) {
		return NULL;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct name *name = &names->items[middle];

		if (name->dev < side->id.dev ||
		    (name->dev == side->id.dev && name->ino < side->id.ino)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < names->n && names->items[low].path != change->path
		       ? names->items[low].path
		       : NULL;
}

/* ---------------------------------------------------------------- the steps */

static bool makes(const struct change *change)
{
	bool is_dir = change->new_side.kind == KIND_DIR;

	return change->new_side.kind != KIND_NONE &&
	       !(is_dir && change->letter == CHANGE_MODIFIED);
}

static const struct change *find_above(const struct change_list *list,
				       const char *path,
				       enum change_letter letter)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;

	while (above && (slash = strrchr(above, '/'))) {
		const struct change *change;

		*slash = '\0';
		change = change_list_find(list, above);
		if (change && change->letter == letter) {
			return change;
		}
	}
	return NULL;
}

/* Whether the renamed file can be given the new side's times without any other
 * name of it showing them. */
static bool has_own_times(const struct change *change)
{
	return change->old_side.n_links < 2 ||
	       change->old_side.id.mtime_ns == change->new_side.id.mtime_ns;
}

/* Whether a rename in the folder gives exactly the new side. */
static bool is_plain_rename(const struct maker *maker,
			    const struct change *change, const char *link_to)
{
	return change->letter == CHANGE_RENAMED && change->flags == 0 &&
	       change->new_side.kind != KIND_DIR && !link_to &&
	       change->place != PLACE_LINKS && has_own_times(change) &&
	       !change_list_find(maker->list, change->old_path) &&
	       !find_above(maker->list, change->old_path, CHANGE_TYPE);
}

static int set_source(struct plan_step *step, const struct change *change)
{
	step->place = change->place;
	step->source =
		strdup(change->place_path ? change->place_path : change->path);
	return step->source ? 0 : -ENOMEM;
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int gather_old_paths(struct maker *maker)
{
	const struct change_list *list = maker->list;

	maker->old_paths = calloc(list->n + 1, sizeof(*maker->old_paths));
	if (!maker->old_paths) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].old_path) {
			maker->old_paths[maker->n_old_paths++] =
				list->items[i].old_path;
		}
	}
	qsort(maker->old_paths, maker->n_old_paths, sizeof(*maker->old_paths),
	      compare_strings);
	return 0;
}

/* Whether the plan changes, or may change, the base file that `change` is
 * made from. */
static bool is_endangered(const struct maker *maker,
			  const struct change *change)
{
	const char *source = change->place_path;

	if (!maker->in_place || change->place != PLACE_BASE) {
		return false;
	}
	return change->new_side.kind == KIND_DIR ||
	       change_list_find(maker->list, source) ||
	       find_above(maker->list, source, CHANGE_TYPE) ||
	       (maker->n_old_paths > 0 &&
		bsearch(&source, maker->old_paths, maker->n_old_paths,
			sizeof(source), compare_strings));
}

static int add_make(struct maker *maker, const struct change *change)
{
	const char *link_to = first_name(&maker->names, change);
	struct plan_step *step = plan_add(maker->plan, strdup(change->path));
	bool is_new = change->letter == CHANGE_ADDED ||
		      change->letter == CHANGE_RENAMED;

	if (!step) {
		return -ENOMEM;
	}
	step->new_kind = change->new_side.kind;
	if (is_plain_rename(maker, change, link_to)) {
		step->op = PLAN_RENAME;
		step->old_kind = change->old_side.kind;
		step->old_id = change->old_side.id;
		step->place = change->place;
		step->source = strdup(change->old_path);
		return step->source ? 0 : -ENOMEM;
	}
	step->op = PLAN_MAKE;
	step->old_kind = is_new ? KIND_NONE : change->old_side.kind;
	step->old_id = change->old_side.id;
	step->needs_keeping = is_endangered(maker, change);
	if (link_to) {
		step->link_to = strdup(link_to);
		if (!step->link_to) {
			return -ENOMEM;
		}
	}
	return set_source(step, change);
}

static int add_makes(struct maker *maker, bool late)
{
	int error = 0;

	for (size_t i = 0; i < maker->list->n && !error; i++) {
		const struct change *change = &maker->list->items[i];

		if (makes(change) && is_late(change) == late) {
			error = add_make(maker, change);
		}
	}
	return error;
}

static int add_delete(struct maker *maker, const struct change *change)
{
	struct plan_step *step =
		plan_add(maker->plan, strdup(change_old_path(change)));

	if (!step) {
		return -ENOMEM;
	}
	step->op = PLAN_DELETE;
	step->old_kind = change->old_side.kind;
	step->old_id = change->old_side.id;
	step->is_optional = change->flags & CHANGE_FILLED;
	return 0;
}

static int compare_backwards(const void *a, const void *b)
{
	const struct plan_step *left = a;
	const struct plan_step *right = b;

	return strcmp(right->path, left->path);
}

/* Old ends of renames that are no rename here, too, unless something else takes
 * their place. */
static bool deletes(const struct maker *maker, const struct change *change)
{
	return change->letter == CHANGE_DELETED ||
	       (change->letter == CHANGE_RENAMED &&
		!is_plain_rename(maker, change,
				 first_name(&maker->names, change)) &&
		!change_list_find(maker->list, change->old_path));
}

static int add_deletes(struct maker *maker)
{
	size_t first = maker->plan->n;
	int error = 0;

	for (size_t i = 0; i < maker->list->n && !error; i++) {
		if (deletes(maker, &maker->list->items[i])) {
			error = add_delete(maker, &maker->list->items[i]);
		}
	}
	if (!error && maker->plan->n > first) {
		qsort(maker->plan->steps + first, maker->plan->n - first,
		      sizeof(*maker->plan->steps), compare_backwards);
	}
	return error;
}

static int add_finishes(struct maker *maker)
{
	for (size_t i = maker->list->n; i-- > 0;) {
		const struct change *change = &maker->list->items[i];
		struct plan_step *step;
		int error;

		if (change->new_side.kind != KIND_DIR) {
			continue;
		}
		step = plan_add(maker->plan, strdup(change->path));
		if (!step) {
			return -ENOMEM;
		}
		step->op = PLAN_FINISH;
		step->old_kind = KIND_DIR;
		step->new_kind = KIND_DIR;
		step->with_times = change->letter != CHANGE_MODIFIED;
		step->needs_keeping = is_endangered(maker, change);
		error = set_source(step, change);
		if (error) {
			return error;
		}
	}
	return 0;
}

int plan_make(struct plan *plan, const struct diff *diff, bool in_place)
{
	struct maker maker = {
		.plan = plan, .list = &diff->list, .in_place = in_place};
	int error = gather_names(&maker.names, diff);

	error = error ? error : gather_old_paths(&maker);
	error = error ? error : add_makes(&maker, false);
	error = error ? error : add_deletes(&maker);
	error = error ? error : add_makes(&maker, true);
	error = error ? error : add_finishes(&maker);
	free(maker.names.items);
	free(maker.old_paths);
	return error;
}
