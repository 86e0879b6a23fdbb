#include "replay.h"

#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "journal_words.h"
#include "path.h"

static int compare_facts(const void *a, const void *b)
{
	const struct fact *left = a;
	const struct fact *right = b;

	return strcmp(left->path, right->path);
}

static void free_fact(void *fact)
{
	free(((struct fact *)fact)->path);
	free(fact);
}

static struct fact *find(const struct replay *replay, const char *path)
{
	const struct fact key = {.path = (char *)(uintptr_t)path};
	struct fact *const *found =
		tfind(&key, (void *const *)&replay->facts, compare_facts);

	return found ? *found : NULL;
}

/* Takes the fact, in place of one that is there. 0, or -ENOMEM, and then it is
 * freed. */
static int put_fact(struct replay *replay, struct fact *fact)
{
	struct fact **at = tsearch(fact, &replay->facts, compare_facts);
	struct fact *before = at ? *at : NULL;

	if (!at) {
		free_fact(fact);
		return -ENOMEM;
	}
	if (before != fact) {
		*at = fact;
		free_fact(before);
	}
	return 0;
}

/* The fact of the path, made where there is none. */
static struct fact *need(struct replay *replay, const char *path)
{
	struct fact *fact = find(replay, path);

	if (fact) {
		return fact;
	}
	fact = calloc(1, sizeof(*fact));
	if (!fact) {
		return NULL;
	}
	fact->path = strdup(path);
	fact->state = FACT_MAYBE;
	fact->size_bytes = -1;
	fact->mode = -1;
	if (!fact->path) {
		free(fact);
		return NULL;
	}
	return put_fact(replay, fact) ? NULL : fact;
}

static int set(struct replay *replay, const char *path, enum fact_state state,
	       const struct journal_record *record)
{
	struct fact *fact = need(replay, path);

	if (!fact) {
		return -ENOMEM;
	}
	if (fact->state == FACT_GONE || state != FACT_THERE) {
		fact->size_bytes = -1;
		fact->mode = -1;
	}
	fact->state = state;
	fact->sequence = record->sequence;
	return 0;
}

/* ------------------------------------------------------------------ subtrees
 */

struct subtree {
	const char *top;
	struct fact **facts;
	size_t n;
	size_t capacity;
	int error;
};

static void add_if_beneath(const void *node, VISIT visit, void *data)
{
	struct fact *fact = *(struct fact *const *)node;
	struct subtree *subtree = data;
	struct fact **grown;

	if ((visit != postorder && visit != leaf) ||
	    !path_is_within(fact->path, subtree->top)) {
		return;
	}
	if (subtree->n == subtree->capacity) {
		subtree->capacity = subtree->capacity * 2 + 16;
		grown = reallocarray(subtree->facts, subtree->capacity,
				     sizeof(*grown));
		if (!grown) {
			subtree->capacity = subtree->n;
			subtree->error = -ENOMEM;
			return;
		}
		subtree->facts = grown;
	}
	subtree->facts[subtree->n++] = fact;
}

/* Takes the facts at and beneath `top` out; they are then the subtree's. */
static int take_out(struct replay *replay, const char *top,
		    struct subtree *subtree)
{
	*subtree = (struct subtree){.top = top};
	twalk_r(replay->facts, add_if_beneath, subtree);
	for (size_t i = 0; i < subtree->n; i++) {
		tdelete(subtree->facts[i], &replay->facts, compare_facts);
	}
	return subtree->error;
}

static void release_subtree(struct subtree *subtree)
{
	for (size_t i = 0; i < subtree->n; i++) {
		free_fact(subtree->facts[i]);
	}
	free(subtree->facts);
}

/* Puts them back, beneath another top. */
static int put_beneath(struct replay *replay, struct subtree *subtree,
		       const char *top)
{
	size_t from = strlen(subtree->top);

	while (subtree->n) {
		struct fact *fact = subtree->facts[subtree->n - 1];
		char *path;

		if (asprintf(&path, "%s%s", top, fact->path + from) < 0) {
			return -ENOMEM;
		}
		free(fact->path);
		fact->path = path;
		subtree->n--;
		if (put_fact(replay, fact)) {
			return -ENOMEM;
		}
	}
	return 0;
}

