#include "execution.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <time.h>

#include "manifest.h"
#include "path.h"
#include "remove.h"
#include "sys.h"

#define ID_SHAPE       "dddddddd-dddddd-aaaa" /* d: digit, a: letter */
#define ID_BYTES       sizeof(ID_SHAPE)
#define ID_LETTERS     26L
#define ID_TRIES_MAX   100
#define NS_PER_SECOND  1000000000L
#define DEFAULT_BELOW  "legato/sandbox"
#define ASIDE_PREFIX   ".removing-"
#define FOLDER_MODE    0700
#define LOCK_FILE_MODE 0600

int execution_default_scratch(char **ret_path)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path;
	int len;

	/* The XDG specification: a relative path is invalid, to be ignored. */
	if (state && state[0] == '/') {
		len = asprintf(&path, "%s/" DEFAULT_BELOW, state);
	} else if (home && home[0] == '/') {
		len = asprintf(&path, "%s/.local/state/" DEFAULT_BELOW, home);
	} else {
		return -ENOENT;
	}
	if (len < 0) {
		return -ENOMEM;
	}
	*ret_path = path;
	return 0;
}

/* Whether `name` has the shape of an id; other names are not ours. */
static bool id_valid(const char *name)
{
	size_t i;

	for (i = 0; ID_SHAPE[i] && name[i]; i++) {
		char shape = ID_SHAPE[i];
		bool fits = shape == 'd'   ? name[i] >= '0' && name[i] <= '9'
			    : shape == 'a' ? name[i] >= 'a' && name[i] <= 'z'
					   : name[i] == shape;

		if (!fits) {
			return false;
		}
	}
	return !ID_SHAPE[i] && !name[i];
}

/* Two letters for the fraction of the second, so that ids made in one second
 * sort too, and two by chance. */
static int make_id(char id[ID_BYTES])
{
	const long step = NS_PER_SECOND / (ID_LETTERS * ID_LETTERS) + 1;
	struct timespec now;
	struct tm utc;
	unsigned char chance[2];
	long part;
	size_t len;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	if (getrandom(chance, sizeof(chance), 0) != sizeof(chance)) {
		return -errno;
	}
	part = now.tv_nsec / step;
	len = strftime(id, ID_BYTES, "%Y%m%d-%H%M%S", &utc);
	snprintf(id + len, ID_BYTES - len, "-%c%c%c%c",
		 (char)('a' + part / ID_LETTERS),
		 (char)('a' + part % ID_LETTERS),
		 (char)('a' + chance[0] % ID_LETTERS),
		 (char)('a' + chance[1] % ID_LETTERS));
	return 0;
}

/* mkdir -p, for the owner only. */
static int make_folders(const char *path)
{
	AUTO_FREE char *copy = strdup(path);
	int error = 0;

	if (!copy) {
		return -ENOMEM;
	}
	if (!*copy) {
		return -ENOENT;
	}
	for (char *at = copy + 1; !error; at++) {
		char c = *at;

		if (c != '/' && c != '\0') {
			continue;
		}
		*at = '\0';
		error = sys_mkdirat(AT_FDCWD, copy, FOLDER_MODE);
		/* EROFS and EACCES too are said of folders that are there. */
		if (error && sys_faccessat(AT_FDCWD, copy, F_OK) == 0) {
			error = 0;
		}
		*at = c;
		if (c == '\0') {
			break;
		}
	}
	return error;
}

/* The canonical path of an open folder; caller frees. */
static int path_of_fd(int fd, char **ret_path)
{
	char link[32];
	char path[PATH_MAX];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = sys_readlinkat(AT_FDCWD, link, path, sizeof(path));
	if (len < 0) {
		return (int)len;
	}
	if (len == sizeof(path)) {
		return -ENAMETOOLONG;
	}
	path[len] = '\0';
	*ret_path = strdup(path);
	return *ret_path ? 0 : -ENOMEM;
}

static int open_folder(const char *path)
{
	return sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
}

