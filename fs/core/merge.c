#include "merge.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "path.h"
#include "sys.h"
#include "whiteout.h"

static struct lowers *lowers_new(unsigned int room)
{
	return calloc(1, sizeof(struct lowers) + room * sizeof(struct lower));
}

struct lowers *merge_root(const struct view *view)
{
	struct lowers *lowers = lowers_new(view->lower_count);

	for (unsigned int i = 0; lowers && i < view->lower_count; i++) {
		lowers->at[i].layer = i;
		lowers->at[i].path = strdup("");
		lowers->count++;
		if (!lowers->at[i].path) {
			lowers_free(lowers);
			return NULL;
		}
	}
	return lowers;
}

/* Never 0, which means "not known". */
static unsigned long identity_of(const struct stat *st)
{
	return ((unsigned long)st->st_dev * 31 + st->st_ino) | 1UL << 63;
}

int merge_add(struct lowers **lowers, unsigned int room,
	      const struct lower *from, const char *name, const struct stat *st)
{
	struct lower *to;

	if (!*lowers) {
		*lowers = lowers_new(room);
	}
	if (!*lowers) {
		return -ENOMEM;
	}
	to = &(*lowers)->at[(*lowers)->count];
	to->layer = from->layer;
	atomic_init(&to->identity, identity_of(st));
	to->path = path_join(from->path, name);
	if (!to->path) {
		return -ENOMEM;
	}
	(*lowers)->count++;
	return 0;
}

/* Looks at `name` in one lower. 1: the layers below count, too; 0: they
 * don't. Adds to *lowers what is a directory. */
static int step_lower(const struct view *view, const struct lowers *from,
		      unsigned int i, const char *name, struct lowers **lowers,
		      struct stat *ret_st)
{
	const struct lower *lower = &from->at[i];
	AUTO_FD fd = layer_open_path(&view->lowers[lower->layer], lower->path,
				     O_PATH | O_DIRECTORY);
	struct stat st;
	int error =
		fd < 0 ? fd
		       : whiteout_stat(fd, name, view->has_foreign_marks, &st);

	if (error) {
		return error == -ENOENT ? 1 : error;
	}
	if (!S_ISDIR(st.st_mode)) {
		return 0;
	}
	if (!*lowers) {
		*ret_st = st;
	}
	error = merge_add(lowers, from->count - i, lower, name, &st);
	error = error ? error
		      : whiteout_hides_below(fd, name, view->has_foreign_marks);
	return error < 0 ? error : !error;
}

/* Goes from the directories *lowers to their child `name`; NULL where there is
 * none. */
static int step(const struct view *view, const char *name,
		struct lowers **lowers, struct stat *ret_st)
{
	struct lowers *from = *lowers;
	struct lowers *next = NULL;
	int more = 1;

	for (unsigned int i = 0; i < from->count && more > 0; i++) {
		more = step_lower(view, from, i, name, &next, ret_st);
	}
	if (more < 0) {
		lowers_free(next);
		return more;
	}
	lowers_free(from);
	*lowers = next;
	return 0;
}

int merge_resolve(const struct view *view, const char *path,
		  struct lowers **ret_lowers, struct stat *ret_st)
{
	struct lowers *lowers = merge_root(view);
	int error = lowers ? 0 : -ENOMEM;

	while (!error && lowers && *path) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];

		if (len > NAME_MAX) {
			error = -ENAMETOOLONG;
			break;
		}
		memcpy(name, path, len);
		name[len] = '\0';
		error = step(view, name, &lowers, ret_st);
		path += len + (path[len] == '/');
	}
	if (error) {
		lowers_free(lowers);
		return error;
	}
	*ret_lowers = lowers;
	return 0;
}

bool merge_note_identities(struct lowers *lowers, const struct lowers *found)
{
	bool replaced = false;

	if (!lowers || !found) {
		return false;
	}
	for (unsigned int i = 0; i < lowers->count && i < found->count; i++) {
		/* relaxed: each is looked at by itself */
		unsigned long now = atomic_load_explicit(
			&((struct lowers *)found)->at[i].identity,
			memory_order_relaxed);
		unsigned long before = atomic_exchange_explicit(
			&lowers->at[i].identity, now, memory_order_relaxed);

		replaced = replaced || (before && before != now);
	}
	return replaced;
}
