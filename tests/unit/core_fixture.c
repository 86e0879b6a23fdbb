#include "core_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "attr.h"
#include "create.h"
#include "dirlist.h"
#include "file.h"
#include "rename.h"
#include "unit.h"
#include "unlink.h"

#define TEXT_BYTES  65536
#define MAX_ENTRIES 4096

struct fs fs;
struct caller caller;
bool core_watches = true;
off_t core_blocks_from;
char *const *core_masks;
static bool running;
static unsigned int started_lowers;
static unsigned int fds_before;

/* A call of the test's own that must succeed. */
#define MUST(call) assert_int_equal((call), 0)

void core_prefer_memory(void)
{
	char path[] = "/dev/shm/legato-test-XXXXXX";

	if (!getenv("TMPDIR") && mkdtemp(path)) {
		if (!setxattr(path, "user.a", "1", 1, 0)) {
			setenv("TMPDIR", "/dev/shm", 1);
		}
		rmdir(path);
	}
}

int core_make_folders(void)
{
	static const char *const folders[] = {"upper", "work", "base", "base2",
					      "base3"};

	umask(0); /* as the daemon does */
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		if (mkdir(folders[i], 0755)) {
			return -1;
		}
	}
	caller = (struct caller){geteuid(), getegid(), getpid(), 0, 0};
	return 0;
}

int core_setup(void **state)
{
	fds_before = count_fds();
	core_masks = NULL;
	temp_setup(state);
	return core_make_folders();
}

int core_teardown(void **state)
{
	if (running) {
		core_stop();
	}
	assert_int_equal(count_fds(), fds_before);
	return temp_teardown(state);
}

static int open_config(struct fs *ret_fs, const struct view_config *config)
{
	int error = fs_init(ret_fs, CORE_FDS_MAX, CORE_FDS_MAX, false);

	if (error) {
		return error;
	}
	ret_fs->blocks_from_bytes = core_blocks_from;
	if (!core_watches && ret_fs->watches.fd >= 0) {
		close(ret_fs->watches.fd);
		ret_fs->watches.fd = -1;
	}
	error = fs_add_view(ret_fs, config);
	error = error ? error : fs_start(ret_fs);
	if (error) {
		fs_release(ret_fs);
	}
	return error;
}

int core_open(struct fs *ret_fs, unsigned int lowers)
{
	static const char *const paths[] = {"base", "base2", "base3"};
	const struct view_config config = {
		.name = "work",
		.dirfd = AT_FDCWD,
		.upper = "upper",
		.work = "work",
		.links = "links",
		.lowers = paths,
		.lower_count = lowers,
		.masks = core_masks,
		.has_origins = true,
		.by_blocks = true,
	};

	return open_config(ret_fs, &config);
}

int core_open_plain(struct fs *ret_fs, const char *upper)
{
	const struct view_config config = {
		.name = "plain",
		.dirfd = AT_FDCWD,
		.upper = upper,
		.work = "plain-work",
		.links = "plain-links",
	};

	return mkdir("plain-work", 0755) && errno != EEXIST
		       ? -errno
		       : open_config(ret_fs, &config);
}

void core_start(unsigned int lowers)
{
	started_lowers = lowers;
	MUST(core_open(&fs, lowers));
	running = true;
}

void core_stop(void)
{
	size_t count = nodes_count(&fs.nodes);

	running = false;
	fs_release(&fs);
	assert_int_equal(count, 1);
}

void core_restart(void)
{
	core_stop();
	core_start(started_lowers);
}

/* The disk */

static void set_old(const char *path)
{
	struct timespec times[2] = {{OLD_TIME, 1}, {OLD_TIME, 123456789}};

	MUST(utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW));
}

void make_file(const char *path, const char *text)
{
	temp_write(path, text, strlen(text));
	set_old(path);
}

void make_dir(const char *path)
{
	MUST(mkdir(path, 0755));
}

void make_link(const char *path, const char *target)
{
	MUST(symlink(target, path));
	set_old(path);
}

void make_fifo(const char *path)
{
	MUST(mkfifo(path, 0644));
	set_old(path);
}

void make_whiteout(const char *path)
{
	MUST(mknod(path, S_IFCHR | 0600, makedev(0, 0)));
}

void set_attr(const char *path, const char *attr, const char *value)
{
	MUST(lsetxattr(path, attr, value, strlen(value), 0));
}

void make_opaque(const char *path)
{
	set_attr(path, "user.overlay.opaque", "y");
}

bool on_disk(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool is_whiteout(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISCHR(st.st_mode) &&
	       st.st_rdev == makedev(0, 0);
}

bool is_opaque(const char *path)
{
	char value = 0;

	return lgetxattr(path, "user.overlay.opaque", &value, 1) == 1 &&
	       value == 'y';
}

const char *redirect_of(const char *path)
{
	static char value[PATH_MAX];
	ssize_t n = lgetxattr(path, "user.overlay.redirect", value,
			      sizeof(value) - 1);

	value[n < 0 ? 0 : n] = '\0';
	return value;
}

unsigned int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	unsigned int count = 0;

	assert_non_null(dir);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count - 2;
}

