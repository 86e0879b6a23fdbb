#include "fold.h"

#include <string.h>

#include "text.h"
#include "visible.h"

static const char *const names[NOISE_N] = {
	[NOISE_NONE] = "shown",
	[NOISE_GIT] = "below .git",
	[NOISE_IGNORED] = "ignored",
	[NOISE_GENERATED] = "generated",
};

const char *fold_name(enum change_noise noise)
{
	return names[noise];
}

/* The path of the group that `path` belongs to is its first `len` bytes. */
static size_t group_length(const char *path)
{
	size_t len = strcspn(path, "/");

	return len + (path[len] == '/');
}

static bool is_in(const struct fold_group *group, const struct change *change,
		  size_t len)
{
	return group->noise == change->noise && strlen(group->path) == len &&
	       strncmp(group->path, change->path, len) == 0;
}

/* Neighbours share groups, but for noises that alternate: a few steps back
 * find it. */
static struct fold_group *find_group(struct fold *fold,
				     const struct change *change, size_t len)
{
	for (size_t i = fold->n; i > 0 && i + NOISE_N > fold->n; i--) {
		if (is_in(&fold->groups[i - 1], change, len)) {
			return &fold->groups[i - 1];
		}
	}
	return NULL;
}

static int add_to_group(struct fold *fold, const struct change *change)
{
	size_t len = group_length(change->path);
	struct fold_group *group = find_group(fold, change, len);

	if (!group) {
		struct fold_group *groups = reallocarray(
			fold->groups, fold->n + 1, sizeof(*groups));

		if (!groups) {
			return -ENOMEM;
		}
		fold->groups = groups;
		group = &groups[fold->n];
		*group = (struct fold_group){
			.path = strndup(change->path, len),
			.noise = change->noise,
		};
		if (!group->path) {
			return -ENOMEM;
		}
		fold->n++;
	}
	change_count(&group->counts, change);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct fold_group *left = a;
	const struct fold_group *right = b;

	if (left->noise != right->noise) {
		return (int)left->noise - (int)right->noise;
	}
	if (left->counts.new_bytes != right->counts.new_bytes) {
		return left->counts.new_bytes < right->counts.new_bytes ? 1
									: -1;
	}
	return strcmp(left->path, right->path);
}

int fold_collect(struct fold *fold, const struct change_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];
		int error = change->noise ? add_to_group(fold, change) : 0;

		if (error) {
			return error;
		}
		change_count(&fold->totals[change->noise], change);
	}
	if (fold->n > 0) {
		qsort(fold->groups, fold->n, sizeof(*fold->groups), compare);
	}
	return 0;
}

static void add_counts(struct buf *buf, const struct change_counts *counts)
{
	text_add_counts(buf, counts);
	buf_adds(buf, " (");
	text_add_size(buf, counts->new_bytes);
	buf_addc(buf, ')');
}

static void add_group(struct buf *buf, const struct fold_group *group)
{
	AUTO_BUF path = BUF_INIT;

	buf_add_quoted(&path, group->path);
	visible_add(buf, path.data, path.len);
	buf_addc(buf, ' ');
	add_counts(buf, &group->counts);
}

static void add_line(struct buf *buf, const struct fold *fold,
		     enum change_noise noise, size_t max)
{
	const char *separator = ": ";
	size_t count = 0;

	for (size_t i = 0; i < fold->n; i++) {
		if (fold->groups[i].noise == noise && ++count <= max) {
			buf_adds(buf, separator);
			add_group(buf, &fold->groups[i]);
			separator = ", ";
		}
	}
	if (count > max) {
		buf_addf(buf, ", and %zu more", count - max);
	}
	buf_addc(buf, '\n');
}

void fold_add_lines(struct buf *buf, const struct fold *fold,
		    const char *indent, size_t max)
{
	for (enum change_noise noise = NOISE_IGNORED; noise < NOISE_N;
	     noise++) {
		if (fold->totals[noise].total > 0) {
			buf_addf(buf, "%s%s ", indent, names[noise]);
			add_counts(buf, &fold->totals[noise]);
			add_line(buf, fold, noise, max);
		}
	}
}

void fold_release(struct fold *fold)
{
	for (size_t i = 0; i < fold->n; i++) {
		free(fold->groups[i].path);
	}
	free(fold->groups);
	*fold = (struct fold){0};
}
