#include "git_story.h"

#include <git2.h>
#include <string.h>
#include <strings.h>

#include "blob.h"
#include "content.h"
#include "git_commits.h"
#include "git_refs.h"
#include "libgit.h"
#include "path.h"

#define GIT_DIR    ".git"
#define SAMPLE_END ".sample"
#define MAX_LOG    (16UL * 1024 * 1024)
#define MAX_CONFIG (1024UL * 1024)

/* Where libgit2 looks for subjects of commits that the base has. */
struct base_repo {
	git_repository *repo; /* NULL: none */
};

/* Files whose presence says that something is going on. */
static const struct {
	const char *name;
	const char *what;
} unfinished[] = {
	{"MERGE_HEAD", "a merge"},
	{"CHERRY_PICK_HEAD", "a cherry-pick"},
	{"REVERT_HEAD", "a revert"},
	{"BISECT_LOG", "a bisection"},
	{"rebase-merge/head-name", "a rebase"},
	{"rebase-apply/head-name", "a rebase"},
};

/* The length of the path of the .git that `path` is below; 0 for none. */
static size_t git_dir_length(const char *path)
{
	const char *at = path;

	while (at) {
		size_t len = strcspn(at, "/");

		if (len == strlen(GIT_DIR) && at[len] == '/' &&
		    strncasecmp(at, GIT_DIR, len) == 0) {
			return (size_t)(at - path) + len;
		}
		at = at[len] == '/' ? at + len + 1 : NULL;
	}
	return 0;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text);

	return len >= strlen(end) && strcmp(text + len - strlen(end), end) == 0;
}

/* Either side of a change, up to `max` bytes; nothing for what is no file. */
static void load(struct buf *buf, const struct sides *sides,
		 const struct change *change, bool new_side, size_t max)
{
	const struct change_side *side =
		new_side ? &change->new_side : &change->old_side;
	AUTO_FD fd = -1;

	if (side->kind != KIND_FILE || side->id.size_bytes > max) {
		return;
	}
	fd = new_side ? content_open_new(sides, change)
		      : content_open_old(sides, change);
	if (fd < 0 || content_load(fd, "", KIND_FILE, buf)) {
		buf_clear(buf);
	}
}

/* The index begins with "DIRC", a version, and how many entries it has. */
static int64_t index_entries(const struct sides *sides,
			     const struct change *change, bool new_side)
{
	AUTO_BUF data = BUF_INIT;
	const unsigned char *bytes;

	load(&data, sides, change, new_side, CONTENT_MAX_LOAD_BYTES);
	if (data.len < 12 || memcmp(data.data, "DIRC", 4) != 0) {
		return -1;
	}
	bytes = (const unsigned char *)data.data;
	return (int64_t)bytes[8] << 24 | bytes[9] << 16 | bytes[10] << 8 |
	       bytes[11];
}

static size_t count_lines(const struct buf *text)
{
	size_t count = 0;

	for (size_t i = 0; i < text->len; i++) {
		count += text->data[i] == '\n';
	}
	return count;
}

/* "OLD NEW person time zone\tWIP on main: ..."; newest last. */
static int tell_stash_line(struct story *story, char *line)
{
	const char *id = strchr(line, ' ');
	const char *subject = strchr(line, '\t');
	char value[STORY_ID_BYTES];

	if (!id || !subject) {
		return 0;
	}
	snprintf(value, sizeof(value), "%.*s", (int)strcspn(id + 1, " "),
		 id + 1);
	if (!git_commits_find(story, value)) {
		return 0; /* the base has it */
	}
	story->stashed[story->n_stashed] = strdup(subject + 1);
	if (!story->stashed[story->n_stashed]) {
		return -ENOMEM;
	}
	story->n_stashed++;
	return git_commits_mark(story, value, STORY_STASHED);
}

