#include "remove.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "mountinfo.h"
#include "path.h"
#include "sys.h"

/* Each level holds one descriptor and one stack frame; what lies deeper is
 * moved up. Real trees are rarely deeper than 20. */
#define DEPTH_MAX 64

struct removal {
	int top_fd;
	dev_t dev;
	unsigned int moved; /* makes names for what is moved up */
	unsigned long done; /* entries removed or moved: progress */
	int error;          /* the first one of this pass */
};

static void note_error(struct removal *removal, int error)
{
	if (!removal->error) {
		removal->error = error;
	}
}

int remove_check_no_mounts(const char *path)
{
	struct mountinfo info;
	int error = mountinfo_read(&info);

	if (error) {
		return error;
	}
	for (size_t i = 0; !error && i < info.count; i++) {
		const char *at = info.entries[i].mount_at;

		/* `path` itself may be a mount point: it is not removed. */
		if (strcmp(at, path) != 0 && path_is_within(at, path)) {
			error = -EBUSY;
		}
	}
	mountinfo_release(&info);
	return error;
}

/* A directory without its owner's rwx can be neither read nor emptied, and
 * one without w not even moved. A failure shows in the next step. */
static void open_up(int parent_fd, const char *name)
{
	struct stat st;

	if (sys_fstatat(parent_fd, name, &st) == 0 && S_ISDIR(st.st_mode) &&
	    (st.st_mode & 0700) != 0700) {
		(void)!sys_fchmodat(parent_fd, name, 0700);
	}
}

/* Moves a directory to the top, where the next pass finds it. */
static int move_up(struct removal *removal, int parent_fd, const char *name)
{
	char temp[32];
	int error;

	do {
		snprintf(temp, sizeof(temp), ".removed-%u", removal->moved++);
		error = sys_renameat2(parent_fd, name, removal->top_fd, temp,
				      RENAME_NOREPLACE);
	} while (error == -EEXIST);
	return error;
}

static void remove_entry(struct removal *removal, int parent_fd,
			 const char *name, int depth);

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Removes the entries of `parent_fd`/`name` but for `keep`. 0 or -errno for the
 * folder itself; failures of entries are noted. */
static int empty_folder(struct removal *removal, int parent_fd,
			const char *name, const char *keep, int depth)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int error = sys_opendirat(parent_fd, name, &dir);

	if (error) {
		return error;
	}
	error = sys_fstat(dirfd(dir), &st);
	if (!error && st.st_dev != removal->dev) {
		error = -EXDEV;
	}
	while (!error) {
		error = sys_readdir(dir, &entry);
		if (error || !entry) {
			break;
		}
		if (!is_dot(entry->d_name) &&
		    (!keep || strcmp(entry->d_name, keep) != 0)) {
			remove_entry(removal, dirfd(dir), entry->d_name, depth);
		}
	}
	closedir(dir);
	return error;
}

static int remove_folder(struct removal *removal, int parent_fd,
			 const char *name, int depth)
{
	int error;

	open_up(parent_fd, name);
	if (depth == DEPTH_MAX) {
		return move_up(removal, parent_fd, name);
	}
	error = empty_folder(removal, parent_fd, name, NULL, depth + 1);
	return error ? error : sys_unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static void remove_entry(struct removal *removal, int parent_fd,
			 const char *name, int depth)
{
	int error = sys_unlinkat(parent_fd, name, 0);

	if (error == -EISDIR) {
		error = remove_folder(removal, parent_fd, name, depth);
	}
	if (error) {
		note_error(removal, error);
	} else {
		removal->done++;
	}
}

int remove_content(int folder_fd, const char *path, const char *keep)
{
	struct removal removal = {.top_fd = folder_fd};
	unsigned long before;
	struct stat st;
	int error = remove_check_no_mounts(path);

	error = error ? error : sys_fstat(folder_fd, &st);
	if (error) {
		return error;
	}
	removal.dev = st.st_dev;
	/* Again while it helps: what was moved up is removed by the next pass,
	 * and readdir may miss entries while others vanish. */
	do {
		before = removal.done;
		removal.error = 0;
		error = empty_folder(&removal, folder_fd, "", keep, 0);
	} while (!error && removal.done > before);
	return error ? error : removal.error;
}
