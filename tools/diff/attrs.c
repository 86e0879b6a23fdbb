#include "attrs.h"

#include <string.h>

#include "buf.h"
#include "sys.h"
#include "xattr.h"

/* The kernel's limits (linux/limits.h): XATTR_LIST_MAX, XATTR_SIZE_MAX. */
#define LIST_MAX_BYTES  65536
#define VALUE_MAX_BYTES 65536

static const char *const compared[] = {
	"user.",
	"trusted.",
	"security.capability",
	"system.posix_acl_access",
	"system.posix_acl_default",
};

static bool is_compared(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(compared); i++) {
		if (strncmp(name, compared[i], strlen(compared[i])) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_unreadable(ssize_t error)
{
	return error == -EOPNOTSUPP || error == -EACCES || error == -EPERM ||
	       error == -ENODATA;
}

/* Adds the value of `disk_name`. 0 or -errno. */
static int add_value(struct buf *buf, int dirfd, const char *name,
		     const char *disk_name)
{
	ssize_t n;
	int error = buf_reserve(buf, VALUE_MAX_BYTES);

	if (error) {
		return error;
	}
	n = sys_getxattrat(dirfd, name, disk_name, buf->data + buf->len,
			   VALUE_MAX_BYTES);
	if (n < 0) {
		return (int)n;
	}
	buf->len += (size_t)n;
	buf->data[buf->len] = '\0';
	return 0;
}

/* The on-disk names of an entry, each with its NUL. */
static int list_names(int dirfd, const char *name, struct buf *names)
{
	ssize_t n;
	int error = buf_reserve(names, LIST_MAX_BYTES);

	if (error) {
		return error;
	}
	n = sys_listxattrat(dirfd, name, names->data, LIST_MAX_BYTES);
	if (n < 0) {
		return is_unreadable(n) ? 0 : (int)n;
	}
	names->len = (size_t)n;
	return 0;
}

/* Counts the compared attributes of `a`, and tells whether `b` has each of
 * them with the same value: 1, 0 or -errno. */
static int includes(int b_dirfd, const char *b_name, int a_dirfd,
		    const char *a_name, const struct buf *a_names,
		    size_t *ret_count)
{
	size_t len;

	*ret_count = 0;
	for (size_t at = 0; at < a_names->len; at += len) {
		const char *attr = a_names->data + at;
		AUTO_BUF a = BUF_INIT;
		AUTO_BUF b = BUF_INIT;
		int error;

		len = strlen(attr) + 1;
		if (xattr_is_private(attr) || !is_compared(attr)) {
			continue;
		}
		error = add_value(&a, a_dirfd, a_name, attr);
		if (is_unreadable(error)) {
			continue;
		}
		++*ret_count;
		error = error ? error : add_value(&b, b_dirfd, b_name, attr);
		if (error) {
			return is_unreadable(error) ? 0 : error;
		}
		if (a.len != b.len || memcmp(a.data, b.data, a.len) != 0) {
			return 0;
		}
	}
	return 1;
}

int attrs_equal(int a_dirfd, const char *a_name, int b_dirfd,
		const char *b_name)
{
	AUTO_BUF a_names = BUF_INIT;
	AUTO_BUF b_names = BUF_INIT;
	size_t a_count;
	size_t b_count;
	int result = list_names(a_dirfd, a_name, &a_names);

	result = result ? result : list_names(b_dirfd, b_name, &b_names);
	if (result) {
		return result;
	}
	result = includes(b_dirfd, b_name, a_dirfd, a_name, &a_names, &a_count);
	if (result != 1) {
		return result;
	}
	result = includes(a_dirfd, a_name, b_dirfd, b_name, &b_names, &b_count);
	return result != 1 ? result : a_count == b_count;
}

int attrs_each(int dirfd, const char *name, bool is_layer, attrs_fn *fn,
	       void *arg)
{
	AUTO_BUF names = BUF_INIT;
	int error = list_names(dirfd, name, &names);
	size_t len;

	for (size_t at = 0; at < names.len && !error; at += len) {
		const char *attr = names.data + at;
		char storage[XATTR_NAME_BYTES];
		const char *seen =
			is_layer ? xattr_to_view(attr, storage) : attr;
		AUTO_BUF value = BUF_INIT;

		len = strlen(attr) + 1;
		if (!seen || !is_compared(seen) || xattr_is_private(attr)) {
			continue;
		}
		error = add_value(&value, dirfd, name, attr);
		if (is_unreadable(error)) {
			error = 0;
			continue;
		}
		error = error ? error : fn(seen, value.data, value.len, arg);
	}
	return error;
}

struct copy {
	int dirfd;
	const char *name;
	struct buf kept; /* names, each with its NUL */
};

static bool is_kept(const struct copy *copy, const char *attr)
{
	size_t len;

	for (size_t at = 0; at < copy->kept.len; at += len) {
		len = strlen(copy->kept.data + at) + 1;
		if (strcmp(copy->kept.data + at, attr) == 0) {
			return true;
		}
	}
	return false;
}

/* An attrs_fn. */
static int set_one(const char *attr, const void *value, size_t size, void *arg)
{
	struct copy *copy = arg;
	int error =
		sys_setxattrat(copy->dirfd, copy->name, attr, value, size, 0);

	buf_add(&copy->kept, attr, strlen(attr) + 1);
	if (error == -EPERM && strncmp(attr, "user.", 5) != 0) {
		error = 0;
	}
	return error ? error : buf_error(&copy->kept);
}

int attrs_copy(int to_dirfd, const char *to_name, int from_dirfd,
	       const char *from_name, bool from_layer)
{
	struct copy copy = {to_dirfd, to_name, BUF_INIT};
	AUTO_BUF names = BUF_INIT;
	int error =
		attrs_each(from_dirfd, from_name, from_layer, set_one, &copy);
	size_t len;

	error = error ? error : list_names(to_dirfd, to_name, &names);
	for (size_t at = 0; at < names.len && !error; at += len) {
		const char *attr = names.data + at;

		len = strlen(attr) + 1;
		if (is_compared(attr) && !xattr_is_private(attr) &&
		    !is_kept(&copy, attr)) {
			error = sys_removexattrat(to_dirfd, to_name, attr);
			error = is_unreadable(error) ? 0 : error;
		}
	}
	buf_release(&copy.kept);
	return error;
}
