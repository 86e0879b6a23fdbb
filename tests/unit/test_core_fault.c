/*
 * For each operation, the first system call fails, then the second, and so on
 * until none does. Whatever fails: the error is said, and the tree is as it
 * was, or as it is to be, and the process and the disk agree about it. What
 * changed nothing succeeds when it is tried again.
 *
 * The fault is chosen by LEGATO_FAULT, which a process reads once: each run is
 * a child, in a folder of its own. The children use none of cmocka's asserts,
 * which would go on with the tests in there.
 */
#include "legato-config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "attr.h"
#include "copyup.h"
#include "core_fixture.h"
#include "create.h"
#include "err.h"
#include "file.h"
#include "rename.h"
#include "sys.h"
#include "unit.h"
#include "unlink.h"

#define TREE_BYTES  8192
#define WRONG_BYTES 8192
#define CALLS_MAX   400
#define FAULTS      4
#define WIDE_BYTES  (3 * 4096 + 10)

/* What an operation is about; nodes are held while it runs, as the kernel
 * does. */
struct ends {
	struct node *dir;
	const char *name;
	struct node *node; /* at the name; NULL where there is nothing */
	struct node *to_dir;
	const char *to_name;
	unsigned int flags;
};

struct fault_case {
	const char *name;
	int (*run)(const struct ends *ends);
	const char *from;
	const char *to;
	unsigned int flags;
	/* A link count that can't be written stays one too high (links.h). */
	bool counts_links;
	bool by_blocks; /* blocks.h */
};

/* How far the child came: a fault may fire before the operation. */
enum stage {
	STAGE_STARTING,
	STAGE_PREPARING,
	STAGE_DONE,
};

/* Between the child and its parent. */
struct report {
	enum stage stage;
	int error; /* of the operation */
	bool fired;
	char tree[TREE_BYTES]; /* as another process sees it afterwards */
	char wrong[WRONG_BYTES];
};

static struct report *report;
static bool all_faults;
static char old_tree[TREE_BYTES];
static char new_tree[TREE_BYTES];

/* The operations */

static int put_entry(int error, const struct entry *entry)
{
	if (!error) {
		node_put(&fs.nodes, entry->node);
	}
	return error;
}

static int run_create(const struct ends *ends)
{
	struct entry entry;
	int error =
		op_create(&fs, ends->dir, ends->name, 0640, &caller, &entry);

	if (!error) {
		op_release(entry.node);
	}
	return put_entry(error, &entry);
}

static int run_mkdir(const struct ends *ends)
{
	struct entry entry;

	return put_entry(
		op_mkdir(&fs, ends->dir, ends->name, 0750, &caller, &entry),
		&entry);
}

static int run_mknod(const struct ends *ends)
{
	struct entry entry;

	return put_entry(op_mknod(&fs, ends->dir, ends->name, S_IFIFO | 0600, 0,
				  &caller, &entry),
			 &entry);
}

static int run_whiteout(const struct ends *ends)
{
	struct entry entry;

	return put_entry(op_mknod(&fs, ends->dir, ends->name, S_IFCHR | 0600, 0,
				  &caller, &entry),
			 &entry);
}

static int run_symlink(const struct ends *ends)
{
	struct entry entry;

	return put_entry(op_symlink(&fs, ends->dir, ends->name, "target",
				    &caller, &entry),
			 &entry);
}

static int run_link(const struct ends *ends)
{
	struct entry entry;

	return put_entry(op_link(&fs, ends->node, ends->to_dir, ends->to_name,
				 &caller, &entry),
			 &entry);
}

static int run_tmpfile(const struct ends *ends)
{
	struct entry entry;
	int error = op_tmpfile(&fs, ends->dir, 0600, &caller, &entry);

	if (!error) {
		op_release(entry.node);
	}
	return put_entry(error, &entry);
}

static int run_unlink(const struct ends *ends)
{
	return op_unlink(&fs, ends->dir, ends->name, &caller);
}

static int run_rmdir(const struct ends *ends)
{
	return op_rmdir(&fs, ends->dir, ends->name, &caller);
}

static int run_rename(const struct ends *ends)
{
	return op_rename(&fs, ends->dir, ends->name, ends->to_dir,
			 ends->to_name, ends->flags, &caller);
}

static int run_copyup(const struct ends *ends)
{
	return copyup_ensure(&fs, ends->node);
}

