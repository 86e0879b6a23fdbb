#include "conflicts.h"

#include <fcntl.h>
#include <string.h>

#include "sys.h"
#include "text.h"

static void tell(struct conflicts *conflicts, const char *reason,
		 const char *path)
{
	AUTO_BUF line = BUF_INIT;

	conflicts->n++;
	text_add_path(&line, "", path, KIND_NONE);
	if (conflicts->out) {
		fprintf(conflicts->out, "conflict: %s: %s\n", reason,
			line.data);
	}
}

bool conflicts_is_mergeable(const struct change *change)
{
	return change->is_moved && change->letter == CHANGE_MODIFIED &&
	       change->new_side.kind == KIND_FILE;
}

/* Whether the plan makes the directory `path`. */
static bool is_made(const struct diff *diff, const char *path)
{
	const struct change *change = change_list_find(&diff->list, path);

	return change && change->new_side.kind == KIND_DIR;
}

static int check_parent(struct conflicts *conflicts, const struct diff *diff,
			const struct change *change)
{
	const char *slash = strrchr(change->path, '/');
	AUTO_FREE char *parent = NULL;
	AUTO_FD fd = -1;

	if (!slash || change->new_side.kind == KIND_NONE) {
		return 0;
	}
	parent = strndup(change->path, (size_t)(slash - change->path));
	if (!parent) {
		return -ENOMEM;
	}
	if (is_made(diff, parent)) {
		return 0;
	}
	fd = layer_open_path(&diff->sides.base, parent, O_PATH | O_DIRECTORY);
	if (fd < 0) {
		tell(conflicts, "its directory is not there, nor selected",
		     change->path);
	}
	return 0;
}

static int check_backup(struct conflicts *conflicts, const struct diff *diff,
			const struct change *change)
{
	AUTO_FREE char *backup = NULL;
	AUTO_FD fd = -1;

	if (!conflicts->backup_suffix || change->old_side.kind == KIND_NONE ||
	    change->old_side.kind == KIND_DIR) {
		return 0;
	}
	if (asprintf(&backup, "%s%s", change_old_path(change),
		     conflicts->backup_suffix) < 0) {
		backup = NULL;
		return -ENOMEM;
	}
	fd = layer_open_path(&diff->sides.base, backup, O_PATH | O_NOFOLLOW);
	if (fd >= 0 || change_list_find(&diff->list, backup)) {
		tell(conflicts, "its backup exists", change->path);
	}
	return 0;
}

int conflicts_find(struct conflicts *conflicts, const struct diff *diff)
{
	for (size_t i = 0; i < diff->list.n; i++) {
		const struct change *change = &diff->list.items[i];
		int error;

		if (change->is_moved &&
		    !(conflicts->three_way && conflicts_is_mergeable(change))) {
			tell(conflicts, "base moved", change->path);
		}
		error = check_parent(conflicts, diff, change);
		error = error ? error : check_backup(conflicts, diff, change);
		if (error) {
			return error;
		}
	}
	return 0;
}
