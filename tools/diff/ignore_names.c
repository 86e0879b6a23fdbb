#include "ignore_names.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

#include "fdio.h"
#include "sys.h"

/* More rules than anybody writes. */
#define MAX_FILE_BYTES (4UL * 1024 * 1024)

#define BYTE_ORDER_MARK "\xEF\xBB\xBF"

/* Adds the last component of the rule in `line`, if it may ignore anything. */
static int add_rule(struct ignore_level *level, char *line)
{
	size_t len = strcspn(line, "\r");
	char *last;

	line[len] = '\0';
	if (len == 0 || *line == '#' || *line == '!') {
		return 0;
	}
	/* Escapes and blanks at the ends have rules of their own. */
	if (strchr(line, '\\') || strchr(" \t", line[0]) ||
	    strchr(" \t", line[len - 1])) {
		level->matches_any = true;
		return 0;
	}
	while (len > 0 && line[len - 1] == '/') {
		line[--len] = '\0';
	}
	last = strrchr(line, '/');
	if (last && strchr(line, '[') && strchr(last, ']')) {
		level->matches_any = true; /* the slash may be in brackets */
		return 0;
	}
	return names_add(&level->rules, last ? last + 1 : line);
}

static int add_rules(struct ignore_level *level, char *text)
{
	char *line;
	int error = 0;

	if (strncmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
		text += strlen(BYTE_ORDER_MARK);
	}
	while (!error && (line = strsep(&text, "\n"))) {
		error = add_rule(level, line);
	}
	return error;
}

