#include "git_commits.h"

#include <git2.h>
#include <string.h>
#include <zlib.h>

#include "content.h"

#define OBJECTS_DIR "objects/"

/* A commit's text; a packed one is no bigger. */
#define MAX_COMMIT_BYTES (1024UL * 1024)

/* "commit 1048576", NUL */
#define MAX_HEADER_BYTES 32

/* Commits whose parents are still to be looked at. */
struct stack {
	struct story_commit **items;
	size_t n;
};

/* Unpacks up to `max` bytes; fewer where the data end or are broken. */
static size_t unpack(const struct buf *packed, char *out, size_t max)
{
	z_stream stream = {
		.next_in = (unsigned char *)packed->data,
		.avail_in = (unsigned int)packed->len,
		.next_out = (unsigned char *)out,
		.avail_out = (unsigned int)max,
	};

	if (inflateInit(&stream) != Z_OK) {
		return 0;
	}
	(void)inflate(&stream, Z_SYNC_FLUSH);
	inflateEnd(&stream);
	return max - stream.avail_out;
}

/* The text's size and where it begins, or false for another object. */
static bool parse_header(const char *header, size_t len, size_t *ret_start,
			 size_t *ret_size)
{
	const char *nul = memchr(header, '\0', len);
	char *end;

	if (!nul || strncmp(header, "commit ", strlen("commit ")) != 0) {
		return false;
	}
	*ret_size = strtoul(header + strlen("commit "), &end, 10);
	*ret_start = (size_t)(nul - header) + 1;
	return end == nul && *ret_size <= MAX_COMMIT_BYTES;
}

/* "objects/ab/cdef..." is object abcdef... */
static bool id_of(const char *name, char ret_id[STORY_ID_BYTES])
{
	size_t len;

	if (strncmp(name, OBJECTS_DIR, strlen(OBJECTS_DIR)) != 0) {
		return false;
	}
	name += strlen(OBJECTS_DIR);
	len = strlen(name);
	if ((len != 41 && len != 65) || name[2] != '/' ||
	    strspn(name + 3, "0123456789abcdef") != len - 3) {
		return false;
	}
	snprintf(ret_id, STORY_ID_BYTES, "%.2s%s", name, name + 3);
	return true;
}

/* libgit2 has no public way to hash by SHA-256: such ids are believed. */
static bool is_genuine(const char *id, const char *text, size_t size)
{
	char real[GIT_OID_HEXSZ + 1];
	git_oid oid;

	if (strlen(id) != GIT_OID_HEXSZ) {
		return true;
	}
	if (git_odb_hash(&oid, text, size, GIT_OBJECT_COMMIT)) {
		return false;
	}
	git_oid_tostr(real, sizeof(real), &oid);
	return strcmp(real, id) == 0;
}

/* "Name <mail> 1700000000 +0100" */
static int64_t split_person(const char *line, size_t len, char **ret_name)
{
	const char *end = memrchr(line, '>', len);

	if (!end) {
		*ret_name = strndup(line, len);
		return 0;
	}
	free(*ret_name);
	*ret_name = strndup(line, (size_t)(end - line) + 1);
	return strtoll(end + 1, NULL, 10);
}

static void parse_line(struct story_commit *commit, struct buf *parents,
		       const char *line, size_t len)
{
	AUTO_FREE char *committer = NULL;

	if (len > 7 && strncmp(line, "parent ", 7) == 0) {
		buf_add(parents, line + 7, len - 7);
		buf_addc(parents, '\n');
	} else if (len > 7 && strncmp(line, "author ", 7) == 0) {
		(void)split_person(line + 7, len - 7, &commit->author);
	} else if (len > 10 && strncmp(line, "committer ", 10) == 0) {
		commit->time = split_person(line + 10, len - 10, &committer);
	}
}

/* `text` ends in NUL. Headers, an empty line, the message. */
static int parse_commit(struct story_commit *commit, const char *text)
{
	AUTO_BUF parents = BUF_INIT;

	while (*text && *text != '\n') {
		size_t len = strcspn(text, "\n");

		parse_line(commit, &parents, text, len);
		text += len + (text[len] == '\n');
	}
	text += strspn(text, "\n");
	commit->subject = strndup(text, strcspn(text, "\n"));
	if (!commit->author) {
		commit->author = strdup("");
	}
	commit->parents = buf_detach(&parents);
	return commit->subject && commit->author && commit->parents ? 0
								    : -ENOMEM;
}

