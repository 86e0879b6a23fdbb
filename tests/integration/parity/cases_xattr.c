/* Extended attributes and access control lists. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "parity.h"

static void xattr_basics(void)
{
	char value[64];
	int fd = TRY_FD(open("f", O_RDONLY));
	int path = TRY_FD(open("f", O_PATH));

	record_xattrs("f", "f");
	TRY(getxattr("f", "user.note", value, sizeof(value)));
	TRY(getxattr("f", "user.note", NULL, 0));
	TRY(getxattr("f", "user.note", value, 3));
	TRY(getxattr("f", "user.none", value, sizeof(value)));
	TRY(setxattr("f", "user.note", "changed", 7, XATTR_CREATE));
	TRY(setxattr("f", "user.note", "changed", 7, XATTR_REPLACE));
	TRY(setxattr("f", "user.new", "v", 1, XATTR_REPLACE));
	TRY(setxattr("f", "user.new", "v", 1, XATTR_CREATE));
	TRY(setxattr("f", "user.empty", "", 0, 0));
	TRY(getxattr("f", "user.empty", value, sizeof(value)));
	TRY(fsetxattr(fd, "user.fd", "a\0b", 3, 0));
	TRY(fgetxattr(fd, "user.fd", value, sizeof(value)));
	TRY(fgetxattr(path, "user.fd", value, sizeof(value)));
	record_xattrs("f", "f");
	TRY(listxattr("f", NULL, 0) > 0);
	TRY(listxattr("f", value, 5));
	TRY(removexattr("f", "user.note"));
	TRY(removexattr("f", "user.note"));
	TRY(fremovexattr(fd, "user.fd"));
	record_xattrs("f", "f");
	TRY(setxattr("l", "user.through", "l", 1, 0));
	record_xattrs("f through l", "f");
	TRY(setxattr("gone", "user.x", "1", 1, 0));
	TRY(getxattr("gone", "user.x", value, sizeof(value)));
	TRY(removexattr("f/x", "user.x"));
	TRY(rename("f", "d/f"));
	record_xattrs("d/f", "d/f");
	TRY(setxattr("h1", "user.shared", "1", 1, 0));
	record_xattrs("h2", "h2");
	close(fd);
	close(path);
}

static void xattr_where(void)
{
	static const char *const paths[] = {"d", "e", "l",  "lx",
					    "p", "s", "h2", "d/sub/deep/y"};
	char value[8];

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		record_result(paths[i],
			      lsetxattr(paths[i], "user.x", "1", 1, 0));
		record_result(paths[i], lgetxattr(paths[i], "user.x", value,
						  sizeof(value)));
		record_result(paths[i], lremovexattr(paths[i], "user.y"));
		record_xattrs(paths[i], paths[i]);
	}
}

static void xattr_names(void)
{
	char longest[300];
	char value[8];

	TRY(setxattr("f", "user.", "1", 1, 0));
	TRY(setxattr("f", "user", "1", 1, 0));
	TRY(setxattr("f", "", "1", 1, 0));
	TRY(setxattr("f", "nonsense.x", "1", 1, 0));
	TRY(getxattr("f", "nonsense.x", value, sizeof(value)));
	TRY(removexattr("f", "nonsense.x"));
	TRY(setxattr("f", "user.a/b\n\377", "odd", 3, 0));
	memset(longest, 'n', sizeof(longest));
	memcpy(longest, "user.", 5);
	longest[256] = '\0';
	TRY(setxattr("f", longest, "1", 1, 0));
	longest[255] = '\0';
	TRY(setxattr("f", longest, "1", 1, 0));
	TRY(getxattr("f", longest, value, sizeof(value)));
	TRY(removexattr("f", longest));
	TRY(setxattr("f", "user.x", "1", 1, 7));
	record_xattrs("f", "f");
}

static void xattr_sizes(void)
{
	static char value[70000];

	memset(value, 'v', sizeof(value));
	TRY(setxattr("f", "user.k", value, 1000, 0));
	TRY(getxattr("f", "user.k", value, sizeof(value)));
	TRY(getxattr("f", "user.k", value, 999));
	TRY(setxattr("f", "user.k", value, 3000, 0));
	TRY(getxattr("f", "user.k", NULL, 0));
	TRY(setxattr("f", "user.k", value, 70000, 0));
	TRY(setxattr("f", "user.k", value, 1, 0));
	TRY(getxattr("f", "user.k", value, sizeof(value)));
}

/* The layer format's own names are hidden and can't be forged, and a program
 * that uses them (a view over the view) gets what it stored. */
