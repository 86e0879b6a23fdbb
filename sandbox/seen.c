#include "seen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "err.h"
#include "expand.h"
#include "failure.h"
#include "hidden.h"
#include "path.h"
#include "spec.h"
#include "tables.h"

/* Made anew in each sandbox. */
static const char *const own_tops[] = {"/proc", "/sys", "/dev", "/run/legato"};

struct planner {
	struct seen *seen;
	const struct spec *spec;
	const struct expand *expand;
	const struct hidden *hidden;
};

static void shown_release(struct shown *shown)
{
	free(shown->real);
	free(shown->target);
	strv_release(&shown->masks);
}

void seen_release(struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++) {
		shown_release(&seen->list[i]);
	}
	free(seen->list);
	strv_release(&seen->variables);
	*seen = (struct seen){0};
}

struct shown *seen_add(struct seen *seen, const char *real, const char *target,
		       const char *rule)
{
	struct shown *list =
		reallocarray(seen->list, seen->count + 1, sizeof(*list));

	die_if_no_memory(!list);
	seen->list = list;
	list[seen->count] = (struct shown){
		.real = text_copy(real),
		.target = text_copy(target),
		.rule = rule,
	};
	return &list[seen->count++];
}

/* The canonical path of what is there; NULL if nothing is. Most of what the
 * table names isn't: that costs one call. */
static char *real_path(const char *path, bool *ret_file)
{
	struct stat st;

	if (stat(path, &st) < 0 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
		return NULL;
	}
	*ret_file = S_ISREG(st.st_mode);
	return realpath(path, NULL);
}

/* The innermost that is shown around `target` already, or NULL. */
static const struct shown *shown_around(const struct seen *seen,
					const char *target)
{
	const struct shown *around = NULL;

	for (size_t i = 0; i < seen->count; i++) {
		const struct shown *at = &seen->list[i];

		if (path_is_within(target, at->target) &&
		    (!around || strlen(at->target) >= strlen(around->target))) {
			around = at;
		}
	}
	return around;
}

/* Whether `shown` has `real` at `target` of its own. */
static bool has_it(const struct shown *shown, const char *real,
		   const char *target)
{
	return path_is_within(real, shown->real) &&
	       strcmp(path_beneath(real, shown->real),
		      path_beneath(target, shown->target)) == 0;
}

/* Whether the place is the sandbox's own, so that nothing else can stand
 * there. */
static bool is_own(const struct spec *spec, const char *target)
{
	for (size_t i = 0; i < ARRAY_SIZE(own_tops); i++) {
		if (path_is_within(target, own_tops[i])) {
			return true;
		}
	}
	return path_is_within(spec->home, target) ||
	       path_is_within(SPEC_TMP, target) || strcmp(target, "/") == 0;
}

/* -------------------------------------------------------------- the table's */

static bool holds_hidden(const struct hidden *hidden, const char *real)
{
	struct hidden_hits hits;
	bool any;

	hidden_find_within(hidden, real, &hits);
	any = hits.count > 0;
	hidden_hits_release(&hits);
	return any;
}

static void add_system(const struct planner *planner, const char *path,
		       const char *rule)
{
	bool file;
	AUTO_FREE char *real = real_path(path, &file);
	struct hidden_hits hits;
	struct shown *shown;

	if (!real) {
		return;
	}
	shown = seen_add(planner->seen, real, path, rule);
	shown->file = file;
	shown->system = true;
	hidden_find_within(planner->hidden, real, &hits);
	for (size_t i = 0; i < hits.count; i++) {
		AUTO_FREE char *at = text_format(
			"%s/%s", path, path_beneath(hits.list[i].at, real));

		/* What this user can't read needs no cover. */
		if (strcmp(hits.list[i].at, real) != 0 &&
		    access(at, R_OK) == 0) {
			strv_add(&shown->masks, at);
		}
	}
	hidden_hits_release(&hits);
}

