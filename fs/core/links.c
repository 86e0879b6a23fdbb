#include "links.h"

#include <inttypes.h>
#include <stdio.h>

#include "charge.h"
#include "partial.h"
#include "sys.h"

/* KEY and ".n". */
#define COUNT_NAME_BYTES (ORIGIN_KEY_BYTES + 2)
#define COUNT_TEXT_BYTES 24

static void count_name(const char *key, char name[COUNT_NAME_BYTES])
{
	snprintf(name, COUNT_NAME_BYTES, "%s.n", key);
}

int links_read_count(const struct view *view, const char *key,
		     nlink_t *ret_count)
{
	char name[COUNT_NAME_BYTES];
	char text[COUNT_TEXT_BYTES];
	char *end;
	unsigned long count;
	ssize_t n;

	count_name(key, name);
	n = sys_readlinkat(view->links->fd, name, text, sizeof(text) - 1);
	if (n == -ENOENT) {
		return 0;
	}
	if (n < 0) {
		return n == -EINVAL ? -EIO : (int)n;
	}
	text[n] = '\0';
	errno = 0;
	count = strtoul(text, &end, 10);
	if (errno || end == text || *end) {
		return -EIO;
	}
	*ret_count = count;
	return 1;
}

/* What is not there is as good as removed. */
static int remove_entry(const struct view *view, const char *name)
{
	int error = sys_unlinkat(view->links->fd, name, 0);

	return error == -ENOENT ? 0 : error;
}

/* The same for an entry that is counted by itself. */
static int remove_counted(const struct view *view, const char *name)
{
	int error;

	charge_link_entry(view, name, -1);
	error = remove_entry(view, name);
	if (error) {
		charge_link_entry(view, name, 1);
	}
	return error;
}

int links_write_count(const struct view *view, const char *key, nlink_t count)
{
	char name[COUNT_NAME_BYTES];
	char temp[VIEW_TEMP_BYTES];
	char text[COUNT_TEXT_BYTES];
	int error;

	count_name(key, name);
	if (count == 0) {
		error = remove_entry(view, key);
		return error ? error : remove_counted(view, name);
	}
	snprintf(text, sizeof(text), "%lu", (unsigned long)count);
	view_temp_name((struct view *)view, temp);
	error = sys_symlinkat(text, view->work_fd, temp);
	if (error) {
		return error;
	}
	charge_link_entry(view, name, -1);
	error = sys_renameat2(view->work_fd, temp, view->links->fd, name, 0);
	charge_link_entry(view, name, 1);
	charge_links_folder(view);
	if (error) {
		/* What fails is left to the next start. */
		(void)!sys_unlinkat(view->work_fd, temp, 0);
	}
	return error;
}

int links_stat(const struct view *view, const char *key, struct stat *ret_st)
{
	return sys_fstatat(view->links->fd, key, ret_st);
}

int links_add_copy(const struct view *view, const char *temp, const char *key,
		   nlink_t count)
{
	nlink_t there;
	int error = links_read_count(view, key, &there);

	if (error == 0) {
		error = links_write_count(view, key, count);
	}
	return error < 0 ? error
			 : sys_renameat2(view->work_fd, temp, view->links->fd,
					 key, 0);
}

#define ORIGIN_NAME_BYTES 20
#define ORIGIN_TEXT_BYTES 96

static void origin_name(ino_t upper_ino, char name[ORIGIN_NAME_BYTES])
{
	snprintf(name, ORIGIN_NAME_BYTES, "i%" PRIx64, (uint64_t)upper_ino);
}

int links_read_origin(const struct view *view, ino_t upper_ino,
		      struct origin *ret_origin)
{
	char name[ORIGIN_NAME_BYTES];
	char text[ORIGIN_TEXT_BYTES];
	struct origin origin = {0};
	ssize_t n;

	origin_name(upper_ino, name);
	n = sys_readlinkat(view->links->fd, name, text, sizeof(text) - 1);
	if (n == -ENOENT) {
		return 0;
	}
	if (n < 0) {
		return n == -EINVAL ? -EIO : (int)n;
	}
	text[n] = '\0';
	if (sscanf(text,
		   "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%" SCNx64
		   "-%" SCNx8,
		   &origin.dev, &origin.ino, &origin.size_bytes,
		   &origin.mtime_ns, &origin.ctime_ns,
		   &origin.number_variant) < 5) {
		return -EIO;
	}
	*ret_origin = origin;
	return 1;
}

int links_write_origin(const struct view *view, ino_t upper_ino,
		       const struct origin *origin)
{
	char name[ORIGIN_NAME_BYTES];
	char text[ORIGIN_TEXT_BYTES];
	int error;

	origin_name(upper_ino, name);
	snprintf(text, sizeof(text),
		 "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx64
		 "-%" PRIx8,
		 origin->dev, origin->ino, origin->size_bytes, origin->mtime_ns,
		 origin->ctime_ns, origin->number_variant);
	/* One of a file that is gone: see the header; be safe all the same. */
	error = remove_counted(view, name);
	error = error ? error : sys_symlinkat(text, view->links->fd, name);
	if (!error) {
		charge_link_entry(view, name, 1);
		charge_links_folder(view);
	}
	return error;
}

int links_forget_map(const struct view *view, ino_t upper_ino)
{
	char name[PARTIAL_NAME_BYTES];

	partial_name(upper_ino, name);
	return remove_counted(view, name);
}

int links_forget_origin(const struct view *view, ino_t upper_ino)
{
	char name[ORIGIN_NAME_BYTES];

	origin_name(upper_ino, name);
	return remove_counted(view, name);
}
