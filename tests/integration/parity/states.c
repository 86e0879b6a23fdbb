#include "states.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "compiler.h"
#include "die.h"

/* Somewhen in 2001, with nanoseconds, so that truncated times show. */
#define OLD_TIME_S  1000000000
#define OLD_TIME_NS 123456789
#define WALK_FDS    16

/* `data` is the content, the target, or the other name of a hard link. */
struct item {
	const char *name;
	mode_t mode;
	const char *data;
	bool in_view; /* in STATE_MIXED: made through the view */
};

/* Not a file type: a second name for `data`. */
#define S_HARD 0

static const struct item items[] = {
	{"f", S_IFREG | 0644, "the content of f\n", false},
	{"g", S_IFREG | 0640, "g is another file\n", true},
	{"big", S_IFREG | 0600, NULL, false},
	{"h1", S_IFREG | 0664, "two names\n", false},
	{"h2", S_HARD, "h1", true},
	{"d", S_IFDIR | 0755, NULL, false},
	{"d/a", S_IFREG | 0644, "a in d\n", false},
	{"d/b", S_IFREG | 0755, "b in d\n", true},
	{"d/sub", S_IFDIR | 0750, NULL, false},
	{"d/sub/x", S_IFREG | 0600, "x in sub\n", true},
	{"d/sub/deep", S_IFDIR | 0700, NULL, false},
	{"d/sub/deep/y", S_IFREG | 0444, "y in deep\n", false},
	{"e", S_IFDIR | 0777, NULL, true},
	{"l", S_IFLNK, "f", false},
	{"ld", S_IFLNK, "d", true},
	{"lx", S_IFLNK, "nowhere", false},
	{"p", S_IFIFO | 0644, NULL, true},
	{"s", S_IFSOCK | 0644, NULL, false},
};

/* What the states that delete had in the base besides. */
static const struct item deleted[] = {
	{"gone", S_IFREG | 0644, "deleted\n", false},
	{"goned", S_IFDIR | 0755, NULL, false},
	{"goned/old", S_IFREG | 0644, "deleted too\n", false},
	{"d/old", S_IFREG | 0644, "deleted with d\n", false},
	{"d/sub/old", S_IFREG | 0644, "deleted with d/sub\n", false},
	{"e/old", S_IFREG | 0644, "deleted with e\n", false},
};

/* The base of STATE_SWAPPED: folders where files will be, and the reverse. */
static const struct item swapped[] = {
	{"f", S_IFDIR | 0755, NULL, false},
	{"f/old", S_IFREG | 0644, "was in a folder f\n", false},
	{"g", S_IFLNK, "f", false},
	{"big", S_IFIFO | 0644, NULL, false},
	{"h1", S_IFDIR | 0755, NULL, false},
	{"h2", S_IFDIR | 0755, NULL, false},
	{"d", S_IFREG | 0644, "was a file d\n", false},
	{"e", S_IFLNK, "f", false},
	{"l", S_IFREG | 0644, "was a file l\n", false},
	{"ld", S_IFDIR | 0755, NULL, false},
	{"lx", S_IFDIR | 0755, NULL, false},
	{"p", S_IFREG | 0644, "was a file p\n", false},
	{"s", S_IFDIR | 0755, NULL, false},
	{"gone", S_IFDIR | 0755, NULL, false},
	{"goned", S_IFREG | 0644, "deleted\n", false},
};

static const char *const names[] = {
	[STATE_BASE] = "base",         [STATE_UPPER] = "upper",
	[STATE_COPIED] = "copied",     [STATE_MIXED] = "mixed",
	[STATE_WHITEOUT] = "whiteout", [STATE_SWAPPED] = "swapped",
	[STATE_MOVED] = "moved",
};

const char *state_name(enum state state)
{
	return names[state];
}

/* "line at 0000016" and so on: every 16 bytes tell where they belong. */
static const char *big_content(void)
{
	static char content[STATE_BIG_BYTES + 1];

	for (int off = 0; off < STATE_BIG_BYTES; off += 16) {
		snprintf(content + off, sizeof(content) - (size_t)off,
			 "line at %07d\n", off);
	}
	return content;
}

static int write_file(const char *name, const char *data)
{
	AUTO_FD fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t len;

	if (fd < 0) {
		return -1;
	}
	data = data ? data : big_content();
	len = (ssize_t)strlen(data);
	return write(fd, data, (size_t)len) == len ? 0 : -1;
}