static int run_write(const struct ends *ends)
{
	ssize_t n = op_write(&fs, ends->node, "W", 1, 0, &caller);

	return n < 0 ? (int)n : n == 1 ? 0 : -ERANGE;
}

static int change(const struct ends *ends, struct attr_change what)
{
	struct stat st;

	return op_setattr(&fs, ends->node, &what, &caller, &st);
}

static int run_chmod(const struct ends *ends)
{
	return change(ends,
		      (struct attr_change){.flags = ATTR_MODE, .mode = 0700});
}

static int run_chown(const struct ends *ends)
{
	return change(ends, (struct attr_change){.flags = ATTR_UID | ATTR_GID,
						 .uid = caller.uid,
						 .gid = caller.gid});
}

static int run_truncate(const struct ends *ends)
{
	return change(ends,
		      (struct attr_change){.flags = ATTR_SIZE, .size = 2});
}

static int run_utimens(const struct ends *ends)
{
	return change(ends, (struct attr_change){.flags = ATTR_TIMES,
						 .times = {{1, 2}, {3, 4}}});
}

static int run_setxattr(const struct ends *ends)
{
	return op_setxattr(&fs, ends->node, "user.b", "2", 1, 0, &caller);
}

static int run_removexattr(const struct ends *ends)
{
	return op_removexattr(&fs, ends->node, "user.a", &caller);
}

static int run_open_truncating(const struct ends *ends)
{
	bool keep;
	int error =
		op_open(&fs, ends->node, O_WRONLY | O_TRUNC, &caller, &keep);

	if (!error) {
		op_release(ends->node);
	}
	return error;
}

/* As programs do that look at the result. */
static int write_bytes(const struct ends *ends, size_t size, off_t off)
{
	char data[WIDE_BYTES];
	size_t done = 0;

	memset(data, 'W', sizeof(data));
	while (done < size) {
		ssize_t n = op_write(&fs, ends->node, data, size - done,
				     off + (off_t)done, &caller);

		if (n <= 0) {
			return n ? (int)n : -ERANGE;
		}
		done += (size_t)n;
	}
	return 0;
}

/* With blocks that are covered whole and in part. */
static int run_wide_write(const struct ends *ends)
{
	return write_bytes(ends, 9000, 100);
}

/* After which nothing is left in the base. */
static int run_whole_write(const struct ends *ends)
{
	return write_bytes(ends, WIDE_BYTES, 0);
}

static int run_append(const struct ends *ends)
{
	ssize_t n = op_write(&fs, ends->node, "W", 1, WIDE_BYTES, &caller);

	return n < 0 ? (int)n : n == 1 ? 0 : -ERANGE;
}

static int run_punch(const struct ends *ends)
{
	return op_fallocate(&fs, ends->node,
			    FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096,
			    8192, &caller);
}

static int run_wide_truncate(const struct ends *ends)
{
	return change(ends,
		      (struct attr_change){.flags = ATTR_SIZE, .size = 5000});
}

static int run_grow(const struct ends *ends)
{
	return change(ends,
		      (struct attr_change){.flags = ATTR_SIZE, .size = 14000});
}

static int run_copy_range(const struct ends *ends)
{
	ssize_t n = op_copy_file_range(&fs, ends->node, 0, ends->node, 4, 2,
				       &caller);

	return n < 0 ? (int)n : 0;
}

/* The world, made by plain calls. False: it can't be made. */

static bool make_dirs(void)
{
	static const char *const dirs[] = {
		"base/d",     "base/d/sub", "base/empty", "base/m",
		"upper/m",    "upper/u",    "base/e2",    "upper/e2",
		"base/full",  "upper/ue",   "base/full2", "upper/full2",
		"base/gone2",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (mkdir(dirs[i], 0755)) {
			return false;
		}
	}
	return !setxattr("upper/u", "user.overlay.opaque", "y", 1, 0) &&
	       !setxattr("upper/ue", "user.overlay.opaque", "y", 1, 0);
}

