#include "noise.h"

#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "buf.h"
#include "ignore_names.h"
#include "libgit.h"
#include "path.h"

struct rules {
	git_repository *repo; /* NULL: none */
	bool repo_tried;
	struct ignore_names names;
	/* Loaded when the first ignored path asks for it: its size is that of
	 * the whole tree. */
	git_index *index;
	bool index_tried;
	const char *real_base; /* canonical */
	const char *prefix;    /* the base, relative to the repository */
	/* A directory that is known to be ignored, ending in '/', or empty:
	 * what lies below needs no look. */
	struct buf ignored_dir;
	/* A directory that is known not to be ignored. */
	struct buf clear_dir;
	/* The same for what is generated. */
	struct buf generated_dir;
	const struct layer *base;
};

bool noise_is_git(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		size_t len;

		at += *at == '/';
		len = strcspn(at, "/");
		if (len == 4 && strncasecmp(at, ".git", 4) == 0) {
			return true;
		}
	}
	return false;
}

static void close_rules(struct rules *rules)
{
	ignore_names_release(&rules->names);
	git_index_free(rules->index);
	git_repository_free(rules->repo);
	buf_release(&rules->ignored_dir);
	buf_release(&rules->clear_dir);
	buf_release(&rules->generated_dir);
}

/* When the first change asks for it. Leaves rules->repo NULL where there is
 * none. */
static void open_rules(struct rules *rules)
{
	const char *real_base = rules->real_base;
	const char *workdir;

	rules->repo_tried = true;
	libgit_need();
	/* Nothing of the repository is run, so it needs no trust; the user of
	 * root's sandbox owns it more often than root. */
	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	if (git_repository_open_ext(&rules->repo, real_base, 0, NULL)) {
		rules->repo = NULL;
		return;
	}
	workdir = git_repository_workdir(rules->repo);
	if (!workdir || strncmp(real_base, workdir, strlen(real_base)) == 0) {
		rules->prefix = "";
	} else if (strncmp(real_base, workdir, strlen(workdir)) == 0) {
		rules->prefix = real_base + strlen(workdir);
	} else {
		git_repository_free(rules->repo);
		rules->repo = NULL;
		return;
	}
	ignore_names_init(&rules->names, rules->repo);
}

static bool is_beneath(const char *path, const struct buf *dir)
{
	return dir->len > 0 && strncmp(path, dir->data, dir->len) == 0;
}

/* Whether the rules ignore `path`; a directory's ends in '/'. */
static bool ask(struct rules *rules, const char *path)
{
	int ignored = 0;

	return ignore_names_may_match(&rules->names, path) &&
	       git_ignore_path_is_ignored(&ignored, rules->repo, path) == 0 &&
	       ignored;
}

/* Whether a directory above `path` is ignored. Neighbours in the queue share
 * directories, so each is asked about once. */
static bool is_in_ignored_dir(struct rules *rules, const char *path)
{
	size_t known =
		is_beneath(path, &rules->clear_dir) ? rules->clear_dir.len : 0;
	const char *slash = strchr(path + known, '/');

	if (is_beneath(path, &rules->ignored_dir)) {
		return true;
	}
	for (; slash; slash = strchr(slash + 1, '/')) {
		AUTO_BUF dir = BUF_INIT;

		buf_add(&dir, path, (size_t)(slash - path) + 1);
		if (ask(rules, dir.data)) {
			buf_clear(&rules->ignored_dir);
			buf_add(&rules->ignored_dir, dir.data, dir.len);
			return true;
		}
		buf_clear(&rules->clear_dir);
		buf_add(&rules->clear_dir, dir.data, dir.len);
	}
	return false;
}

static bool is_tracked(struct rules *rules, const char *path)
{
	if (!rules->index_tried) {
		rules->index_tried = true;
		if (git_repository_index(&rules->index, rules->repo)) {
			rules->index = NULL;
		}
	}
	return rules->index && git_index_get_bypath(rules->index, path, 0);
}

static bool is_ignored(struct rules *rules, const char *path,
		       enum change_kind kind)
{
	AUTO_FREE char *whole = path_join(rules->prefix, path);
	AUTO_BUF entry = BUF_INIT;

	if (!whole) {
		return false;
	}
	buf_addf(&entry, "%s%s", whole, kind == KIND_DIR ? "/" : "");
	return (is_in_ignored_dir(rules, whole) || ask(rules, entry.data)) &&
	       !is_tracked(rules, whole);
}

