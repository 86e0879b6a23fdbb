/*
 * core_fixture.h - a view on temporary folders, served without a mount.
 *
 * core_setup() goes to an empty folder with `upper`, `work`, `base`, `base2`
 * and `base3`. A test fills the bases with the make_* functions, which are
 * plain calls, and then starts a `struct fs` on them with core_start(). What
 * it gets by at() it puts by node_put(), as a request does; core_teardown()
 * fails the test where a node or a descriptor is left over.
 *
 * Paths with the prefix "base/" or "upper/" are the disk's, the others are
 * paths in the view. Helpers that do not return an error fail the test.
 */
#ifndef TESTS_UNIT_CORE_FIXTURE_H
#define TESTS_UNIT_CORE_FIXTURE_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "buf.h"
#include "lookup.h"
#include "view.h"

/* Bounds the descriptors kept of directories, and of files. */
#define CORE_FDS_MAX 16

extern struct fs fs;
extern struct caller caller;

/* For tests with thousands of folders, which a disk takes half a minute for:
 * temporary folders in memory, where that has attributes (Linux 6.6). */
void core_prefer_memory(void);

/* What the views that are started from now on mask; NULL: nothing. Each test
 * starts without. */
extern char *const *core_masks;

/* Whether the base is watched; it is slow to stop that again (the kernel waits
 * for all others that look at its lists). */
extern bool core_watches;

/* From which size on files are copied up by blocks; 0: none. */
extern off_t core_blocks_from;

int core_setup(void **state);
int core_teardown(void **state);
#define CORE_TEST(f)                                                           \
	cmocka_unit_test_setup_teardown(f, core_setup, core_teardown)

/* The folders alone, in the current one. No system call through sys.h is made
 * (a fault is chosen by the first one). 0 or -1. */
int core_make_folders(void);

/* Starts on `base` and as many more as `lowers` says; 0 is none at all. */
void core_start(unsigned int lowers);
/* 0 or -errno; *ret_fs is the caller's. */
int core_open(struct fs *ret_fs, unsigned int lowers);
/* Serves any folder as if it were an upper alone. */
int core_open_plain(struct fs *ret_fs, const char *upper);
/* Ends it and checks that only the root's node was left. */
void core_stop(void);
/* Forgets everything and starts on the same folders again. */
void core_restart(void);

/* On the disk. make_file sets a time long ago: it must not change. */
#define OLD_TIME 1000000000
void make_file(const char *path, const char *text);
void make_dir(const char *path);
void make_link(const char *path, const char *target);
void make_fifo(const char *path);
void make_whiteout(const char *path);
void make_opaque(const char *path);
void set_attr(const char *path, const char *attr, const char *value);

bool on_disk(const char *path);
bool is_whiteout(const char *path);
bool is_opaque(const char *path);
/* "" where there is none. */
const char *redirect_of(const char *path);
unsigned int count_entries(const char *dir);
unsigned int count_fds(void);

/* 0 or -errno: what is at `path` of the view, a reference for the caller. */
int core_find(struct fs *which, const char *path, struct entry *ret_entry);

/* The same, where it must be there. */
struct node *at(const char *path);
struct stat stat_at(const char *path);
int error_at(const char *path); /* 0 or -errno */
#define assert_gone(path)  assert_int_equal(error_at(path), -ENOENT)
#define assert_there(path) assert_int_equal(error_at(path), 0)

/* The directory of a path, and its last component. */
struct parent {
	struct node *node;
	const char *name;
};
struct parent parent_of(const char *path);

/* The operations by path; 0 or -errno. The node is put. */
int view_create(const char *path, const char *text);
int view_mkdir(const char *path);
int view_unlink(const char *path);
int view_rmdir(const char *path);
int view_symlink(const char *path, const char *target);
int view_link(const char *from, const char *to);
int view_rename(const char *from, const char *to, unsigned int flags);
int view_write(const char *path, const char *text, off_t off);
int view_chmod(const char *path, mode_t mode);

/* The file's text; the next call replaces it. */
const char *text_of(struct node *node);
const char *text_at(const char *path);
#define assert_text(path, text) assert_string_equal(text_at(path), text)

/*
 * The whole tree as text, one line an entry, sorted: type, mode, size, links,
 * time where it is OLD_TIME, attributes, content. Two equal texts are two
 * equal trees. With a `struct fs` of its own: 0 or -errno.
 */
int dump_tree(struct fs *which, struct buf *text);

#endif
