#include "remove.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "mountinfo.h"
#include "path.h"
#include "sys.h"

/* Each level holds one descriptor and one stack frame; what lies deeper is
 * moved up. Real trees are rarely deeper than 20. */
#define DEPTH_MAX 64

/* What is gone by then is not worth threads. */
#define ALONE_MAX 1000

#define THREADS_MAX 4

/* Inodes with numbers as near as this share blocks of the inode table (ext4)
 * or a chunk (xfs): one thread takes them all. Most often they also share a
 * directory, so that threads seldom wait for each other's. */
#define INODES_TOGETHER 64

struct removal {
	int top_fd;
	dev_t dev;
	const char *keep;   /* the entry of the top to leave, or NULL */
	unsigned int moved; /* makes names for what is moved up */
	unsigned long done; /* entries removed or moved: progress */
	unsigned long stop; /* when so many are done */
	int error;          /* the first one of this pass */
	/* The part of the files that this thread takes, of so many. Each
	 * thread goes through all directories; the last one to leave a
	 * directory finds it empty and removes it. One part: all. */
	unsigned int part;
	unsigned int parts;
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

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static bool is_kept(const struct removal *removal, const char *name, int depth)
{
	return is_dot(name) || (depth == 0 && removal->keep &&
				strcmp(name, removal->keep) == 0);
}

static void remove_entry(struct removal *removal, int parent_fd,
			 const struct dirent *entry, int depth);

/* Removes the entries of `parent_fd`/`name`. 0 or -errno for the folder itself;
 * failures of entries are noted. */
static int empty_folder(struct removal *removal, int parent_fd,
			const char *name, int depth)
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
	while (!error && removal->done < removal->stop) {
		error = sys_readdir(dir, &entry);
		if (error || !entry) {
			break;
		}
		if (!is_kept(removal, entry->d_name, depth)) {
			remove_entry(removal, dirfd(dir), entry, depth);
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
	error = empty_folder(removal, parent_fd, name, depth + 1);
	return error ? error : sys_unlinkat(parent_fd, name, AT_REMOVEDIR);
}

static bool is_anothers(const struct removal *removal,
			const struct dirent *entry)
{
	return removal->parts > 1 && entry->d_type != DT_DIR &&
	       entry->d_ino / INODES_TOGETHER % removal->parts != removal->part;
}

static void remove_entry(struct removal *removal, int parent_fd,
			 const struct dirent *entry, int depth)
{
	int error;

	if (is_anothers(removal, entry)) {
		return;
	}
	error = sys_unlinkat(parent_fd, entry->d_name, 0);
	if (error == -EISDIR) {
		error = remove_folder(removal, parent_fd, entry->d_name, depth);
	}
	if (error) {
		note_error(removal, error);
	} else {
		removal->done++;
	}
}

static void *remove_part(void *data)
{
	struct removal *removal = data;

	/* What fails here fails again in the pass that comes after. */
	(void)!empty_folder(removal, removal->top_fd, "", 0);
	return NULL;
}

static unsigned int count_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0) {
		return 1;
	}
	return (unsigned int)CPU_COUNT(&set);
}

/* Removes what is left with several threads, or with as many as there are to
 * be had: what is not removed is the next pass's. */
static void remove_parts(const struct removal *whole)
{
	unsigned int parts = count_processors();
	struct removal removals[THREADS_MAX];
	pthread_t threads[THREADS_MAX];
	bool started[THREADS_MAX] = {false};

	if (parts > THREADS_MAX) {
		parts = THREADS_MAX;
	}
	if (parts < 2) {
		return;
	}
	for (unsigned int i = 0; i < parts; i++) {
		removals[i] = *whole;
		removals[i].part = i;
		removals[i].parts = parts;
		started[i] = pthread_create(&threads[i], NULL, remove_part,
					    &removals[i]) == 0;
	}
	for (unsigned int i = 0; i < parts; i++) {
		if (started[i]) {
			pthread_join(threads[i], NULL);
		}
	}
}

int remove_content(int folder_fd, const char *path, const char *keep)
{
	struct removal removal = {
		.top_fd = folder_fd, .keep = keep, .stop = ALONE_MAX};
	unsigned long before;
	struct stat st;
	int error = remove_check_no_mounts(path);

	error = error ? error : sys_fstat(folder_fd, &st);
	if (error) {
		return error;
	}
	removal.dev = st.st_dev;
	error = empty_folder(&removal, folder_fd, "", 0);
	removal.stop = ULONG_MAX;
	if (!error && removal.done >= ALONE_MAX) {
		remove_parts(&removal);
	}
	/* Again while it helps: what was moved up is removed by the next pass,
	 * and readdir may miss entries while others vanish. */
	do {
		before = removal.done;
		removal.error = 0;
		error = empty_folder(&removal, folder_fd, "", 0);
	} while (!error && removal.done > before);
	return error ? error : removal.error;
}