/* Whether the `len` bytes of `name` are the name of such a folder. */
static bool is_generated_name(const char *name, size_t len)
{
	static const char *const names[] = {
		"node_modules",  "__pycache__", ".pytest_cache", ".mypy_cache",
		".ruff_cache",   ".tox",        ".gradle",       ".next",
		".parcel-cache", ".turbo",      "CMakeFiles",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == len &&
		    memcmp(names[i], name, len) == 0) {
			return true;
		}
	}
	return false;
}

static bool base_has_dir(const struct rules *rules, const char *path,
			 size_t len)
{
	AUTO_BUF dir = BUF_INIT;
	AUTO_FD fd = -1;

	buf_add(&dir, path, len);
	fd = layer_open_path(rules->base, dir.data, O_PATH | O_DIRECTORY);
	return fd >= 0;
}

/* What the base has already is somebody's, whatever its name. */
static bool is_generated(struct rules *rules, const char *path)
{
	const char *at = path;
	const char *slash;

	if (is_beneath(path, &rules->generated_dir)) {
		return true;
	}
	for (; (slash = strchr(at, '/')); at = slash + 1) {
		if (is_generated_name(at, (size_t)(slash - at))) {
			size_t len = (size_t)(slash - path);

			if (base_has_dir(rules, path, len)) {
				return false;
			}
			buf_clear(&rules->generated_dir);
			buf_add(&rules->generated_dir, path, len + 1);
			return true;
		}
	}
	return false;
}

static enum change_noise noise_of(struct rules *rules,
				  const struct change *change)
{
	enum change_kind kind = change->new_side.kind;

	if (strcmp(change->path, CHANGE_ROOT_PATH) == 0) {
		return NOISE_NONE;
	}
	if (noise_is_git(change->path)) {
		return NOISE_GIT;
	}
	if (!rules->repo_tried) {
		open_rules(rules);
	}
	kind = kind ? kind : change->old_side.kind;
	if (rules->repo && is_ignored(rules, change->path, kind)) {
		return NOISE_IGNORED;
	}
	return change->letter == CHANGE_ADDED &&
			       is_generated(rules, change->path)
		       ? NOISE_GENERATED
		       : NOISE_NONE;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The directories of the base that gave way to something that is shown,
 * sorted. The caller frees the array. */
static char **replaced_dirs(const struct change_list *list, size_t *ret_n)
{
	char **dirs = calloc(list->n + 1, sizeof(*dirs));

	*ret_n = 0;
	for (size_t i = 0; dirs && i < list->n; i++) {
		const struct change *change = &list->items[i];

		if (change->letter == CHANGE_TYPE && !change->noise &&
		    change->old_side.kind == KIND_DIR) {
			dirs[(*ret_n)++] = change->path;
		}
	}
	if (dirs && *ret_n > 1) {
		qsort(dirs, *ret_n, sizeof(*dirs), compare_paths);
	}
	return dirs;
}

static bool is_below_any(const char *path, char *const *dirs, size_t n)
{
	for (const char *slash = strchr(path, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		AUTO_BUF dir = BUF_INIT;

		buf_add(&dir, path, (size_t)(slash - path));
		if (bsearch(&dir.data, dirs, n, sizeof(*dirs), compare_paths)) {
			return true;
		}
	}
	return false;
}

/* What had to go so that something shown could take a directory's place is
 * shown too: a patch without it would not apply. */
static int unmark_replaced(struct change_list *list)
{
	size_t n;
	AUTO_FREE char **dirs = replaced_dirs(list, &n);

	if (!dirs) {
		return -ENOMEM;
	}
	for (size_t i = 0; n > 0 && i < list->n; i++) {
		struct change *change = &list->items[i];

		if (change->letter == CHANGE_DELETED &&
		    change->noise == NOISE_IGNORED &&
		    is_below_any(change->path, dirs, n)) {
			change->noise = NOISE_NONE;
		}
	}
	return 0;
}

int noise_mark(struct change_list *list, const struct sides *sides)
{
	AUTO(close_rules)
	struct rules rules = {
		.prefix = "",
		.names = IGNORE_NAMES_INIT,
		.ignored_dir = BUF_INIT,
		.clear_dir = BUF_INIT,
		.generated_dir = BUF_INIT,
		.base = &sides->base,
	};
	AUTO_FREE char *real_base = realpath(sides->view->base, NULL);

	if (!real_base && errno == ENOMEM) {
		return -ENOMEM;
	}
	rules.real_base = real_base ? real_base : sides->view->base;
	for (size_t i = 0; i < list->n; i++) {
		list->items[i].noise = noise_of(&rules, &list->items[i]);
	}
	return unmark_replaced(list);
}
