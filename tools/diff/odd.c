#include "odd.h"

#include <string.h>

#include "content.h"
#include "odd_table.h"
#include "package_scripts.h"
#include "text.h"
#include "visible.h"

#define FIRST_CAPACITY 16

#define EXEC_BITS (S_IXUSR | S_IXGRP | S_IXOTH)

struct finder {
	struct odd_list *list;
	const struct diff *diff;
	struct trouble *trouble;
	const char *top; /* where the view's paths begin, for links */
};

static const char *const names[ODD_N_KINDS] = {
	[ODD_BASE_MOVED] = "base-moved",
	[ODD_SETUID] = "set-user-id",
	[ODD_RUNS] = "runs-on-its-own",
	[ODD_LINK_OUTSIDE] = "link-outside",
	[ODD_SPECIAL] = "special-file",
	[ODD_EXECUTABLE] = "executable",
	[ODD_HUGE] = "huge",
};

/* For "and 3 more ..." */
static const char *const rest_names[ODD_N_KINDS] = {
	[ODD_BASE_MOVED] = "whose base changed meanwhile",
	[ODD_SETUID] = "with set-user-ID or set-group-ID",
	[ODD_RUNS] = "that run on their own",
	[ODD_LINK_OUTSIDE] = "that point outside",
	[ODD_SPECIAL] = "that are special files",
	[ODD_EXECUTABLE] = "that can be executed now",
	[ODD_HUGE] = "that are huge",
};

const char *odd_kind_name(enum odd_kind kind)
{
	return names[kind];
}

static int grow(struct odd_list *list)
{
	size_t capacity = list->capacity ? 2 * list->capacity : FIRST_CAPACITY;
	struct odd *items = reallocarray(list->items, capacity, sizeof(*items));

	if (!items) {
		return -ENOMEM;
	}
	list->items = items;
	list->capacity = capacity;
	return 0;
}

static int add(struct finder *finder, enum odd_kind kind,
	       const struct change *change, const char *why)
{
	struct odd_list *list = finder->list;
	struct odd odd = {.kind = kind};

	if (list->n == list->capacity && grow(list)) {
		return -ENOMEM;
	}
	odd.path = strdup(change->path);
	odd.why = strdup(why);
	list->items[list->n++] = odd;
	return odd.path && odd.why ? 0 : -ENOMEM;
}

/* Bits that the new side has and the old one, if it was a file, had not. */
static mode_t gained_bits(const struct change *change)
{
	mode_t before = change->old_side.kind == change->new_side.kind
				? change->old_side.mode
				: 0;

	return change->new_side.mode & ~before;
}

static int find_modes(struct finder *finder, const struct change *change)
{
	mode_t gained = gained_bits(change);
	bool is_new = change->old_side.kind != KIND_FILE;
	int error = 0;

	if (change->new_side.kind != KIND_FILE) {
		return 0;
	}
	if (gained & (S_ISUID | S_ISGID)) {
		error = add(finder, ODD_SETUID, change,
			    gained & S_ISUID ? "set-user-ID" : "set-group-ID");
	}
	if (!error && change->noise == NOISE_NONE && gained & EXEC_BITS &&
	    (is_new || !(change->old_side.mode & EXEC_BITS))) {
		error = add(finder, ODD_EXECUTABLE, change,
			    is_new ? "new, and executable"
				   : "became executable");
	}
	return error;
}

static int find_special(struct finder *finder, const struct change *change)
{
	switch (change->new_side.kind) {
	case KIND_FIFO:
		return add(finder, ODD_SPECIAL, change, "a FIFO");
	case KIND_SOCKET:
		return add(finder, ODD_SPECIAL, change, "a socket");
	case KIND_BLOCK:
		return add(finder, ODD_SPECIAL, change, "a block device");
	case KIND_CHAR:
		return add(finder, ODD_SPECIAL, change, "a character device");
	case KIND_NONE:
	case KIND_FILE:
	case KIND_DIR:
	case KIND_LINK:
		break;
	}
	return 0;
}

static int find_huge(struct finder *finder, const struct change *change)
{
	AUTO_BUF why = BUF_INIT;
	uint64_t size = change->new_side.id.size_bytes;

	if (change->new_side.kind != KIND_FILE || size < ODD_HUGE_BYTES ||
	    (change->old_side.kind == KIND_FILE &&
	     change->old_side.id.size_bytes >= size)) {
		return 0;
	}
	text_add_size(&why, size);
	return add(finder, ODD_HUGE, change, why.data);
}

static int find_running(struct finder *finder, const struct change *change)
{
	AUTO_BUF why = BUF_INIT;
	const char *known = odd_table_why(change->path);
	int error = 0;

	if (change->new_side.kind != KIND_FILE &&
	    change->new_side.kind != KIND_LINK) {
		return 0;
	}
	if (!known && package_scripts_is_name(change->path)) {
		error = package_scripts_compare(&why, &finder->diff->sides,
						change);
		known = why.len > 0 ? why.data : NULL;
	}
	return error ? error : known ? add(finder, ODD_RUNS, change, known) : 0;
}

