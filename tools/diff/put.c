#include "put.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "attrs.h"
#include "fdio.h"
#include "sys.h"

#define TEMP_PREFIX ".legato-apply-"

/* Writers that never pause can't be copied. */
#define COPY_ATTEMPTS 5

void put_temp_name(const char *name, char ret_temp[PUT_TEMP_BYTES])
{
	snprintf(ret_temp, PUT_TEMP_BYTES, TEMP_PREFIX "%016" PRIx64,
		 (uint64_t)XXH3_64bits(name, strlen(name)));
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
	struct origin id;

	origin_from_stat(&id, a);
	return origin_matches(&id, b);
}

/* Fills the empty file `to` with what `from` holds at one moment. */
static int copy_stable(int to, int from)
{
	struct stat before;
	struct stat after;

	for (int i = 0; i < COPY_ATTEMPTS; i++) {
		int error = sys_fstat(from, &before);

		error = error ? error : fdio_copy(to, from, before.st_size);
		error = error ? error : sys_fstat(from, &after);
		if (error || is_unchanged(&before, &after)) {
			return error;
		}
		error = sys_ftruncate(to, 0);
		if (error) {
			return error;
		}
	}
	return -EAGAIN;
}

static int open_content(const struct put_source *source)
{
	int fd = sys_reopen(source->fd, O_RDONLY | O_NONBLOCK | O_NOATIME);

	/* That needs the owner. */
	return fd == -EPERM ? sys_reopen(source->fd, O_RDONLY | O_NONBLOCK)
			    : fd;
}

static int make_file(int dirfd, const char *temp,
		     const struct put_source *source)
{
	AUTO_FD to = sys_openat(dirfd, temp,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	AUTO_FD from = -1;

	if (to < 0) {
		return to;
	}
	if (source->content) {
		return fdio_write_all(to, source->content->data,
				      source->content->len);
	}
	from = open_content(source);
	return from < 0 ? from : copy_stable(to, from);
}

static int make_link(int dirfd, const char *temp,
		     const struct put_source *source)
{
	char target[PATH_MAX];
	ssize_t n = sys_readlinkat(source->fd, "", target, sizeof(target) - 1);

	if (n < 0) {
		return n == -EINVAL ? -ESTALE : (int)n;
	}
	target[n] = '\0';
	return sys_symlinkat(target, dirfd, temp);
}

/* All but attributes. */
static int make_bare(int dirfd, const char *temp,
		     const struct put_source *source, const struct stat *st)
{
	switch (source->kind) {
	case KIND_FILE:
		return make_file(dirfd, temp, source);
	case KIND_DIR:
		return sys_mkdirat(dirfd, temp, 0700);
	case KIND_LINK:
		return make_link(dirfd, temp, source);
	case KIND_FIFO:
	case KIND_SOCKET:
	case KIND_BLOCK:
	case KIND_CHAR:
		return sys_mknodat(dirfd, temp, (st->st_mode & S_IFMT) | 0600,
				   st->st_rdev);
	case KIND_NONE:
		break;
	}
	return -EINVAL;
}

static int set_owner(int dirfd, const char *name, const struct stat *st)
{
	return geteuid() == 0
		       ? sys_fchownat(dirfd, name, st->st_uid, st->st_gid)
		       : 0;
}

int put_times(int dirfd, const char *name, const struct put_source *source)
{
	struct stat st;
	int error = sys_fstat(source->fd, &st);
	const struct timespec times[2] = {st.st_atim, st.st_mtim};

	return error ? error : sys_utimensat(dirfd, name, times);
}

/* `mode_more` is what a directory needs while it is filled. */
static int set_attributes(int dirfd, const char *name,
			  const struct put_source *source,
			  const struct stat *st, mode_t mode_more)
{
	int error = set_owner(dirfd, name, st);

	if (source->kind == KIND_LINK) {
		return error;
	}
	if (!error && (source->kind == KIND_FILE || source->kind == KIND_DIR)) {
		error = attrs_copy(dirfd, name, source->fd, "",
				   source->is_layer);
	}
	/* Last: an owner clears set-user-id bits, an ACL the group's. */
	return error ? error
		     : sys_fchmodat(dirfd, name,
				    (st->st_mode & 07777) | mode_more);
}

int put_attributes(int dirfd, const char *name, const struct put_source *source,
		   bool with_times)
{
	struct stat st;
	int error = sys_fstat(source->fd, &st);

	error = error ? error : set_attributes(dirfd, name, source, &st, 0);
	return error || !with_times ? error : put_times(dirfd, name, source);
}

static int check_kind(const struct put_source *source, struct stat *ret_st)
{
	struct change_side side;
	int error = sys_fstat(source->fd, ret_st);

	if (error) {
		return error;
	}
	change_side_from_stat(&side, ret_st);
	return side.kind == source->kind ? 0 : -ESTALE;
}

int put_make(int dirfd, const char *temp, const struct put_source *source)
{
	struct stat st;
	int error = check_kind(source, &st);

	error = error ? error : make_bare(dirfd, temp, source, &st);
	if (error == -EEXIST) {
		return error;
	}
	if (!error) {
		error = set_attributes(dirfd, temp, source, &st,
				       source->kind == KIND_DIR ? 0700 : 0);
	}
	if (!error && source->kind != KIND_DIR) {
		error = put_times(dirfd, temp, source);
	}
	if (error) {
		(void)put_discard(dirfd, temp);
	}
	return error;
}

int put_discard(int dirfd, const char *temp)
{
	int error = sys_unlinkat(dirfd, temp, 0);

	if (error == -EISDIR || error == -EPERM) {
		error = sys_unlinkat(dirfd, temp, AT_REMOVEDIR);
	}
	return error == -ENOENT ? 0 : error;
}

/* Where the disk can't exchange, there is a moment with nothing there. */
static int replace_in_two_steps(int dirfd, const char *temp, const char *name,
				enum change_kind old_kind)
{
	int error = sys_unlinkat(dirfd, name,
				 old_kind == KIND_DIR ? AT_REMOVEDIR : 0);

	return error ? error
		     : sys_renameat2(dirfd, temp, dirfd, name,
				     RENAME_NOREPLACE);
}

/* One of the two is a directory, so that rename can't replace. */
static int exchange(int dirfd, const char *temp, const char *name,
		    enum change_kind old_kind)
{
	int error = sys_renameat2(dirfd, temp, dirfd, name, RENAME_EXCHANGE);

	if (error == -EINVAL) {
		return replace_in_two_steps(dirfd, temp, name, old_kind);
	}
	if (error) {
		return error;
	}
	error = put_discard(dirfd, temp);
	if (error) {
		/* Somebody has put something into the old directory. */
		(void)!sys_renameat2(dirfd, temp, dirfd, name, RENAME_EXCHANGE);
	}
	return error;
}

int put_replace(int dirfd, const char *temp, const char *name,
		enum change_kind old_kind, enum change_kind new_kind)
{
	if (old_kind == KIND_NONE) {
		return sys_renameat2(dirfd, temp, dirfd, name,
				     RENAME_NOREPLACE);
	}
	return old_kind == KIND_DIR || new_kind == KIND_DIR
		       ? exchange(dirfd, temp, name, old_kind)
		       : sys_renameat2(dirfd, temp, dirfd, name, 0);
}
