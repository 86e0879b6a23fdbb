#include "quota_count.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "execution.h"
#include "layer.h"
#include "path.h"
#include "sys.h"

#define BLOCK_BYTES    512 /* of st_blocks */
#define RECOUNT_TRIES  5
#define FIRST_CAPACITY 64

/* A file with several names that was met by one of them. */
struct met {
	dev_t dev;
	ino_t ino;
	int64_t bytes;
};

struct count {
	struct quota_amount used;
	struct layer layer; /* the folder that is walked */
	char **paths; /* beneath it, directories still to be read; owned */
	size_t n_paths;
	size_t paths_capacity;
	struct met *met;
	size_t n_met;
	size_t met_capacity;
};

static int grow(void *items, size_t n, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *grown;

	if (n < *capacity) {
		return 0;
	}
	grown = reallocarray(*(void **)items, wanted, size);
	if (!grown) {
		return -ENOMEM;
	}
	*(void **)items = grown;
	*capacity = wanted;
	return 0;
}

static int push(struct count *count, const char *dir, const char *name)
{
	int error = grow(&count->paths, count->n_paths, &count->paths_capacity,
			 sizeof(*count->paths));
	char *path = error ? NULL : path_join(dir, name);

	if (!path) {
		return -ENOMEM;
	}
	count->paths[count->n_paths++] = path;
	return 0;
}

static int64_t bytes_of(const struct stat *st)
{
	return (int64_t)st->st_blocks * BLOCK_BYTES;
}

static void add(struct count *count, int64_t bytes)
{
	count->used.bytes += bytes;
	count->used.files++;
}

static int meet(struct count *count, const struct stat *st)
{
	int error = grow(&count->met, count->n_met, &count->met_capacity,
			 sizeof(*count->met));

	if (!error) {
		count->met[count->n_met++] =
			(struct met){st->st_dev, st->st_ino, bytes_of(st)};
	}
	return error;
}

static int compare_met(const void *a, const void *b)
{
	const struct met *x = a;
	const struct met *y = b;

	if (x->dev != y->dev) {
		return x->dev < y->dev ? -1 : 1;
	}
	return (x->ino > y->ino) - (x->ino < y->ino);
}

static int add_entry(struct count *count, DIR *dir, const char *path,
		     const char *name)
{
	struct stat st;
	int error = sys_fstatat(dirfd(dir), name, &st);

	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	if (S_ISDIR(st.st_mode)) {
		return push(count, path, name);
	}
	if (st.st_nlink > 1) {
		return meet(count, &st);
	}
	add(count, bytes_of(&st));
	return 0;
}

static int read_dir(struct count *count, const char *path)
{
	AUTO_FD fd = layer_open_path(&count->layer, path,
				     O_PATH | O_DIRECTORY | O_NOFOLLOW);
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int error = fd < 0 ? fd : sys_fstat(fd, &st);

	error = error ? error : sys_opendirat(fd, "", &dir);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	add(count, bytes_of(&st));
	do {
		error = sys_readdir(dir, &entry);
		if (!error && entry && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0) {
			error = add_entry(count, dir, path, entry->d_name);
		}
	} while (!error && entry);
	closedir(dir);
	return error;
}

static int count_folder(struct count *count, int dirfd, const char *view,
			const char *folder)
{
	AUTO_BUF path = BUF_INIT;
	int error;

	buf_addf(&path, "%s/%s/%s", EXECUTION_VIEWS_DIR, view, folder);
	error = buf_error(&path);
	error = error ? error : layer_open(&count->layer, dirfd, path.data);
	if (error) {
		return error == -ENOENT ? 0 : error;
	}
	error = push(count, "", "");
	while (!error && count->n_paths > 0) {
		AUTO_FREE char *next = count->paths[--count->n_paths];

		error = read_dir(count, next);
	}
	layer_close(&count->layer);
	return error;
}

/* Files with several names count once. */
static void add_met(struct count *count)
{
	if (count->n_met > 0) {
		qsort(count->met, count->n_met, sizeof(*count->met),
		      compare_met);
	}
	for (size_t i = 0; i < count->n_met; i++) {
		if (i == 0 ||
		    compare_met(&count->met[i - 1], &count->met[i]) != 0) {
			add(count, count->met[i].bytes);
		}
	}
}

static void count_release(struct count *count)
{
	while (count->n_paths > 0) {
		free(count->paths[--count->n_paths]);
	}
	free(count->paths);
	free(count->met);
}

int quota_count(int dirfd, const struct manifest *manifest,
		struct quota_amount *ret_used)
{
	AUTO(count_release) struct count count = {0};
	int error = 0;

	for (size_t i = 0; i < manifest->n_views && !error; i++) {
		const char *view = manifest->views[i].name;

		error = count_folder(&count, dirfd, view, "upper");
		error = error ? error
			      : count_folder(&count, dirfd, view, "links");
	}
	if (!error) {
		add_met(&count);
		*ret_used = count.used;
	}
	return error;
}

static bool is_same(const struct quota_amount *a, const struct quota_amount *b)
{
	return a->bytes == b->bytes && a->files == b->files;
}

int quota_recount(int dirfd, const struct manifest *manifest,
		  struct quota_page *page)
{
	for (int i = 0; i < RECOUNT_TRIES; i++) {
		const struct quota_amount before = quota_page_used(page);
		const struct quota_amount nameless = quota_page_nameless(page);
		struct quota_amount counted;
		struct quota_amount after;
		int error = quota_count(dirfd, manifest, &counted);

		if (error) {
			return error;
		}
		after = quota_page_used(page);
		if (is_same(&before, &after)) {
			/* Added, so that what comes meanwhile is not lost. */
			quota_page_add(
				page,
				counted.bytes + nameless.bytes - after.bytes,
				counted.files + nameless.files - after.files);
			return 0;
		}
	}
	return -EAGAIN;
}