static int make_item(const struct item *item)
{
	mode_t mode = item->mode & 07777;
	int result;

	switch (item->mode & S_IFMT) {
	case S_IFDIR:
		result = mkdir(item->name, 0700);
		break;
	case S_IFREG:
		result = write_file(item->name, item->data);
		break;
	case S_IFLNK:
		return symlink(item->data, item->name);
	case S_HARD:
		return link(item->data, item->name);
	default:
		result = mknod(item->name, item->mode, 0);
	}
	return result ? result : chmod(item->name, mode);
}

/* Gives it its time; a folder's only after all that is in it. */
static int set_old_time(const struct item *item)
{
	struct timespec old[2];

	for (size_t i = 0; i < ARRAY_SIZE(old); i++) {
		old[i].tv_sec = OLD_TIME_S;
		old[i].tv_nsec = OLD_TIME_NS;
	}
	return utimensat(AT_FDCWD, item->name, old, AT_SYMLINK_NOFOLLOW);
}

enum which {
	ALL,
	BASE_PART,
	VIEW_PART
};

static bool chosen(const struct item *item, enum which which)
{
	return which == ALL || item->in_view == (which == VIEW_PART);
}

/* Makes the chosen ones of `list` in the present folder. */
static int make_items(const struct item *list, size_t count, enum which which,
		      const char **ret_what)
{
	for (size_t i = 0; i < count; i++) {
		*ret_what = list[i].name;
		if (chosen(&list[i], which) && make_item(&list[i])) {
			return -1;
		}
	}
	if (list == items && which != VIEW_PART &&
	    setxattr("f", "user.note", "from the start", 14, 0)) {
		*ret_what = "user.note";
		return -1;
	}
	/* With VIEW_PART the folders that grew get their times back too. */
	for (size_t i = count; i-- > 0;) {
		*ret_what = list[i].name;
		if ((which != BASE_PART || chosen(&list[i], which)) &&
		    set_old_time(&list[i])) {
			return -1;
		}
	}
	return 0;
}

#define MAKE(list, which, ret_what)                                            \
	make_items(list, ARRAY_SIZE(list), which, ret_what)

static int remove_one(const char *name, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	return ftw->level == 0 ? 0 : remove(name);
}

/* Deletes all that is in the present folder, as rm -rf does. */
static int remove_all(const char **ret_what)
{
	*ret_what = "delete";
	return nftw(".", remove_one, WALK_FDS, FTW_PHYS | FTW_DEPTH);
}

/* Changes each one's metadata and puts it back: the cheapest copy-up. */
static int touch_all(const char **ret_what)
{
	for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
		const struct item *item = &items[i];
		mode_t mode = item->mode & 07777;

		*ret_what = item->name;
		if ((item->mode & S_IFMT) == S_HARD || S_ISLNK(item->mode)) {
			if (set_old_time(item)) {
				return -1;
			}
		} else if (chmod(item->name, mode ^ S_IXOTH) ||
			   chmod(item->name, mode)) {
			return -1;
		}
	}
	return 0;
}

static int build_base(enum state state, const char **ret_what)
{
	*ret_what = "w";
	if (mkdir(state == STATE_MOVED ? "before" : "w", 0755) ||
	    chdir(state == STATE_MOVED ? "before" : "w")) {
		return -1;
	}
	switch (state) {
	case STATE_BASE:
	case STATE_COPIED:
	case STATE_MOVED:
		return MAKE(items, ALL, ret_what);
	case STATE_MIXED:
		return MAKE(items, BASE_PART, ret_what);
	case STATE_WHITEOUT:
		return MAKE(items, ALL, ret_what) ||
		       MAKE(deleted, ALL, ret_what);
	case STATE_SWAPPED:
		return MAKE(swapped, ALL, ret_what);
	case STATE_UPPER:
	case STATE_COUNT:
		break;
	}
	return 0;
}

void state_build_base(enum state state)
{
	const char *what;

	if (build_base(state, &what)) {
		die("can't build state %s: '%s'", names[state], what);
	}
	if (chdir("..")) {
		die("can't go back");
	}
}

int state_build_view(enum state state, const char **ret_what)
{
	*ret_what = "w";
	if (state == STATE_MOVED && rename("before", "w")) {
		*ret_what = "rename(before, w)";
		return -1;
	}
	if (chdir("w")) {
		return -1;
	}
	switch (state) {
	case STATE_UPPER:
		return MAKE(items, ALL, ret_what);
	case STATE_COPIED:
		return touch_all(ret_what);
	case STATE_MIXED:
		return MAKE(items, VIEW_PART, ret_what);
	case STATE_WHITEOUT:
	case STATE_SWAPPED:
		return remove_all(ret_what) || MAKE(items, ALL, ret_what) ? -1
									  : 0;
	case STATE_BASE:
	case STATE_MOVED:
	case STATE_COUNT:
		break;
	}
	return 0;
}