static void release_commit(struct story_commit *commit)
{
	free(commit->subject);
	free(commit->author);
	free(commit->parents);
}

/* 1 for a commit, 0 for anything else, or -ENOMEM. */
static int read_commit(struct story_commit *commit, const struct sides *sides,
		       const struct change *change)
{
	AUTO_FD fd = content_open_new(sides, change);
	AUTO_BUF packed = BUF_INIT;
	AUTO_FREE char *text = NULL;
	char header[MAX_HEADER_BYTES];
	size_t start;
	size_t size;
	int error;

	if (fd < 0 || content_load(fd, "", KIND_FILE, &packed) ||
	    !parse_header(header, unpack(&packed, header, sizeof(header)),
			  &start, &size)) {
		return 0;
	}
	text = calloc(1, start + size + 1);
	if (!text) {
		return -ENOMEM;
	}
	if (unpack(&packed, text, start + size) != start + size ||
	    !is_genuine(commit->id, text + start, size)) {
		return 0;
	}
	error = parse_commit(commit, text + start);
	if (error) {
		release_commit(commit);
	}
	return error ? error : 1;
}

static int compare_times(const void *a, const void *b)
{
	const struct story_commit *left = a;
	const struct story_commit *right = b;

	return left->time != right->time ? (left->time < right->time ? 1 : -1)
					 : strcmp(left->id, right->id);
}

int git_commits_read(struct story *story, const struct sides *sides,
		     const struct change *items, size_t n)
{
	size_t skip = strlen(story->dir) + 1;

	story->commits = calloc(n + 1, sizeof(*story->commits));
	if (!story->commits) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++) {
		const struct change *change = &items[i];
		struct story_commit commit = {.state = STORY_DROPPED};
		int is_commit;

		if (change->letter != CHANGE_ADDED ||
		    change->new_side.kind != KIND_FILE ||
		    change->new_side.id.size_bytes > MAX_COMMIT_BYTES ||
		    !id_of(change->path + skip, commit.id)) {
			continue;
		}
		is_commit = read_commit(&commit, sides, change);
		if (is_commit < 0) {
			return is_commit;
		}
		if (is_commit) {
			story->commits[story->n_commits++] = commit;
		}
	}
	/* The queue is sorted by path, so the commits are by id. */
	return 0;
}

void git_commits_sort(struct story *story)
{
	if (story->n_commits > 0) {
		qsort(story->commits, story->n_commits, sizeof(*story->commits),
		      compare_times);
	}
}

static int compare_id(const void *key, const void *element)
{
	const struct story_commit *commit = element;

	return strcmp(key, commit->id);
}

struct story_commit *git_commits_find(const struct story *story, const char *id)
{
	return story->n_commits > 0
		       ? bsearch(id, story->commits, story->n_commits,
				 sizeof(*story->commits), compare_id)
		       : NULL;
}

static void push(struct stack *stack, struct story_commit *commit,
		 enum story_commit_state state)
{
	if (commit && commit->state == STORY_DROPPED) {
		commit->state = state;
		stack->items[stack->n++] = commit;
	}
}

int git_commits_mark(struct story *story, const char *id,
		     enum story_commit_state state)
{
	/* Each commit is pushed at most once. */
	AUTO_FREE struct story_commit **items =
		calloc(story->n_commits + 1, sizeof(struct story_commit *));
	struct stack stack = {.items = items};

	if (!items) {
		return -ENOMEM;
	}
	push(&stack, git_commits_find(story, id), state);
	while (stack.n > 0) {
		const char *at = stack.items[--stack.n]->parents;

		while (*at) {
			char parent[STORY_ID_BYTES];
			size_t len = strcspn(at, "\n");

			snprintf(parent, sizeof(parent), "%.*s", (int)len, at);
			push(&stack, git_commits_find(story, parent), state);
			at += len + (at[len] == '\n');
		}
	}
	return 0;
}