static void add_default(const struct planner *planner, const char *real,
			const char *target, bool write, bool file,
			const char *rule)
{
	const struct spec *spec = planner->spec;
	const struct shown *around = shown_around(planner->seen, target);
	struct shown *shown;

	if (is_own(spec, target) || path_is_within(target, spec->checkout) ||
	    path_is_within(real, spec->checkout) ||
	    hidden_around(planner->hidden, real) ||
	    holds_hidden(planner->hidden, real)) {
		return;
	}
	/* In a real folder there is no mount point but what is there. */
	if (around &&
	    (!has_it(around, real, target) || around->write == write)) {
		return;
	}
	shown = seen_add(planner->seen, real, target, rule);
	shown->write = write;
	shown->file = file;
}

/* Where the variable leads without its value; NULL where `path` may stand
 * where it is. */
static char *default_place(const struct planner *planner, const char *text,
			   const char *path)
{
	struct expand still = *planner->expand;
	AUTO_FREE char *rest = NULL;
	AUTO_FREE char *name = expand_variable(planner->expand, text, &rest);
	AUTO_STRV paths = {0};
	size_t len;

	still.moved = false;
	if (!name || !*rest || path_is_within(path, planner->spec->home)) {
		return NULL;
	}
	expand_path(&still, text, &paths);
	len = paths.count ? strlen(paths.list[0]) : 0;
	if (len <= strlen(rest) ||
	    strcmp(paths.list[0] + len - strlen(rest), rest) != 0) {
		return NULL;
	}
	strv_addf(&planner->seen->variables, "%s=%.*s", name,
		  (int)(len - strlen(rest)), paths.list[0]);
	return text_copy(paths.list[0]);
}

static void add_text(const struct planner *planner, const char *text,
		     bool write, const char *rule)
{
	AUTO_STRV paths = {0};
	AUTO_FREE char *target = NULL;
	AUTO_FREE char *real = NULL;
	bool file;

	expand_path(planner->expand, text, &paths);
	/* Of a list (GOPATH) tools write to the first. */
	real = paths.count ? real_path(paths.list[0], &file) : NULL;
	if (!real) {
		return;
	}
	target = default_place(planner, text, paths.list[0]);
	if (target) {
		add_default(planner, real, target, write, file, rule);
	}
	/* Programs are looked for where PATH says. */
	if (!target || !write) {
		add_default(planner, real, paths.list[0], write, file, rule);
	}
}

static void add_entry(const struct planner *planner,
		      const struct seen_entry *entry)
{
	bool wanted = entry->kind == SEEN_SYSTEM ||
		      planner->spec->config.values[CONFIG_DEFAULT_MOUNTS].flag;

	for (size_t i = 0; wanted && i < entry->read.count; i++) {
		const char *text = entry->read.list[i];

		if (entry->kind == SEEN_SYSTEM && text[0] == '/') {
			add_system(planner, text, entry->name);
		} else {
			add_text(planner, text, false, entry->name);
		}
	}
	for (size_t i = 0; wanted && i < entry->write.count; i++) {
		add_text(planner, entry->write.list[i], true, entry->name);
	}
}

/* The home is where these are by default, and where there is room. */
static void bring_xdg_home(const struct planner *planner)
{
	static const char *const rows[][2] = {
		{"XDG_CONFIG_HOME", ".config"},
		{"XDG_CACHE_HOME", ".cache"},
		{"XDG_DATA_HOME", ".local/share"},
		{"XDG_STATE_HOME", ".local/state"},
	};
	const char *home = planner->spec->home;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *value =
			expand_lookup(planner->expand->variables, rows[i][0]);

		if (value && !path_is_within(value, home)) {
			strv_addf(&planner->seen->variables, "%s=%s/%s",
				  rows[i][0], home, rows[i][1]);
		}
	}
}

/* ------------------------------------------------------ the configuration's */