static int tell_stash(struct story *story, const struct sides *sides,
		      const struct change *change)
{
	AUTO_BUF before = BUF_INIT;
	AUTO_BUF after = BUF_INIT;
	char *line;
	char *rest;
	int error = 0;

	load(&before, sides, change, false, MAX_LOG);
	load(&after, sides, change, true, MAX_LOG);
	story->stash_before = count_lines(&before);
	story->stash_after = count_lines(&after);
	story->stashed =
		calloc(story->stash_after + 1, sizeof(*story->stashed));
	if (!story->stashed) {
		return -ENOMEM;
	}
	rest = after.data;
	while (after.len > 0 && !error && (line = strsep(&rest, "\n"))) {
		error = tell_stash_line(story, line);
	}
	return error;
}

static int add_config_line(const git_diff_delta *delta,
			   const git_diff_hunk *hunk, const git_diff_line *line,
			   void *payload)
{
	struct buf *config = payload;

	(void)delta;
	(void)hunk;
	if (line->origin == GIT_DIFF_LINE_ADDITION ||
	    line->origin == GIT_DIFF_LINE_DELETION) {
		buf_addc(config, line->origin);
		buf_add(config, line->content, line->content_len);
		if (config->data[config->len - 1] != '\n') {
			buf_addc(config, '\n');
		}
	}
	return 0;
}

static int tell_config(struct story *story, const struct sides *sides,
		       const struct change *change)
{
	AUTO_BLOB old_blob = BLOB_INIT;
	AUTO_BLOB new_blob = BLOB_INIT;
	git_patch *patch;
	int error;

	story->config_changed = true;
	load(&old_blob.data, sides, change, false, MAX_CONFIG);
	load(&new_blob.data, sides, change, true, MAX_CONFIG);
	old_blob.mode = change->old_side.kind == KIND_FILE;
	new_blob.mode = change->new_side.kind == KIND_FILE;
	error = blob_diff(&patch, &old_blob, &new_blob, false);
	if (error) {
		return error;
	}
	git_patch_print(patch, add_config_line, &story->config);
	git_patch_free(patch);
	return buf_error(&story->config);
}

static void note_unfinished(struct story *story, const struct change *change,
			    const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(unfinished); i++) {
		if (change->letter == CHANGE_ADDED &&
		    strcmp(name, unfinished[i].name) == 0) {
			story->unfinished = unfinished[i].what;
		}
	}
}

/* What one change below .git means; `name` is its path there. */
static int tell_change(struct story *story, const struct sides *sides,
		       const struct change *change, const char *name)
{
	int error = 0;

	if (strcmp(name, "logs/refs/stash") == 0) {
		error = tell_stash(story, sides, change);
	} else if (strcmp(name, "config") == 0) {
		error = tell_config(story, sides, change);
	} else if (strcmp(name, "index") == 0) {
		story->index_changed = true;
		story->index_before = index_entries(sides, change, false);
		story->index_after = index_entries(sides, change, true);
	} else if (begins_with(name, "hooks/")) {
		if (!ends_with(name, SAMPLE_END)) {
			change_count(&story->hooks, change);
		}
	} else if (begins_with(name, "objects/")) {
		change_count(&story->objects, change);
		if (ends_with(name, ".pack")) {
			change_count(&story->packs, change);
		}
	}
	change_count(&story->all, change);
	note_unfinished(story, change, name);
	return error;
}

static char *subject_of(const struct story *story, const struct base_repo *base,
			const char *id)
{
	const struct story_commit *made = git_commits_find(story, id);
	git_commit *commit;
	char *subject = NULL;
	git_oid oid;

	if (made) {
		return strdup(made->subject);
	}
	if (base->repo && git_oid_fromstr(&oid, id) == 0 &&
	    git_commit_lookup(&commit, base->repo, &oid) == 0) {
		const char *summary = git_commit_summary(commit);

		subject = strdup(summary ? summary : "");
		git_commit_free(commit);
	}
	return subject;
}