/* Fills in an execution for the existing folder `id`. */
static int open_id(struct execution *execution, int scratch_fd, const char *id)
{
	AUTO_FREE char *scratch = NULL;
	int error;

	execution->dir_fd = sys_openat(scratch_fd, id,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (execution->dir_fd < 0) {
		return execution->dir_fd;
	}
	error = path_of_fd(scratch_fd, &scratch);
	if (error) {
		return error;
	}
	execution->id = strdup(id);
	execution->path = path_join(scratch, id);
	return execution->id && execution->path ? 0 : -ENOMEM;
}

int execution_lock(struct execution *execution)
{
	AUTO_FD fd = sys_openat(execution->dir_fd, EXECUTION_LOCK_FILE,
				O_RDWR | O_CREAT | O_NOFOLLOW, LOCK_FILE_MODE);
	struct stat st;
	int error = fd < 0 ? fd : sys_flock(fd, LOCK_EX | LOCK_NB);

	error = error ? error : sys_fstat(fd, &st);
	if (error) {
		return error;
	}
	/* Another one held the lock, and removed it with the folder, between
	 * our open and flock. */
	if (st.st_nlink == 0) {
		return -ENOENT;
	}
	execution->lock_fd = TAKE_FD(fd);
	return 0;
}

static int make_content(struct execution *execution)
{
	int error = sys_mkdirat(execution->dir_fd, EXECUTION_VIEWS_DIR,
				FOLDER_MODE);

	if (error) {
		return error;
	}
	return sys_mkdirat(execution->dir_fd, EXECUTION_MOUNT_DIR, FOLDER_MODE);
}

/*
 * Makes the folder `id` and takes its lock. -EEXIST when the id is taken, or
 * when a sweep took the folder for a dead one before it was locked.
 */
static int create_id(struct execution *execution, int scratch_fd,
		     const char *id)
{
	int error = sys_mkdirat(scratch_fd, id, FOLDER_MODE);

	if (error) {
		return error;
	}
	error = open_id(execution, scratch_fd, id);
	error = error ? error : execution_lock(execution);
	if (error == -ENOENT || error == -EWOULDBLOCK) {
		return -EEXIST;
	}
	error = error ? error : make_content(execution);
	if (error && execution->lock_fd >= 0) {
		(void)!execution_remove(execution);
	} else if (error) {
		(void)!sys_unlinkat(scratch_fd, id, AT_REMOVEDIR);
	}
	return error;
}

int execution_create(struct execution *ret_execution, const char *scratch_dir)
{
	AUTO_FD scratch_fd = -1;
	int error = make_folders(scratch_dir);

	if (error) {
		return error;
	}
	scratch_fd = open_folder(scratch_dir);
	if (scratch_fd < 0) {
		return scratch_fd;
	}
	for (int i = 0; i < ID_TRIES_MAX; i++) {
		struct execution execution = EXECUTION_INIT;
		char id[ID_BYTES];

		error = make_id(id);
		error = error ? error : create_id(&execution, scratch_fd, id);
		if (!error) {
			*ret_execution = execution;
			return 0;
		}
		execution_release(&execution);
		if (error != -EEXIST) {
			break;
		}
	}
	return error;
}

/* Whether the execution `id` has the friendly name `name`. */
static bool has_name(int scratch_fd, const char *id, const char *name)
{
	AUTO_FD fd = sys_openat(scratch_fd, id,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	struct manifest manifest;
	bool same;

	if (fd < 0 || manifest_read(&manifest, fd) < 0) {
		return false;
	}
	same = manifest.name && strcmp(manifest.name, name) == 0;
	manifest_release(&manifest);
	return same;
}

static bool has_prefix(const char *id, const char *prefix)
{
	return *prefix && strncmp(id, prefix, strlen(prefix)) == 0;
}

/* The one id that `prefix` stands for. -ENOENT, -ENOTUNIQ. */
static int choose_id(int scratch_fd, char *const *ids, size_t count,
		     const char *prefix, const char **ret_id)
{
	const char *found = NULL;

	if (!prefix && count > 0) {
		*ret_id = ids[count - 1];
		return 0;
	}
	for (size_t i = 0; prefix && i < count; i++) {
		if (!has_prefix(ids[i], prefix) &&
		    !has_name(scratch_fd, ids[i], prefix)) {
			continue;
		}
		if (found) {
			return -ENOTUNIQ;
		}
		found = ids[i];
	}
	if (!found) {
		return -ENOENT;
	}
	*ret_id = found;
	return 0;
}

int execution_open(struct execution *ret_execution, const char *scratch_dir,
		   const char *prefix)
{
	struct execution execution = EXECUTION_INIT;
	AUTO_FD scratch_fd = open_folder(scratch_dir);
	const char *id = NULL;
	char **ids = NULL;
	size_t count = 0;
	int error;

	if (scratch_fd < 0) {
		return scratch_fd;
	}
	error = execution_ids(scratch_dir, &ids, &count);
	error = error ? error : choose_id(scratch_fd, ids, count, prefix, &id);
	error = error ? error : open_id(&execution, scratch_fd, id);
	execution_ids_free(ids, count);
	if (error) {
		execution_release(&execution);
		return error;
	}
	*ret_execution = execution;
	return 0;
}

bool execution_is_living(const struct execution *execution)
{
	AUTO_FD fd = -1;

	if (execution->lock_fd >= 0) {
		return true;
	}
	fd = sys_openat(execution->dir_fd, EXECUTION_LOCK_FILE,
			O_RDONLY | O_NOFOLLOW, 0);
	/* Shared: two that ask at the same time don't see each other. */
	return fd >= 0 && sys_flock(fd, LOCK_SH | LOCK_NB) == -EWOULDBLOCK;
}

static void close_fd(int *fd)
{
	auto_close_fd(fd);
	*fd = -1;
}

void execution_release(struct execution *execution)
{
	free(execution->id);
	free(execution->path);
	close_fd(&execution->dir_fd);
	close_fd(&execution->lock_fd);
	*execution = (struct execution)EXECUTION_INIT;
}

int execution_remove(struct execution *execution)
{
	int error;

	/* The lock goes last, so that nobody takes over half a folder. */
	error = remove_content(execution->dir_fd, execution->path,
			       EXECUTION_LOCK_FILE);
	if (error) {
		return error;
	}
	error = sys_unlinkat(execution->dir_fd, EXECUTION_LOCK_FILE, 0);
	if (error && error != -ENOENT) {
		return error;
	}
	return sys_unlinkat(AT_FDCWD, execution->path, AT_REMOVEDIR);
}

struct id_list {
	char **ids;
	size_t count;
	size_t capacity;
};

static int id_list_add(struct id_list *list, const char *id)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 64;
		char **ids = reallocarray(list->ids, capacity, sizeof(*ids));

		if (!ids) {
			return -ENOMEM;
		}
		list->ids = ids;
		list->capacity = capacity;
	}
	list->ids[list->count] = strdup(id);
	return list->ids[list->count++] ? 0 : -ENOMEM;
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Whether `name` is that of a folder set aside. */
static bool aside_valid(const char *name)
{
	size_t len = strlen(ASIDE_PREFIX);

	return strncmp(name, ASIDE_PREFIX, len) == 0 && id_valid(name + len);
}

static int read_ids(DIR *dir, bool (*valid)(const char *name),
		    struct id_list *list)
{
	struct dirent *entry;
	int error;

	for (;;) {
		error = sys_readdir(dir, &entry);
		if (error || !entry) {
			return error;
		}
		if (!valid(entry->d_name)) {
			continue;
		}
		error = id_list_add(list, entry->d_name);
		if (error) {
			return error;
		}
	}
}

static int list_names(const char *scratch_dir, bool (*valid)(const char *name),
		      char ***ret_ids, size_t *ret_count)
{
	struct id_list list = {0};
	AUTO_FD scratch_fd = open_folder(scratch_dir);
	DIR *dir;
	int error = scratch_fd < 0 ? scratch_fd
				   : sys_opendirat(scratch_fd, "", &dir);

	if (!error) {
		error = read_ids(dir, valid, &list);
		closedir(dir);
	}
	if (error && error != -ENOENT) {
		execution_ids_free(list.ids, list.count);
		return error;
	}
	if (list.count > 0) {
		qsort(list.ids, list.count, sizeof(*list.ids), compare_ids);
	}
	*ret_ids = list.ids;
	*ret_count = list.count;
	return 0;
}

int execution_ids(const char *scratch_dir, char ***ret_ids, size_t *ret_count)
{
	return list_names(scratch_dir, id_valid, ret_ids, ret_count);
}

int execution_ids_aside(const char *scratch_dir, char ***ret_names,
			size_t *ret_count)
{
	return list_names(scratch_dir, aside_valid, ret_names, ret_count);
}

int execution_open_aside(struct execution *ret_execution,
			 const char *scratch_dir, const char *name)
{
	struct execution execution = EXECUTION_INIT;
	AUTO_FD scratch_fd = open_folder(scratch_dir);
	int error = scratch_fd < 0 ? scratch_fd : 0;

	if (!error && !aside_valid(name)) {
		error = -EINVAL;
	}
	error = error ? error : open_id(&execution, scratch_fd, name);
	if (error) {
		execution_release(&execution);
		return error;
	}
	*ret_execution = execution;
	return 0;
}

int execution_set_aside(struct execution *execution)
{
	AUTO_FREE char *aside = NULL;
	size_t parent_len = strlen(execution->path) - strlen(execution->id);
	int error = remove_check_no_mounts(execution->path);

	if (error) {
		return error;
	}
	if (asprintf(&aside, "%.*s" ASIDE_PREFIX "%s", (int)parent_len,
		     execution->path, execution->id) < 0) {
		aside = NULL;
		return -ENOMEM;
	}
	error = sys_renameat2(AT_FDCWD, execution->path, AT_FDCWD, aside,
			      RENAME_NOREPLACE);
	if (!error) {
		free(execution->path);
		execution->path = TAKE_PTR(aside);
	}
	return error;
}

void execution_ids_free(char **ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(ids[i]);
	}
	free(ids);
}

int execution_make_view(const struct execution *execution, const char *view,
			bool with_base)
{
	static const char *const parts[] = {"upper", "work", "base"};
	AUTO_FD views_fd = sys_openat(execution->dir_fd, EXECUTION_VIEWS_DIR,
				      O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	AUTO_FD view_fd = -1;
	int error;

	if (views_fd < 0) {
		return views_fd;
	}
	if (!path_component_valid(view)) {
		return -EINVAL;
	}
	error = sys_mkdirat(views_fd, view, FOLDER_MODE);
	if (error) {
		return error;
	}
	view_fd = sys_openat(views_fd, view, O_PATH | O_DIRECTORY | O_NOFOLLOW,
			     0);
	if (view_fd < 0) {
		return view_fd;
	}
	for (size_t i = 0; !error && i < ARRAY_SIZE(parts) - !with_base; i++) {
		error = sys_mkdirat(view_fd, parts[i], FOLDER_MODE);
	}
	return error;
}
