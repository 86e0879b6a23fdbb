#include "past.h"

#include <stdio.h>
#include <string.h>

#include "journal_words.h"

/* A name that became another. */
struct move {
	uint64_t sequence;
	bool both_ways;
	char *from; /* owned, with `to` behind it */
	char *to;
};

struct moves {
	struct move *items;
	size_t n;
	size_t capacity;
	const char *view;
};

static void release_moves(struct moves *moves)
{
	for (size_t i = 0; i < moves->n; i++) {
		free(moves->items[i].from);
	}
	free(moves->items);
}

static int add_move(struct moves *moves, const struct journal_record *record)
{
	size_t from_size = strlen(record->path) + 1;
	size_t to_size = strlen(record->path2) + 1;
	char *both;

	if (moves->n == moves->capacity) {
		size_t capacity = moves->capacity ? moves->capacity * 2 : 64;
		struct move *items =
			reallocarray(moves->items, capacity, sizeof(*items));

		if (!items) {
			return -ENOMEM;
		}
		moves->items = items;
		moves->capacity = capacity;
	}
	both = malloc(from_size + to_size);
	if (!both) {
		return -ENOMEM;
	}
	memcpy(both, record->path, from_size);
	memcpy(both + from_size, record->path2, to_size);
	moves->items[moves->n++] = (struct move){
		.sequence = record->sequence,
		.both_ways = record->op == JOURNAL_EXCHANGE,
		.from = both,
		.to = both + from_size,
	};
	return 0;
}

static int take_move(void *data, const struct journal_record *record)
{
	struct moves *moves = data;

	if (record->result || !record->path2 ||
	    record->op == JOURNAL_COPY_RANGE ||
	    !journal_op_has_second_path(record->op) ||
	    strcmp(record->view, moves->view) != 0) {
		return 0;
	}
	return add_move(moves, record);
}

/* What is behind `top` in `path`: "" or "/..."; NULL if it is elsewhere. */
static const char *rest_beneath(const char *path, const char *top)
{
	size_t len = strlen(top);

	return strncmp(path, top, len) == 0 && (!path[len] || path[len] == '/')
		       ? path + len
		       : NULL;
}

static int add_name(struct past *past, char *path, uint64_t first,
		    uint64_t last)
{
	struct past_name *names =
		reallocarray(past->names, past->n + 1, sizeof(*names));

	if (!path || !names) {
		free(path);
		past->names = names ? names : past->names;
		return -ENOMEM;
	}
	past->names = names;
	past->names[past->n++] = (struct past_name){path, first, last};
	return 0;
}

/* What `path` was before the move; NULL: the same. Caller frees. */
static int name_before(const struct move *move, const char *path,
		       char **ret_before)
{
	const char *from = move->from;
	const char *rest = rest_beneath(path, move->to);

	if (!rest && move->both_ways) {
		from = move->to;
		rest = rest_beneath(path, move->from);
	}
	if (!rest) {
		*ret_before = NULL;
		return 0;
	}
	return asprintf(ret_before, "%s%s", from, rest) < 0 ? -ENOMEM : 0;
}

int past_follow(struct past *past, struct history *history, const char *view,
		const char *path)
{
	AUTO(release_moves) struct moves moves = {.view = view};
	int error = history_read(history, 0, take_move, &moves);

	past->view = view;
	error = error ? error : add_name(past, strdup(path), 0, UINT64_MAX);
	for (size_t i = moves.n; i-- > 0 && !error;) {
		struct past_name *newest = &past->names[past->n - 1];
		char *before = NULL;

		error = name_before(&moves.items[i], newest->path, &before);
		if (!error && before) {
			newest->first = moves.items[i].sequence;
			error = add_name(past, before, 0,
					 moves.items[i].sequence - 1);
		}
	}
	return error;
}

bool past_has(const struct past *past, const struct journal_record *record)
{
	bool moves = journal_op_has_second_path(record->op) && record->path2;

	/* What has no name any more is not what has this one. */
	if (strcmp(record->view, past->view) != 0 || record->nameless) {
		return false;
	}
	for (size_t i = 0; i < past->n; i++) {
		const struct past_name *name = &past->names[i];

		if (record->sequence < name->first ||
		    record->sequence > name->last) {
			continue;
		}
		if (strcmp(record->path, name->path) == 0 ||
		    (moves && strcmp(record->path2, name->path) == 0)) {
			return true;
		}
		/* A directory above it moved. */
		return (record->op == JOURNAL_RENAME ||
			record->op == JOURNAL_EXCHANGE) &&
		       moves && !record->result &&
		       (rest_beneath(name->path, record->path2) ||
			rest_beneath(name->path, record->path));
	}
	return false;
}

void past_release(struct past *past)
{
	for (size_t i = 0; i < past->n; i++) {
		free(past->names[i].path);
	}
	free(past->names);
	*past = (struct past){0};
}
