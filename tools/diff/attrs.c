#include "attrs.h"

#include <stdbool.h>
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