unsigned int count_fds(void)
{
	return count_entries("/proc/self/fd") - 1; /* that of the listing */
}

/* The view, by path */

/* Goes from `dir` (put) to its child. */
static int walk(struct fs *which, struct node *dir, const char *name,
		struct entry *ret_entry)
{
	int error = op_lookup(which, dir, name, ret_entry, NULL);

	node_put(&which->nodes, dir);
	return error;
}

int core_find(struct fs *which, const char *path, struct entry *ret_entry)
{
	int error = 0;

	ret_entry->node = node_get(which->root);
	while (*path && !error) {
		size_t len = strcspn(path, "/");
		char name[NAME_MAX + 1];

		memcpy(name, path, len);
		name[len] = '\0';
		path += len + (path[len] == '/');
		error = walk(which, ret_entry->node, name, ret_entry);
	}
	return error;
}

int error_at(const char *path)
{
	struct entry entry;
	int error = core_find(&fs, path, &entry);

	if (!error) {
		node_put(&fs.nodes, entry.node);
	}
	return error;
}

struct node *at(const char *path)
{
	struct entry entry;
	int error = core_find(&fs, path, &entry);

	if (error) {
		print_error("'%s' is not in the view\n", path);
	}
	assert_int_equal(error, 0);
	return entry.node;
}

/* What the name says and what the number says must be the same. */
struct stat stat_at(const char *path)
{
	struct entry entry = {.node = NULL};
	struct stat st;

	if (!*path) {
		MUST(op_getattr(&fs, fs.root, &st));
		return st;
	}
	MUST(core_find(&fs, path, &entry));
	MUST(op_getattr(&fs, entry.node, &st));
	node_put(&fs.nodes, entry.node);
	assert_int_equal(st.st_ino, entry.st.st_ino);
	assert_int_equal(st.st_mode, entry.st.st_mode);
	assert_int_equal(st.st_nlink, entry.st.st_nlink);
	assert_int_equal(st.st_size, entry.st.st_size);
	return st;
}

struct parent parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct parent parent = {.name = slash ? slash + 1 : path};
	char above[PATH_MAX] = "";

	if (slash) {
		memcpy(above, path, (size_t)(slash - path));
		above[slash - path] = '\0';
	}
	parent.node = at(above);
	return parent;
}

static int end_with_entry(struct parent *parent, int error,
			  const struct entry *entry)
{
	if (!error) {
		node_put(&fs.nodes, entry->node);
	}
	node_put(&fs.nodes, parent->node);
	return error;
}

int view_create(const char *path, const char *text)
{
	struct parent parent = parent_of(path);
	struct entry entry;
	int error =
		op_create(&fs, parent.node, parent.name, 0644, &caller, &entry);

	if (!error) {
		ssize_t n = op_write(&fs, entry.node, text, strlen(text), 0,
				     &caller);

		op_release(entry.node);
		error = n < 0 ? (int)n : 0;
		if (error) {
			node_put(&fs.nodes, entry.node);
		}
	}
	return end_with_entry(&parent, error, &entry);
}

int view_mkdir(const char *path)
{
	struct parent parent = parent_of(path);
	struct entry entry;
	int error =
		op_mkdir(&fs, parent.node, parent.name, 0755, &caller, &entry);

	return end_with_entry(&parent, error, &entry);
}

int view_symlink(const char *path, const char *target)
{
	struct parent parent = parent_of(path);
	struct entry entry;
	int error = op_symlink(&fs, parent.node, parent.name, target, &caller,
			       &entry);

	return end_with_entry(&parent, error, &entry);
}

int view_link(const char *from, const char *to)
{
	struct parent parent = parent_of(to);
	struct node *node = at(from);
	struct entry entry;
	int error =
		op_link(&fs, node, parent.node, parent.name, &caller, &entry);

	node_put(&fs.nodes, node);
	return end_with_entry(&parent, error, &entry);
}

int view_unlink(const char *path)
{
	struct parent parent = parent_of(path);
	int error = op_unlink(&fs, parent.node, parent.name, &caller);

	node_put(&fs.nodes, parent.node);
	return error;
}

int view_rmdir(const char *path)
{
	struct parent parent = parent_of(path);
	int error = op_rmdir(&fs, parent.node, parent.name, &caller);

	node_put(&fs.nodes, parent.node);
	return error;
}

int view_rename(const char *from, const char *to, unsigned int flags)
{
	struct parent source = parent_of(from);
	struct parent target = parent_of(to);
	int error = op_rename(&fs, source.node, source.name, target.node,
			      target.name, flags, &caller);

	node_put(&fs.nodes, source.node);
	node_put(&fs.nodes, target.node);
	return error;
}