static bool make_files(void)
{
	static const char *const files[] = {
		"base/f",      "base/g",       "base/d/f",      "base/d/sub/f",
		"base/m/gone", "base/e2/gone", "base/full/f",   "base/gone",
		"base/copied", "upper/copied", "upper/n",       "upper/u/f",
		"base/hard",   "base/full2/f", "upper/full2/g", "base/gone2/f",
	};
	struct timespec times[2] = {{OLD_TIME, 1}, {OLD_TIME, 2}};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = open(files[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		bool made = fd >= 0 && write(fd, files[i], 6) == 6 &&
			    !futimens(fd, times) &&
			    !fsetxattr(fd, "user.a", "1", 1, 0);

		close(fd);
		if (!made) {
			return false;
		}
	}
	return true;
}

/* Of several blocks. */
static bool make_wide_file(void)
{
	const struct timespec times[2] = {{OLD_TIME, 1}, {OLD_TIME, 2}};
	char data[WIDE_BYTES];
	int fd = open("base/wide", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	bool made;

	memset(data, 'w', sizeof(data));
	made = fd >= 0 && write(fd, data, sizeof(data)) == sizeof(data) &&
	       !futimens(fd, times);
	close(fd);
	return made;
}

static bool make_world(void)
{
	static const char *const whiteouts[] = {"upper/gone", "upper/m/gone",
						"upper/e2/gone", "upper/gone2"};

	if (core_make_folders() || !make_dirs() || !make_files() ||
	    !make_wide_file() || link("base/hard", "base/hard2") ||
	    symlink("x", "base/l")) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(whiteouts); i++) {
		if (mknod(whiteouts[i], S_IFCHR | 0600, 0)) {
			return false;
		}
	}
	return true;
}

/* The child */

__attribute__((format(printf, 1, 2))) static void wrong(const char *format, ...)
{
	size_t len = strlen(report->wrong);
	va_list args;

	va_start(args, format);
	vsnprintf(report->wrong + len, sizeof(report->wrong) - len, format,
		  args);
	va_end(args);
}

static int find_dir(const char *path, struct node **ret_dir,
		    const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	char above[64] = "";
	struct entry entry;
	int error;

	if (slash) {
		memcpy(above, path, (size_t)(slash - path));
	}
	error = core_find(&fs, above, &entry);
	*ret_dir = error ? NULL : entry.node;
	*ret_name = slash ? slash + 1 : path;
	return error;
}

static int prepare(const struct fault_case *one, struct ends *ends)
{
	struct entry entry;
	int error = find_dir(one->from, &ends->dir, &ends->name);

	if (error) {
		return error;
	}
	error = core_find(&fs, one->from, &entry);
	if (error && error != -ENOENT) {
		return error;
	}
	ends->node = error ? NULL : entry.node;
	ends->flags = one->flags;
	return one->to ? find_dir(one->to, &ends->to_dir, &ends->to_name) : 0;
}

static void put_ends(const struct ends *ends)
{
	node_put(&fs.nodes, ends->dir);
	node_put(&fs.nodes, ends->node);
	node_put(&fs.nodes, ends->to_dir);
}

/* The call after the operation fails just if none of the operation's did. */
static bool has_fired(int fault)
{
	struct statvfs st;

	return sys_fstatvfs(fs.views[0]->work_fd, &st) != -fault;
}

static void read_tree(struct fs *which, char text[TREE_BYTES])
{
	AUTO_BUF tree = BUF_INIT;
	int error = dump_tree(which, &tree);

	if (error) {
		wrong("the tree can't be read: %s\n%s", err_name(error),
		      tree.data);
	}
	snprintf(text, TREE_BYTES, "%s", tree.data);
}

/* As a new process will find it. */
static void read_fresh_tree(char text[TREE_BYTES])
{
	struct fs fresh;
	int error = core_open(&fresh, 1);

	text[0] = '\0';
	if (error) {
		wrong("it does not start again: %s\n", err_name(error));
		return;
	}
	read_tree(&fresh, text);
	fs_release(&fresh);
	if (count_entries("work")) {
		wrong("the start leaves something in work/\n");
	}
}

/* What failed and changed nothing succeeds when the fault is over. */
static void try_again(const struct fault_case *one, const struct ends *ends)
{
	char tree[TREE_BYTES];
	int error = one->run(ends);

	if (error) {
		wrong("tried again it fails: %s\n", err_name(error));
		return;
	}
	read_tree(&fs, tree);
	if (*new_tree && strcmp(tree, new_tree) != 0) {
		wrong("tried again it gives:\n%s", tree);
	}
}

/* Or else what the base gets later would show in it. */
static void check_new_directory(const struct fault_case *one)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "upper/%s", one->from);
	if (one->run == run_mkdir && !lstat(path, &st) && S_ISDIR(st.st_mode) &&
	    !is_opaque(path)) {
		wrong("the new directory is not opaque\n");
	}
}