static int refuse(const struct config_item *item, const char *reason,
		  const char *what)
{
	return item->file
		       ? failure(EXIT_NOT_SET_UP,
				 "%s:%d: cannot mount '%s': %s%s", item->file,
				 item->line, item->text, reason, what)
		       : failure(EXIT_NOT_SET_UP, "cannot mount '%s': %s%s",
				 item->text, reason, what);
}

static int check_hidden(const struct planner *planner,
			const struct config_item *item, struct shown *shown)
{
	const struct hidden_rule *rule =
		hidden_around(planner->hidden, shown->real);
	struct hidden_hits hits;
	int code = 0;

	if (rule) {
		return refuse(item, "it is never seen, by the rule ",
			      rule->name);
	}
	hidden_find_within(planner->hidden, shown->real, &hits);
	for (size_t i = 0; i < hits.count; i++) {
		strv_addf(&shown->masks, "%s/%s", shown->target,
			  path_beneath(hits.list[i].at, shown->real));
	}
	/* What is real can only be covered, and a cover goes away when the
	 * person's editor replaces the file. */
	if (hits.count > 0 && item->write) {
		AUTO_FREE char *what =
			text_format("'%s', which is never seen, by the rule %s",
				    hits.list[0].at, hits.list[0].rule->name);

		code = refuse(item, "it holds ", what);
	}
	hidden_hits_release(&hits);
	return code;
}

/* In a real folder there is no mount point but what is there: what the table
 * had put behind a link in it goes. */
static void drop_behind_links(struct seen *seen, const char *path)
{
	const struct shown *around = shown_around(seen, path);
	size_t kept = 0;

	for (size_t i = 0; i < seen->count; i++) {
		struct shown *at = &seen->list[i];

		if (path_is_within(at->target, path) &&
		    !has_it(around, at->real, at->target)) {
			shown_release(at);
		} else {
			seen->list[kept++] = *at;
		}
	}
	seen->count = kept;
}

static int add_configured_path(const struct planner *planner,
			       const struct config_item *item, const char *path)
{
	const struct spec *spec = planner->spec;
	bool file = false;
	AUTO_FREE char *real = real_path(path, &file);
	const struct shown *around = shown_around(planner->seen, path);
	struct shown *shown;
	int code;

	if (!real) {
		return refuse(item, "it is no folder and no file", "");
	}
	if (is_own(spec, path) || path_is_within(spec->checkout, path)) {
		return refuse(item, "the sandbox has its own there", "");
	}
	if (path_is_within(path, spec->checkout)) {
		return item->write ? refuse(item, "it lies in the checkout", "")
				   : 0;
	}
	if (around && !has_it(around, real, path)) {
		return refuse(item, "a link leads to it in ", around->target);
	}
	shown = seen_add(planner->seen, real, path, "mounts");
	shown->write = item->write;
	shown->file = file;
	code = check_hidden(planner, item, shown);
	drop_behind_links(planner->seen, path);
	return code;
}

static int add_configured(const struct planner *planner)
{
	const struct config_value *value =
		&planner->spec->config.values[CONFIG_MOUNTS];
	int code = 0;

	for (size_t i = 0; !code && i < value->n_items; i++) {
		AUTO_STRV paths = {0};

		expand_path(planner->expand, value->items[i].text, &paths);
		code = paths.count != 1
			       ? refuse(&value->items[i], "it is not one path",
					"")
			       : add_configured_path(planner, &value->items[i],
						     paths.list[0]);
	}
	return code;
}

int seen_init(struct seen *ret_seen, const struct spec *spec,
	      const struct tables *tables, const struct expand *expand,
	      const struct hidden *hidden)
{
	const struct planner planner = {
		.seen = ret_seen,
		.spec = spec,
		.expand = expand,
		.hidden = hidden,
	};

	*ret_seen = (struct seen){0};
	bring_xdg_home(&planner);
	for (size_t i = 0; i < tables->n_seen; i++) {
		add_entry(&planner, &tables->seen[i]);
	}
	return add_configured(&planner);
}