static void open_base_repo(struct base_repo *base, const struct sides *sides,
			   const char *dir)
{
	AUTO_FREE char *path = path_join(sides->view->base, dir);

	git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0);
	if (!path ||
	    git_repository_open_ext(&base->repo, path,
				    GIT_REPOSITORY_OPEN_NO_SEARCH |
					    GIT_REPOSITORY_OPEN_NO_DOTGIT,
				    NULL)) {
		base->repo = NULL;
	}
}

/* Refs first, so that what they reach is told as such and the rest of the
 * stash's commits as the stash's. */
static int tell(struct story *story, const struct diff *diff,
		const struct change *items, size_t n)
{
	size_t skip = strlen(story->dir) + 1;
	struct base_repo base = {0};
	int error = git_commits_read(story, &diff->sides, items, n);

	error = error ? error : git_refs_compare(story, &diff->sides, items, n);
	open_base_repo(&base, &diff->sides, story->dir);
	for (size_t i = 0; i < story->n_refs && !error; i++) {
		struct story_ref *ref = &story->refs[i];

		error = git_commits_mark(story, ref->new_value, STORY_REACHED);
		ref->new_subject = subject_of(story, &base, ref->new_value);
	}
	git_repository_free(base.repo);
	for (size_t i = 0; i < n && !error; i++) {
		error = tell_change(story, &diff->sides, &items[i],
				    items[i].path + skip);
	}
	git_commits_sort(story);
	return error;
}

/* Whether HEAD came or went: without it, there is no repository. */
static void tell_existence(struct story *story, const struct change *items,
			   size_t n)
{
	size_t skip = strlen(story->dir) + 1;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(items[i].path + skip, "HEAD") == 0) {
			story->is_new = items[i].letter == CHANGE_ADDED;
			story->is_gone = items[i].letter == CHANGE_DELETED;
		}
	}
}

static int add_story(struct story_list *list, const struct diff *diff,
		     const struct change *items, size_t n, size_t dir_length)
{
	struct story *stories =
		reallocarray(list->items, list->n + 1, sizeof(*stories));
	struct story *story;

	if (!stories) {
		return -ENOMEM;
	}
	libgit_need();
	list->items = stories;
	story = &stories[list->n++];
	*story = (struct story){
		.dir = strndup(items[0].path, dir_length),
		.config = BUF_INIT,
		.index_before = -1,
		.index_after = -1,
	};
	if (!story->dir) {
		return -ENOMEM;
	}
	tell_existence(story, items, n);
	return tell(story, diff, items, n);
}

/* The changes below one .git follow each other, since all begin with its path
 * and a slash. */
int git_story_tell(struct story_list *list, const struct diff *diff)
{
	const struct change *items = diff->list.items;
	size_t next;

	for (size_t i = 0; i < diff->list.n; i = next) {
		size_t length = items[i].noise == NOISE_GIT
					? git_dir_length(items[i].path)
					: 0;
		int error;

		next = i + 1;
		if (length == 0) {
			continue;
		}
		while (next < diff->list.n &&
		       strncmp(items[next].path, items[i].path, length + 1) ==
			       0) {
			next++;
		}
		error = add_story(list, diff, &items[i], next - i, length);
		if (error) {
			return error;
		}
	}
	return 0;
}

static void release_story(struct story *story)
{
	for (size_t i = 0; i < story->n_commits; i++) {
		free(story->commits[i].subject);
		free(story->commits[i].author);
		free(story->commits[i].parents);
	}
	for (size_t i = 0; i < story->n_refs; i++) {
		free(story->refs[i].name);
		free(story->refs[i].old_value);
		free(story->refs[i].new_value);
		free(story->refs[i].new_subject);
	}
	for (size_t i = 0; i < story->n_stashed; i++) {
		free(story->stashed[i]);
	}
	free(story->stashed);
	free(story->commits);
	free(story->refs);
	free(story->dir);
	if (story->config.data) {
		buf_release(&story->config);
	}
}

void git_story_list_release(struct story_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		release_story(&list->items[i]);
	}
	free(list->items);
	*list = (struct story_list){0};
}