static void check_afterwards(const struct fault_case *one,
			     const struct ends *ends)
{
	char seen[TREE_BYTES];

	read_tree(&fs, seen);
	read_fresh_tree(report->tree);
	check_new_directory(one);
	if (strcmp(seen, report->tree) != 0) {
		wrong("the process sees:\n%sthe disk has:\n%s", seen,
		      report->tree);
	}
	if (report->error && strcmp(report->tree, old_tree) == 0) {
		try_again(one, ends);
	}
}

static void run_in_child(const struct fault_case *one, int fault)
{
	unsigned int fds = count_fds();
	struct ends ends = {0};
	int error = core_open(&fs, 1);

	if (error) {
		return;
	}
	report->stage = STAGE_PREPARING;
	error = prepare(one, &ends);
	if (!error) {
		report->stage = STAGE_DONE;
		report->error = one->run(&ends);
		report->fired = has_fired(fault);
		check_afterwards(one, &ends);
	}
	put_ends(&ends);
	if (!error && nodes_count(&fs.nodes) != 1) {
		wrong("%zu nodes are left\n", nodes_count(&fs.nodes) - 1);
	}
	fs_release(&fs);
	if (count_fds() != fds) {
		wrong("%d descriptors leak\n", (int)count_fds() - (int)fds);
	}
}

#ifdef __SANITIZE_ADDRESS__
int __lsan_do_recoverable_leak_check(void);

static void check_memory(void)
{
	if (__lsan_do_recoverable_leak_check()) {
		wrong("memory leaks\n");
	}
}
#else
static void check_memory(void)
{
}
#endif

/* Runs the case with a fault at call `nth`; 0: none. */
static void run(const struct fault_case *one, unsigned long nth, int fault)
{
	static unsigned int worlds;
	char folder[16];
	char spec[64];
	int status;
	pid_t child;

	core_blocks_from = one->by_blocks;
	*report = (struct report){.stage = STAGE_STARTING};
	snprintf(folder, sizeof(folder), "%u", worlds++);
	snprintf(spec, sizeof(spec), "any:%lu:%d", nth, fault);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		setenv("LEGATO_FAULT", spec, 1);
		if (mkdir(folder, 0755) || chdir(folder) || !make_world()) {
			wrong("no world: %s\n", err_name(errno));
		} else {
			run_in_child(one, fault);
			check_memory();
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status) {
		wrong("the process died: status %#x\n", (unsigned int)status);
	}
}

/* The parent */

/* Errors that are said for others, on purpose. */
static bool is_sensible(int error, int fault)
{
	return error == -fault;
}

/* Puts "links=0" for each count. */
static void blot_out_links(char *tree)
{
	static const char word[] = "links=";

	while ((tree = strstr(tree, word))) {
		tree += strlen(word);
		*tree = '0';
	}
}

static bool is_same_tree(const struct fault_case *one, const char *a,
			 const char *b)
{
	char copies[2][TREE_BYTES];

	memcpy(copies[0], a, TREE_BYTES);
	memcpy(copies[1], b, TREE_BYTES);
	if (one->counts_links) {
		blot_out_links(copies[0]);
		blot_out_links(copies[1]);
	}
	return strcmp(copies[0], copies[1]) == 0;
}

static bool judge(const struct fault_case *one, unsigned long nth, int fault)
{
	bool is_new = is_same_tree(one, report->tree, new_tree);
	bool is_old = is_same_tree(one, report->tree, old_tree);

	if (report->stage == STAGE_DONE) {
		if (report->error && !is_sensible(report->error, fault)) {
			wrong("the error is %s\n", err_name(report->error));
		}
		if (!is_old && !is_new) {
			wrong("neither old nor new:\n%s", report->tree);
		}
		if (!report->error && !is_new) {
			wrong("success, but the tree is the old one\n");
		}
	}
	if (*report->wrong) {
		print_error("%s, call %lu fails with %s, result %s:\n%s",
			    one->name, nth, err_name(fault),
			    report->error ? err_name(report->error) : "0",
			    report->wrong);
	}
	return !*report->wrong;
}