int view_write(const char *path, const char *text, off_t off)
{
	struct node *node = at(path);
	ssize_t n = op_write(&fs, node, text, strlen(text), off, &caller);

	node_put(&fs.nodes, node);
	return n < 0 ? (int)n : 0;
}

int view_chmod(const char *path, mode_t mode)
{
	struct attr_change change = {.flags = ATTR_MODE, .mode = mode};
	struct node *node = at(path);
	struct stat st;
	int error = op_setattr(&fs, node, &change, &caller, &st);

	node_put(&fs.nodes, node);
	return error;
}

static char text_buffer[TEXT_BYTES];

const char *text_of(struct node *node)
{
	ssize_t n = op_read(node, text_buffer, sizeof(text_buffer) - 1, 0);

	if (n < 0) {
		print_error("reading '%s': %zd\n", node->name, n);
	}
	assert_true(n >= 0);
	text_buffer[n] = '\0';
	return text_buffer;
}

const char *text_at(const char *path)
{
	struct node *node = at(path);
	const char *text = text_of(node);

	node_put(&fs.nodes, node);
	return text;
}

/* The tree as text */

static int dump_attrs(struct node *node, struct buf *text)
{
	char list[4096];
	ssize_t size = op_listxattr(node, list, sizeof(list));

	for (ssize_t i = 0; i < size; i += (ssize_t)strlen(list + i) + 1) {
		char value[256];
		ssize_t n =
			op_getxattr(node, list + i, value, sizeof(value) - 1);

		if (n < 0) {
			return (int)n;
		}
		value[n] = '\0';
		buf_addf(text, " %s=%s", list + i, value);
	}
	return size < 0 ? (int)size : 0;
}

/* Long ones are of few letters. */
static void dump_runs(const char *content, size_t size, struct buf *text)
{
	for (size_t at = 0; at < size;) {
		size_t end = at + 1;

		while (end < size && content[end] == content[at]) {
			end++;
		}
		buf_addf(text, " %zu*%02x", end - at, content[at] & 0xff);
		at = end;
	}
}

static int dump_content(struct node *node, struct buf *text)
{
	char content[4 * PATH_MAX];
	ssize_t n = 0;

	if (S_ISREG(node->type)) {
		n = op_read(node, content, sizeof(content), 0);
	} else if (S_ISLNK(node->type)) {
		n = op_readlink(node, content, sizeof(content));
	}
	if (n > 200) {
		dump_runs(content, (size_t)n, text);
	} else if (n > 0) {
		buf_addf(text, " '%.*s'", (int)n, content);
	}
	return n < 0 ? (int)n : 0;
}

static int dump_node(struct fs *which, struct node *node, const char *path,
		     struct buf *text)
{
	struct stat st;
	int error = op_getattr(which, node, &st);

	if (error) {
		return error;
	}
	buf_addf(text, "%s %06o", path, st.st_mode);
	if (!S_ISDIR(st.st_mode)) {
		buf_addf(text, " %lld links=%lu", (long long)st.st_size,
			 (unsigned long)st.st_nlink);
	}
	if (!S_ISDIR(st.st_mode) && st.st_mtim.tv_sec == OLD_TIME) {
		buf_addf(text, " old.%ld", st.st_mtim.tv_nsec);
	}
	error = dump_attrs(node, text);
	error = error ? error : dump_content(node, text);
	buf_addc(text, '\n');
	return error;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int dump_dir(struct fs *which, struct node *dir, const char *path,
		    struct buf *text)
{
	struct dirlist *list = NULL;
	const char *names[MAX_ENTRIES];
	size_t count = 0;
	int error = dirlist_current(which, dir, &list);

	for (size_t i = 0; !error && i < list->count; i++) {
		const char *name = dirlist_name(list, i);

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    count < MAX_ENTRIES) {
			names[count++] = name;
		}
	}
	qsort(names, count, sizeof(*names), compare_names);
	for (size_t i = 0; i < count && !error; i++) {
		AUTO_BUF below = BUF_INIT;
		struct entry entry;

		buf_addf(&below, "%s/%s", path, names[i]);
		error = walk(which, node_get(dir), names[i], &entry);
		if (error) {
			buf_addf(text, "%s is listed, but: %d\n", below.data,
				 error);
			break;
		}
		error = dump_node(which, entry.node, below.data, text);
		if (!error && node_is_dir(entry.node)) {
			error = dump_dir(which, entry.node, below.data, text);
		}
		node_put(&which->nodes, entry.node);
	}
	dirlist_put(list);
	return error;
}

int dump_tree(struct fs *which, struct buf *text)
{
	int error = dump_node(which, which->root, "", text);

	return error ? error : dump_dir(which, which->root, "", text);
}