static int move(struct replay *replay, const struct journal_record *record)
{
	AUTO(release_subtree) struct subtree from = {0};
	AUTO(release_subtree) struct subtree to = {0};
	int error = take_out(replay, record->path, &from);

	error = error ? error : take_out(replay, record->path2, &to);
	error = error ? error : put_beneath(replay, &from, record->path2);
	if (record->op == JOURNAL_EXCHANGE) {
		error = error ? error : put_beneath(replay, &to, record->path);
		error = error ? error
			      : set(replay, record->path, FACT_THERE, record);
	} else {
		error = error ? error
			      : set(replay, record->path, FACT_GONE, record);
	}
	return error ? error : set(replay, record->path2, FACT_THERE, record);
}

/* ------------------------------------------------------------------- changes
 */

/* What isn't known of a change may have touched both paths, and all beneath. */
static int take_unsure(struct replay *replay,
		       const struct journal_record *record)
{
	bool second = record->path2 && journal_op_has_second_path(record->op);
	int error = set(replay, record->path, FACT_MAYBE, record);

	return error || !second
		       ? error
		       : set(replay, record->path2, FACT_MAYBE, record);
}

/* It failed: all is as it was, but that there may be a copy in the upper. */
static int take_failed(struct replay *replay,
		       const struct journal_record *record)
{
	bool second = record->path2 && journal_op_has_second_path(record->op);

	return need(replay, record->path) &&
			       (!second || need(replay, record->path2))
		       ? 0
		       : -ENOMEM;
}

static int take_data(struct replay *replay, const struct journal_record *record)
{
	struct fact *fact;
	bool resizes = record->op == JOURNAL_WRITE ||
		       record->op == JOURNAL_TRUNCATE ||
		       record->op == JOURNAL_FALLOCATE ||
		       record->op == JOURNAL_COPY_RANGE ||
		       record->op == JOURNAL_CREATE;
	int error = set(replay, record->path, FACT_THERE, record);

	if (error) {
		return error;
	}
	fact = find(replay, record->path);
	if (record->mode_after >= 0) {
		fact->mode = record->mode_after;
	}
	if (resizes || record->size_after >= 0) {
		fact->size_bytes = record->size_after;
	}
	/* A write may clear set-user-ID; what is told of it later is newer. */
	if (resizes && record->mode_after < 0) {
		fact->mode = -1;
	}
	return 0;
}

static int take_done(struct replay *replay, const struct journal_record *record)
{
	switch (record->op) {
	case JOURNAL_UNLINK:
	case JOURNAL_RMDIR:
		return set(replay, record->path, FACT_GONE, record);
	case JOURNAL_RENAME:
	case JOURNAL_EXCHANGE:
		return record->path2 ? move(replay, record) : 0;
	case JOURNAL_LINK:
		return record->path2
			       ? set(replay, record->path2, FACT_THERE, record)
			       : 0;
	case JOURNAL_CREATE:
	case JOURNAL_MKDIR:
	case JOURNAL_MKNOD:
	case JOURNAL_SYMLINK:
	case JOURNAL_WRITE:
	case JOURNAL_TRUNCATE:
	case JOURNAL_FALLOCATE:
	case JOURNAL_COPY_RANGE:
	case JOURNAL_CHMOD:
	case JOURNAL_CHOWN:
	case JOURNAL_UTIMENS:
	case JOURNAL_SETXATTR:
	case JOURNAL_REMOVEXATTR:
		return record->nameless ? 0 : take_data(replay, record);
	case JOURNAL_TMPFILE:
	case JOURNAL_READ:
	case JOURNAL_REFUSED:
		break;
	}
	return 0;
}

int replay_take(struct replay *replay, const struct journal_record *record)
{
	if (strcmp(record->view, replay->view) != 0 ||
	    record->op == JOURNAL_READ || record->op == JOURNAL_REFUSED) {
		return 0;
	}
	replay->n_records++;
	if (record->state != JOURNAL_DONE || record->more) {
		return record->nameless ? 0 : take_unsure(replay, record);
	}
	return record->result ? take_failed(replay, record)
			      : take_done(replay, record);
}

const struct fact *replay_find(const struct replay *replay, const char *path)
{
	return find(replay, path);
}

struct each {
	void (*fn)(const struct fact *fact, void *data);
	void *data;
};

static void give(const void *node, VISIT visit, void *data)
{
	const struct each *each = data;

	if (visit == postorder || visit == leaf) {
		each->fn(*(struct fact *const *)node, each->data);
	}
}

void replay_each(const struct replay *replay,
		 void (*fn)(const struct fact *fact, void *data), void *data)
{
	struct each each = {fn, data};

	twalk_r(replay->facts, give, &each);
}

void replay_release(struct replay *replay)
{
	tdestroy(replay->facts, free_fact);
	replay->facts = NULL;
}