static void learn_trees(const struct fault_case *one)
{
	static const struct fault_case nothing = {
		.name = "nothing", .run = run_tmpfile, .from = "f"};

	*old_tree = *new_tree = '\0';
	run(&nothing, 0, EIO);
	assert_string_equal(report->wrong, "");
	memcpy(old_tree, report->tree, TREE_BYTES);
	run(one, 0, EIO);
	if (*report->wrong) {
		print_error("%s", report->wrong);
	}
	assert_string_equal(report->wrong, "");
	assert_int_equal(report->error, 0);
	memcpy(new_tree, report->tree, TREE_BYTES);
}

/* Fails each call from `first` on with the faults in turn, beginning with that
 * of the index `turn`. Returns how many calls the start alone makes. */
static unsigned long sweep_once(const struct fault_case *one,
				unsigned long first, unsigned int turn,
				unsigned int *failures)
{
	static const int faults[FAULTS] = {ENOSPC, EIO, EMFILE, ENOMEM};
	unsigned long started = 0;
	unsigned long nth = first;

	do {
		int fault = faults[(nth + turn) % FAULTS];

		assert_true(nth < CALLS_MAX);
		run(one, nth, fault);
		*failures += !judge(one, nth, fault);
		if (!started && report->stage != STAGE_STARTING) {
			started = nth;
		}
		nth++;
	} while (report->stage != STAGE_DONE || report->fired);
	return started;
}

/* One turn of faults shows most; all of them take four times as long. */
static void sweep(void **state)
{
	static unsigned long started = 1;
	unsigned int turns = all_faults ? FAULTS : 1;
	unsigned int failures = 0;

	learn_trees(*state);
	for (unsigned int turn = 0; turn < turns; turn++) {
		started = sweep_once(*state, started, turn, &failures);
	}
	assert_int_equal(failures, 0);
}