/* How far a relative link's target climbs above the view's top: lexically, as
 * somebody reads it, not as the links on its way have it. */
static bool climbs_out(const char *path, const char *target)
{
	long depth = 0;

	for (const char *at = path; *at; at++) {
		depth += *at == '/';
	}
	while (*target) {
		size_t len = strcspn(target, "/");

		if (len == 2 && strncmp(target, "..", 2) == 0) {
			depth--;
		} else if (len > 1 || (len == 1 && *target != '.')) {
			depth++;
		}
		if (depth < 0) {
			return true;
		}
		target += len + (target[len] == '/');
	}
	return false;
}

static bool is_outside(const char *top, const char *path, const char *target)
{
	size_t len = strlen(top);

	if (*target != '/') {
		return climbs_out(path, target);
	}
	return strncmp(target, top, len) != 0 ||
	       (target[len] != '\0' && target[len] != '/') ||
	       climbs_out("", target + len);
}

static int find_link(struct finder *finder, const struct change *change)
{
	AUTO_BUF target = BUF_INIT;
	AUTO_BUF quoted = BUF_INIT;
	AUTO_BUF why = BUF_INIT;
	AUTO_FD fd = -1;
	int error;

	if (change->new_side.kind != KIND_LINK) {
		return 0;
	}
	fd = content_open_new(&finder->diff->sides, change);
	error = fd < 0 ? fd : content_load(fd, "", KIND_LINK, &target);
	if (error) {
		trouble_error(finder->trouble, "read", change->path, error);
		return error == -ENOMEM ? error : 0;
	}
	if (!is_outside(finder->top, change->path, target.data)) {
		return 0;
	}
	buf_add_quoted(&quoted, target.data);
	buf_adds(&why, "points outside, at ");
	visible_add(&why, quoted.data, quoted.len);
	return add(finder, ODD_LINK_OUTSIDE, change, why.data);
}

static int find_in(struct finder *finder, const struct change *change)
{
	int error = 0;

	if (change->is_moved) {
		error = add(finder, ODD_BASE_MOVED, change,
			    "the base changed after the view took it over");
	}
	if (change->letter == CHANGE_DELETED) {
		return error;
	}
	error = error ? error : find_modes(finder, change);
	error = error ? error : find_running(finder, change);
	error = error ? error : find_link(finder, change);
	error = error ? error : find_special(finder, change);
	return error ? error : find_huge(finder, change);
}

static int compare(const void *a, const void *b)
{
	const struct odd *left = a;
	const struct odd *right = b;

	return left->kind != right->kind ? (int)left->kind - (int)right->kind
					 : strcmp(left->path, right->path);
}

int odd_find(struct odd_list *list, const struct diff *diff,
	     struct trouble *trouble)
{
	const struct manifest_view *view = diff->sides.view;
	struct finder finder = {
		.list = list,
		.diff = diff,
		.trouble = trouble,
		.top = view->mount_at ? view->mount_at : view->base,
	};

	for (size_t i = 0; i < diff->list.n; i++) {
		int error = find_in(&finder, &diff->list.items[i]);

		if (error) {
			return error;
		}
	}
	if (list->n > 0) {
		qsort(list->items, list->n, sizeof(*list->items), compare);
	}
	return 0;
}

static void add_line(struct buf *buf, const char *indent, const char *prefix,
		     const struct odd *odd)
{
	AUTO_BUF path = BUF_INIT;

	text_add_path(&path, prefix, odd->path, KIND_FILE);
	buf_addf(buf, "%s! ", indent);
	visible_add(buf, path.data, path.len);
	buf_addf(buf, ": %s\n", odd->why);
}

void odd_add_lines(struct buf *buf, const struct odd_list *list,
		   const char *indent, const char *prefix, size_t max_each)
{
	size_t counts[ODD_N_KINDS] = {0};

	for (size_t i = 0; i < list->n; i++) {
		const struct odd *odd = &list->items[i];
		bool is_last = i + 1 == list->n || odd[1].kind != odd->kind;

		if (++counts[odd->kind] <= max_each) {
			add_line(buf, indent, prefix, odd);
		}
		if (is_last && counts[odd->kind] > max_each) {
			buf_addf(buf, "%s! and %zu more %s\n", indent,
				 counts[odd->kind] - max_each,
				 rest_names[odd->kind]);
		}
	}
}

void odd_list_release(struct odd_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		free(list->items[i].path);
		free(list->items[i].why);
	}
	free(list->items);
	*list = (struct odd_list){0};
}