static void xattr_reserved(void)
{
	static const char *const names[] = {
		"user.overlay.opaque",   "user.overlay.redirect",
		"user.overlay.whiteout", "user.overlay.overlay.opaque",
		"user.legato.origin",    "user.legato.legato.origin",
		"user.overlay",          "user.overlayx",
	};
	char value[16];

	TRY(setxattr("f", "user.note", "touched", 7, 0));
	TRY(chmod("d", 0700));
	record_xattrs("f", "f");
	record_xattrs("d", "d");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		record_result(names[i],
			      getxattr("d", names[i], value, sizeof(value)));
		record_result(names[i], removexattr("d", names[i]));
		record_result(names[i], setxattr("d", names[i], "y", 1, 0));
		record_result(names[i],
			      getxattr("d", names[i], value, sizeof(value)));
	}
	record_listing("d", "d");
	record_xattrs("d", "d");
	TRY(setxattr("f", "user.overlay.redirect", "/etc", 4, 0));
	record_content("f", "f");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		record_result(names[i], removexattr("d", names[i]));
	}
	record_xattrs("d", "d");
	TRY(mkdir("d/new", 0700));
	record_xattrs("d/new", "d/new");
}

static void xattr_trusted(void)
{
	char value[16];

	TRY(setxattr("f", "trusted.x", "1", 1, 0));
	TRY(getxattr("f", "trusted.x", value, sizeof(value)));
	record_xattrs("f", "f");
	TRY(setxattr("d", "trusted.overlay.opaque", "y", 1, 0));
	TRY(getxattr("d", "trusted.overlay.opaque", value, sizeof(value)));
	record_listing("d", "d");
	record_xattrs("d", "d");
	TRY(removexattr("d", "trusted.overlay.opaque"));
	TRY(setxattr("f", "security.x", "1", 1, 0));
	record_xattrs("f", "f");
	TRY(setxattr("l", "trusted.l", "1", 1, 0));
	TRY(lsetxattr("l", "trusted.l", "1", 1, 0));
	record_xattrs("l", "l");
}

/* The kernel's binary form: version, then tag, permissions, id. */
struct acl_entry {
	unsigned short tag;
	unsigned short perm;
	unsigned int id;
};

struct acl {
	unsigned int version;
	struct acl_entry entries[5];
};

static const struct acl some_acl = {
	.version = 2,
	.entries = {{0x01, 6, ~0U},
		    {0x02, 7, 12345},
		    {0x04, 5, ~0U},
		    {0x10, 7, ~0U},
		    {0x20, 0, ~0U}},
};

#define ACCESS_ACL  "system.posix_acl_access"
#define DEFAULT_ACL "system.posix_acl_default"

static void xattr_acl(void)
{
	char value[128];

	TRY(getxattr("f", ACCESS_ACL, value, sizeof(value)));
	TRY(getxattr("d", DEFAULT_ACL, value, sizeof(value)));
	TRY(setxattr("f", ACCESS_ACL, &some_acl, sizeof(some_acl), 0));
	record_stat("f", "f");
	record("f", "%016lx",
	       record_hash(value, (size_t)getxattr("f", ACCESS_ACL, value,
						   sizeof(value))));
	TRY(chmod("f", 0640));
	record_stat("f", "f");
	TRY(setxattr("f", ACCESS_ACL, "nonsense", 8, 0));
	TRY(setxattr("f", DEFAULT_ACL, &some_acl, sizeof(some_acl), 0));
	TRY(setxattr("d", DEFAULT_ACL, &some_acl, sizeof(some_acl), 0));
	umask(077);
	TRY_OPEN(open("d/new", O_WRONLY | O_CREAT, 0666));
	record_stat("d/new", "d/new");
	TRY(mkdir("d/newdir", 0777));
	record_stat("d/newdir", "d/newdir");
	TRY(mknod("d/fifo", S_IFIFO | 0666, 0));
	record_stat("d/fifo", "d/fifo");
	umask(022);
	TRY(removexattr("d", DEFAULT_ACL));
	TRY(removexattr("f", ACCESS_ACL));
	record_xattrs("f", "f");
	TRY_OPEN(open("d/new2", O_WRONLY | O_CREAT, 0666));
	record_stat("d/new2", "d/new2");
}

const struct parity_case cases_xattr[] = {
	{"xattr-basics", xattr_basics, STATE_ALL, PARITY_ANYONE, NULL},
	{"xattr-where", xattr_where, STATE_ALL, PARITY_ANYONE, NULL},
	{"xattr-names", xattr_names, STATE_ALL, PARITY_ANYONE, NULL},
	{"xattr-sizes", xattr_sizes, STATE_ALL, PARITY_ANYONE, NULL},
	{"xattr-reserved", xattr_reserved, STATE_ALL, PARITY_ANYONE, NULL},
	{"xattr-trusted", xattr_trusted, STATE_ALL, PARITY_ROOT, NULL},
	{"xattr-acl", xattr_acl, STATE_ALL, PARITY_ANYONE, NULL},
	{.name = NULL},
};