/* Adds the rules of a file, if it is there. 0 or -ENOMEM. */
static int add_file(struct ignore_level *level, const char *path)
{
	AUTO_BUF text = BUF_INIT;
	AUTO_FD fd =
		sys_openat(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	int error;

	if (fd == -ENOENT || fd == -ENOTDIR) {
		return 0;
	}
	error = fd < 0 ? fd : fdio_read_all(fd, &text, MAX_FILE_BYTES);
	if (error == -ENOMEM) {
		return error;
	}
	if (error || (text.len > 0 && strlen(text.data) != text.len)) {
		level->matches_any = true;
		return 0;
	}
	return text.len > 0 ? add_rules(level, text.data) : 0;
}

static int add_file_in(struct ignore_level *level, const char *dir,
		       size_t dir_len, const char *name)
{
	AUTO_BUF path = BUF_INIT;
	int error;

	buf_add(&path, dir, dir_len);
	buf_adds(&path, name);
	error = buf_error(&path);
	return error ? error : add_file(level, path.data);
}

/* What core.excludesFile names, or its default in each of git's folders. */
static int add_user_rules(struct ignore_level *level,
			  git_repository *repository)
{
	git_config *config = NULL;
	git_buf found = {0};
	int error = 0;

	if (git_repository_config_snapshot(&config, repository)) {
		level->matches_any = true;
	} else if (git_config_get_path(&found, config, "core.excludesfile") ==
		   0) {
		level->matches_any = *found.ptr != '/' && *found.ptr;
		error = add_file(level, found.ptr);
	} else if (git_libgit2_opts(GIT_OPT_GET_SEARCH_PATH,
				    GIT_CONFIG_LEVEL_XDG, &found) == 0) {
		char *rest = found.ptr;
		char *dir;

		while (!error && (dir = strsep(&rest, ":"))) {
			error = add_file_in(level, dir, strlen(dir), "/ignore");
		}
	}
	git_buf_dispose(&found);
	git_config_free(config);
	return error;
}

static int add_repository_rules(struct ignore_level *level,
				git_repository *repository)
{
	git_buf info = {0};
	int error = 0;

	if (git_repository_item_path(&info, repository,
				     GIT_REPOSITORY_ITEM_INFO)) {
		level->matches_any = true;
	} else {
		error = add_file_in(level, info.ptr, strlen(info.ptr),
				    "/exclude");
	}
	git_buf_dispose(&info);
	return error;
}

/* Adds the level of the directory that names->dir holds now. */
static struct ignore_level *push(struct ignore_names *names)
{
	struct ignore_level *level;

	if (names->n == names->capacity) {
		size_t capacity = names->capacity ? names->capacity * 2 : 8;
		struct ignore_level *levels =
			reallocarray(names->levels, capacity, sizeof(*levels));

		if (!levels) {
			return NULL;
		}
		names->levels = levels;
		names->capacity = capacity;
	}
	level = &names->levels[names->n++];
	*level = (struct ignore_level){.dir_len = names->dir.len};
	return level;
}

static int push_dir(struct ignore_names *names)
{
	struct ignore_level *level = push(names);
	AUTO_BUF path = BUF_INIT;
	int error;

	if (!level) {
		return -ENOMEM;
	}
	buf_adds(&path, names->workdir);
	buf_add(&path, names->dir.data, names->dir.len);
	buf_adds(&path, ".gitignore");
	error = buf_error(&path);
	error = error ? error : add_file(level, path.data);
	level->matches_any |= error != 0;
	return error;
}

void ignore_names_init(struct ignore_names *names, git_repository *repository)
{
	struct ignore_level *level = push(names);
	int error = level ? add_user_rules(level, repository) : -ENOMEM;

	error = error ? error : add_repository_rules(level, repository);
	names->workdir = git_repository_workdir(repository);
	if (!error && names->workdir) {
		error = push_dir(names);
	}
	if (error) {
		names->workdir = NULL;
	}
}

static void pop(struct ignore_names *names)
{
	names_release(&names->levels[--names->n].rules);
}

/* Makes the levels those of the directories of `path`, whose parent's name has
 * `parent_len` bytes. */
static int go_to(struct ignore_names *names, const char *path,
		 size_t parent_len)
{
	size_t known;
	int error = 0;

	for (;;) {
		known = names->levels[names->n - 1].dir_len;
		if (known <= parent_len &&
		    strncmp(names->dir.data ? names->dir.data : "", path,
			    known) == 0) {
			break;
		}
		pop(names);
	}
	buf_clear(&names->dir);
	buf_add(&names->dir, path, known);
	while (!error && known < parent_len) {
		size_t len = strcspn(path + known, "/") + 1;

		buf_add(&names->dir, path + known, len);
		known += len;
		error = buf_error(&names->dir);
		error = error ? error : push_dir(names);
	}
	return error;
}

static bool level_may_match(const struct ignore_level *level, const char *name)
{
	for (size_t i = 0; i < level->rules.n; i++) {
		const char *rule = level->rules.items[i];

		/* core.ignoreCase may be set; and folding makes a negated
		 * bracket match less. */
		if (fnmatch(rule, name, 0) != FNM_NOMATCH ||
		    fnmatch(rule, name, FNM_CASEFOLD) != FNM_NOMATCH) {
			return true;
		}
	}
	return level->matches_any;
}

static bool is_ascii(const char *name)
{
	while ((signed char)*name > 0) {
		name++;
	}
	return *name == '\0';
}

bool ignore_names_may_match(struct ignore_names *names, const char *path)
{
	AUTO_BUF name = BUF_INIT;
	size_t len = strlen(path);
	size_t parent_len;

	if (!names->workdir) {
		return true;
	}
	len -= len > 0 && path[len - 1] == '/';
	parent_len = len;
	while (parent_len > 0 && path[parent_len - 1] != '/') {
		parent_len--;
	}
	buf_add(&name, path + parent_len, len - parent_len);
	/* git matches bytes; fnmatch characters. */
	if (buf_error(&name) || go_to(names, path, parent_len) ||
	    !is_ascii(name.data)) {
		return true;
	}
	for (size_t i = 0; i < names->n; i++) {
		if (level_may_match(&names->levels[i], name.data)) {
			return true;
		}
	}
	return false;
}

void ignore_names_release(struct ignore_names *names)
{
	while (names->n > 0) {
		pop(names);
	}
	free(names->levels);
	buf_release(&names->dir);
	*names = (struct ignore_names)IGNORE_NAMES_INIT;
}
