#include "hidden.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "expand.h"
#include "failure.h"
#include "path.h"
#include "resolve.h"
#include "strv.h"
#include "tables.h"

/* Folders that were resolved already: rules share them. */
struct memo {
	struct strv folders;
	struct strv reals; /* "" where it can't be told */
};

static void memo_release(struct memo *memo)
{
	strv_release(&memo->folders);
	strv_release(&memo->reals);
}

static const char *real_folder(struct memo *memo, const char *folder)
{
	AUTO_FREE char *real = NULL;

	for (size_t i = 0; i < memo->folders.count; i++) {
		if (strcmp(memo->folders.list[i], folder) == 0) {
			return memo->reals.list[i];
		}
	}
	real = resolve_future(folder);
	strv_add(&memo->folders, folder);
	strv_add(&memo->reals, real ? real : "");
	return memo->reals.list[memo->reals.count - 1];
}

/* ------------------------------------------------------------------- places */

/* Later ones lie over earlier ones. */
static const struct mountinfo_entry *mount_of(const struct mountinfo *mounts,
					      const char *path)
{
	const struct mountinfo_entry *found = NULL;

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mountinfo_entry *at = &mounts->entries[i];

		if (path_is_within(path, at->mount_at) &&
		    (!found ||
		     strlen(at->mount_at) >= strlen(found->mount_at))) {
			found = at;
		}
	}
	return found;
}

static char *join(const char *top, const char *beneath)
{
	bool is_root = strcmp(top, "/") == 0;

	return *beneath ? text_format("%s/%s", is_root ? "" : top, beneath)
			: text_copy(top);
}

static struct place place_of(const struct mountinfo *mounts, const char *path)
{
	const struct mountinfo_entry *mount = mount_of(mounts, path);

	if (!mount) {
		return (struct place){.path = text_copy(path)};
	}
	return (struct place){
		.dev = mount->dev,
		.path = join(mount->root, path_beneath(path, mount->mount_at)),
	};
}

static bool place_is_within(const struct place *place, const struct place *top)
{
	return place->dev == top->dev && path_is_within(place->path, top->path);
}

/* -------------------------------------------------------------------- paths */

static void add_place(struct hidden *hidden, const struct hidden_rule *rule,
		      const char *path, bool except)
{
	struct hidden_path *paths;

	for (size_t i = 0; i < hidden->count; i++) {
		if (strcmp(hidden->paths[i].path, path) == 0 &&
		    hidden->paths[i].except == except) {
			return;
		}
	}
	paths = reallocarray(hidden->paths, hidden->count + 1, sizeof(*paths));
	die_if_no_memory(!paths);
	hidden->paths = paths;
	paths[hidden->count++] = (struct hidden_path){
		.rule = rule,
		.path = text_copy(path),
		.place = place_of(&hidden->mounts, path),
		.except = except,
	};
}

/* The path itself, and where it leads if it is a link. */
static void add_path(struct hidden *hidden, struct memo *memo,
		     const struct hidden_rule *rule, const char *path,
		     bool except)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *folder = text_format(
		"%.*s", slash == path ? 1 : (int)(slash - path), path);
	const char *real = real_folder(memo, folder);
	AUTO_FREE char *at = NULL;
	struct stat st;

	if (!*real) {
		add_place(hidden, rule, path, except);
		return;
	}
	at = slash[1] ? join(real, slash + 1) : text_copy("/");
	add_place(hidden, rule, at, except);
	if (lstat(at, &st) == 0 && S_ISLNK(st.st_mode)) {
		AUTO_FREE char *end = resolve_future(at);

		if (end) {
			add_place(hidden, rule, end, except);
		}
	}
}

static void add_text(struct hidden *hidden, struct memo *memo,
		     const struct hidden_rule *rule,
		     const struct expand *expand, const char *text, bool except)
{
	AUTO_STRV paths = {0};
	struct expand still = *expand;

	still.moved = false;
	expand_path(&still, text, &paths);
	if (expand->moved && text[0] == '$') {
		expand_path(expand, text, &paths);
	}
	for (size_t i = 0; i < paths.count; i++) {
		if (i == 0 || strcmp(paths.list[i], paths.list[0]) != 0) {
			add_path(hidden, memo, rule, paths.list[i], except);
		}
	}
}

