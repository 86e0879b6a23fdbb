#include "subdirs.h"

#include <string.h>

#include "sys.h"
#include "whiteout.h"

/* What a disk that doesn't count says, and we where we can't. */
#define LINKS_UNKNOWN 1

bool subdirs_are_merged(const struct node *dir)
{
	return dir->lowers && (node_in_upper(dir) || dir->lowers->count > 1);
}

static uint64_t add_state(uint64_t state, const struct stat *st)
{
	const uint64_t parts[] = {
		(uint64_t)st->st_ino,         (uint64_t)st->st_nlink,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec,
	};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		state = state * 31 + parts[i];
	}
	return state;
}

/* Tells two states of the lowers apart. *ret_lowest is the count of the
 * lowest, 0 where somebody has removed it. */
static int look_at_lowers(struct node *dir, uint64_t *ret_state,
			  nlink_t *ret_lowest)
{
	uint64_t state = 0;

	*ret_lowest = 0;
	for (unsigned int i = 0; i < dir->lowers->count; i++) {
		AUTO_FDREF *ref = NULL;
		struct stat st = {0};
		int error = view_dir_fd(dir, VIEW_SLOT_LOWER(i), &ref);

		error = error ? error : sys_fstat(ref->fd, &st);
		if (error && error != -ENOENT) {
			return error;
		}
		state = add_state(state, &st);
		*ret_lowest = st.st_nlink;
	}
	*ret_state = state;
	return 0;
}

/* Whether the slots from `slot` on show a directory as `name`. */
static int is_dir_from(struct node *dir, unsigned int slot, const char *name)
{
	for (; slot <= dir->lowers->count; slot++) {
		AUTO_FDREF *ref = NULL;
		struct stat st;
		int error = view_dir_fd(dir, slot, &ref);

		error = error ? error
			      : whiteout_stat(ref->fd, name,
					      dir->view->has_foreign_marks,
					      &st);
		if (!error) {
			return S_ISDIR(st.st_mode);
		}
		if (error != -ENOENT) {
			return error;
		}
	}
	return 0;
}

/* The entry's part in the sum: what it is, less what it hides. */
static int weigh_entry(struct node *dir, unsigned int slot, DIR *stream,
		       const struct dirent *entry, long *sum)
{
	const char *name = entry->d_name;
	const char *marked = dir->view->has_foreign_marks
				     ? whiteout_marked_name(name)
				     : NULL;
	bool is_dir = entry->d_type == DT_DIR;
	struct stat st;
	int below;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		return 0;
	}
	if (marked) {
		/* A mark beside the name itself says nothing. */
		if (!*marked || !sys_fstatat(dirfd(stream), marked, &st)) {
			return 0;
		}
		name = marked;
		is_dir = false;
	} else if (entry->d_type == DT_UNKNOWN) {
		int error = sys_fstatat(dirfd(stream), name, &st);

		if (error) {
			return error == -ENOENT ? 0 : error;
		}
		is_dir = S_ISDIR(st.st_mode);
	}
	below = is_dir_from(dir, slot + 1, name);
	*sum += is_dir - (below > 0);
	return below < 0 ? below : 0;
}

static int weigh_entries(struct node *dir, unsigned int slot, DIR *stream,
			 long *sum)
{
	for (;;) {
		struct dirent *entry;
		int error = sys_readdir(stream, &entry);

		if (error || !entry) {
			return error;
		}
		error = weigh_entry(dir, slot, stream, entry, sum);
		if (error) {
			return error;
		}
	}
}

static int weigh_slot(struct node *dir, unsigned int slot, long *sum)
{
	AUTO_FDREF *ref = NULL;
	DIR *stream;
	int error = view_dir_fd(dir, slot, &ref);

	error = error ? error : sys_opendirat_quietly(ref->fd, "", &stream);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	error = weigh_entries(dir, slot, stream, sum);
	closedir(stream);
	return error;
}

/* Adds to the lowest layer's count what those above make of it; 0 where they
 * can't be read. */
static nlink_t count_links(struct node *dir, nlink_t lowest)
{
	long sum = (long)lowest;
	unsigned int slot =
		node_in_upper(dir) ? VIEW_SLOT_UPPER : VIEW_SLOT_LOWER(0);

	for (; slot < VIEW_SLOT_LOWER(dir->lowers->count - 1); slot++) {
		if (weigh_slot(dir, slot, &sum)) {
			return 0;
		}
	}
	/* Less only if the base changed in between. */
	return sum < 2 ? 0 : (nlink_t)sum;
}

nlink_t subdirs_links(struct node *dir)
{
	struct lowers *lowers = dir->lowers;
	nlink_t lowest;
	uint64_t state;

	if (dir->view->fs->static_links ||
	    look_at_lowers(dir, &state, &lowest) || lowest < 2) {
		return LINKS_UNKNOWN;
	}
	if (!lowers->links || lowers->links_state != state) {
		lowers->links = count_links(dir, lowest);
		lowers->links_state = state;
	}
	return lowers->links ? lowers->links : LINKS_UNKNOWN;
}

void subdirs_changed(struct node *dir, int difference)
{
	struct lowers *lowers = dir->lowers;

	if (lowers && lowers->links) {
		lowers->links += (nlink_t)difference;
	}
}