static const struct fault_case cases[] = {
	{"create", run_create, "new", NULL, 0, false, false},
	{"create in a base directory", run_create, "d/sub/new", NULL, 0, false,
	 false},
	{"create over a whiteout", run_create, "gone", NULL, 0, false, false},
	{"tmpfile", run_tmpfile, "d/x", NULL, 0, false, false},
	{"mkdir", run_mkdir, "new", NULL, 0, false, false},
	{"mkdir over a whiteout", run_mkdir, "gone2", NULL, 0, false, false},
	{"mknod", run_mknod, "new", NULL, 0, false, false},
	{"mknod over a whiteout", run_mknod, "gone", NULL, 0, false, false},
	{"mknod of a whiteout", run_whiteout, "new", NULL, 0, false, false},
	{"mknod of a whiteout over one", run_whiteout, "gone", NULL, 0, false,
	 false},
	{"symlink", run_symlink, "new", NULL, 0, false, false},
	{"symlink over a whiteout", run_symlink, "gone", NULL, 0, false, false},
	{"link of a base file", run_link, "f", "new", 0, false, false},
	{"link of an upper file", run_link, "n", "d/new", 0, false, false},
	{"link over a whiteout", run_link, "n", "gone", 0, false, false},
	{"link of a linked base file", run_link, "hard", "new", 0, true, false},
	{"unlink of an upper file", run_unlink, "n", NULL, 0, false, false},
	{"unlink of a base file", run_unlink, "d/f", NULL, 0, false, false},
	{"unlink of a copied-up file", run_unlink, "copied", NULL, 0, false,
	 false},
	{"unlink of a linked base file", run_unlink, "hard", NULL, 0, true,
	 false},
	{"rmdir of an upper directory", run_rmdir, "ue", NULL, 0, false, false},
	{"rmdir of a base directory", run_rmdir, "empty", NULL, 0, false,
	 false},
	{"rmdir of a merged directory", run_rmdir, "m", NULL, 0, false, false},
	{"copy-up of a file", run_copyup, "d/sub/f", NULL, 0, false, false},
	{"copy-up of a directory", run_copyup, "d/sub", NULL, 0, false, false},
	{"copy-up of a symlink", run_copyup, "l", NULL, 0, false, false},
	{"copy-up of a linked file", run_copyup, "hard", NULL, 0, false, false},
	{"write to a base file", run_write, "d/f", NULL, 0, false, false},
	{"write to an upper file", run_write, "n", NULL, 0, false, false},
	{"write to a linked base file", run_write, "hard2", NULL, 0, false,
	 false},
	{"copy of a range", run_copy_range, "f", NULL, 0, false, false},
	{"open with O_TRUNC", run_open_truncating, "f", NULL, 0, false, false},
	{"chmod of a base file", run_chmod, "f", NULL, 0, false, false},
	{"chmod of a base directory", run_chmod, "d", NULL, 0, false, false},
	{"chown of a base file", run_chown, "f", NULL, 0, false, false},
	{"truncate of a base file", run_truncate, "f", NULL, 0, false, false},
	{"utimens of a base file", run_utimens, "f", NULL, 0, false, false},
	{"setxattr of a base file", run_setxattr, "f", NULL, 0, false, false},
	{"removexattr of a base file", run_removexattr, "f", NULL, 0, false,
	 false},
	{"rename of a base file", run_rename, "f", "d/new", 0, false, false},
	{"rename of an upper file", run_rename, "n", "new", 0, false, false},
	{"rename of a file onto one", run_rename, "f", "copied", 0, false,
	 false},
	{"rename of a file onto an upper one", run_rename, "f", "n", 0, false,
	 false},
	{"rename of a file onto a whiteout", run_rename, "f", "gone", 0, false,
	 false},
	{"rename of a linked file", run_rename, "hard", "new", 0, false, false},
	{"rename of a base directory", run_rename, "full", "new", 0, false,
	 false},
	{"rename of a merged directory", run_rename, "full2", "d/new", 0, false,
	 false},
	{"rename of an upper directory", run_rename, "u", "d/new", 0, false,
	 false},
	{"rename of a directory onto a whiteout", run_rename, "full", "gone2",
	 0, false, false},
	{"rename of an upper directory onto a whiteout", run_rename, "u",
	 "gone2", 0, false, false},
	{"rename of a directory onto a base one", run_rename, "full", "empty",
	 0, false, false},
	{"rename of a directory onto a merged one", run_rename, "full", "e2", 0,
	 false, false},
	{"rename of a directory onto an upper one", run_rename, "full", "ue", 0,
	 false, false},
	{"rename of an upper directory onto a merged one", run_rename, "u", "m",
	 0, false, false},
	{"rename of a symlink", run_rename, "l", "new", 0, false, false},
	{"exchange of files", run_rename, "f", "n", RENAME_EXCHANGE, false,
	 false},
	{"exchange of a file and a directory", run_rename, "f", "full",
	 RENAME_EXCHANGE, false, false},
	{"exchange of directories", run_rename, "full", "d", RENAME_EXCHANGE,
	 false, false},
	{"exchange of a base and an upper directory", run_rename, "full", "u",
	 RENAME_EXCHANGE, false, false},
	{"copy-up by blocks", run_copyup, "wide", NULL, 0, false, true},
	{"write by blocks", run_wide_write, "wide", NULL, 0, false, true},
	{"write of all blocks", run_whole_write, "wide", NULL, 0, false, true},
	{"append by blocks", run_append, "wide", NULL, 0, false, true},
	{"punch by blocks", run_punch, "wide", NULL, 0, false, true},
	{"truncate by blocks", run_wide_truncate, "wide", NULL, 0, false, true},
	{"grow by blocks", run_grow, "wide", NULL, 0, false, true},
	{"open with O_TRUNC by blocks", run_open_truncating, "wide", NULL, 0,
	 false, true},
	{"chmod by blocks", run_chmod, "wide", NULL, 0, false, true},
	{"rename by blocks", run_rename, "wide", "d/new", 0, false, true},
	{"rename onto a file by blocks", run_rename, "wide", "copied", 0, false,
	 true},
	{"write to a linked file by blocks", run_write, "hard2", NULL, 0, false,
	 true},
	{"unlink by blocks", run_unlink, "wide", NULL, 0, false, true},
};

static int remove_folders(void **state)
{
	return temp_teardown(state);
}

/* usage: test_core_fault [all|blocks] */
int main(int argc, char **argv)
{
	static struct CMUnitTest tests[ARRAY_SIZE(cases)];
	const char *what = argc > 1 ? argv[1] : "";
	size_t n = 0;

	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (report == MAP_FAILED) {
		return 1;
	}
	all_faults = strcmp(what, "all") == 0;
	core_prefer_memory();
	core_watches = all_faults;
	temp_new();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (!all_faults &&
		    cases[i].by_blocks != (strcmp(what, "blocks") == 0)) {
			continue;
		}
		tests[n++] = (struct CMUnitTest){
			.name = cases[i].name,
			.test_func = sweep,
			.initial_state = (void *)&cases[i],
		};
	}
	return _cmocka_run_group_tests("tests", tests, n, NULL, remove_folders);
}