int hidden_init(struct hidden *ret_hidden, const struct tables *tables,
		const struct expand *expand)
{
	AUTO(memo_release) struct memo memo = {0};
	int error;

	*ret_hidden = (struct hidden){0};
	error = mountinfo_read(&ret_hidden->mounts);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot read /proc/self/mountinfo: %s",
			       err_text(error));
	}
	for (size_t i = 0; i < tables->n_hidden; i++) {
		const struct hidden_rule *rule = &tables->hidden[i];

		for (size_t j = 0; j < rule->paths.count; j++) {
			add_text(ret_hidden, &memo, rule, expand,
				 rule->paths.list[j], false);
		}
		for (size_t j = 0; j < rule->except.count; j++) {
			add_text(ret_hidden, &memo, rule, expand,
				 rule->except.list[j], true);
		}
	}
	return 0;
}

void hidden_release(struct hidden *hidden)
{
	for (size_t i = 0; i < hidden->count; i++) {
		free(hidden->paths[i].path);
		free(hidden->paths[i].place.path);
	}
	free(hidden->paths);
	mountinfo_release(&hidden->mounts);
	*hidden = (struct hidden){0};
}

/* ---------------------------------------------------------------- questions */

static bool is_excepted(const struct hidden *hidden,
			const struct hidden_rule *rule,
			const struct place *place)
{
	for (size_t i = 0; i < hidden->count; i++) {
		const struct hidden_path *path = &hidden->paths[i];

		if (path->except && path->rule == rule &&
		    place_is_within(place, &path->place)) {
			return true;
		}
	}
	return false;
}

const struct hidden_rule *hidden_around(const struct hidden *hidden,
					const char *path)
{
	struct place place = place_of(&hidden->mounts, path);
	const struct hidden_rule *found = NULL;

	for (size_t i = 0; !found && i < hidden->count; i++) {
		const struct hidden_path *at = &hidden->paths[i];

		if (!at->except && place_is_within(&place, &at->place) &&
		    !is_excepted(hidden, at->rule, &place)) {
			found = at->rule;
		}
	}
	free(place.path);
	return found;
}

static void add_hit(struct hidden_hits *hits, const struct hidden_rule *rule,
		    const char *at)
{
	struct hidden_hit *list;

	for (size_t i = 0; i < hits->count; i++) {
		if (strcmp(hits->list[i].at, at) == 0) {
			return;
		}
	}
	list = reallocarray(hits->list, hits->count + 1, sizeof(*list));
	die_if_no_memory(!list);
	hits->list = list;
	list[hits->count++] =
		(struct hidden_hit){.rule = rule, .at = text_copy(at)};
}

/* What of the rules shows in `shown`, which is at `at`. */
static void find_in(const struct hidden *hidden, const struct place *shown,
		    const char *at, struct hidden_hits *hits)
{
	for (size_t i = 0; i < hidden->count; i++) {
		const struct hidden_path *path = &hidden->paths[i];
		AUTO_FREE char *where = NULL;

		if (path->except) {
			continue;
		}
		if (place_is_within(&path->place, shown)) {
			where = join(at, path_beneath(path->place.path,
						      shown->path));
			add_hit(hits, path->rule, where);
		} else if (place_is_within(shown, &path->place) &&
			   !is_excepted(hidden, path->rule, shown)) {
			add_hit(hits, path->rule, at);
		}
	}
}

void hidden_find_within(const struct hidden *hidden, const char *top,
			struct hidden_hits *ret_hits)
{
	struct place place = place_of(&hidden->mounts, top);

	*ret_hits = (struct hidden_hits){0};
	find_in(hidden, &place, top, ret_hits);
	free(place.path);
	for (size_t i = 0; i < hidden->mounts.count; i++) {
		const struct mountinfo_entry *mount =
			&hidden->mounts.entries[i];
		struct place inside;

		if (strcmp(mount->mount_at, top) == 0 ||
		    !path_is_within(mount->mount_at, top)) {
			continue;
		}
		inside = place_of(&hidden->mounts, mount->mount_at);
		find_in(hidden, &inside, mount->mount_at, ret_hits);
		free(inside.path);
	}
}

void hidden_hits_release(struct hidden_hits *hits)
{
	for (size_t i = 0; i < hits->count; i++) {
		free(hits->list[i].at);
	}
	free(hits->list);
	*hits = (struct hidden_hits){0};
}
