/* The folder of an execution: ids, the lock, finding, throwing away. */
#include "execution.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "manifest.h"
#include "remove.h"

#define DEEP 3000 /* levels: longer than PATH_MAX, more than open files */

static char *scratch;

static int make_scratch(void **state)
{
	char top[] = "/tmp/test-execution-XXXXXX";

	(void)state;
	if (!mkdtemp(top) || asprintf(&scratch, "%s/deep/scratch", top) < 0) {
		return -1;
	}
	return 0;
}

static int remove_scratch(void **state)
{
	AUTO_FD fd = -1;

	(void)state;
	*strstr(scratch, "/deep/") = '\0';
	fd = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (remove_content(fd, scratch, NULL) < 0 || rmdir(scratch) < 0) {
		return -1;
	}
	free(scratch);
	return 0;
}

static void give_name(const struct execution *execution, const char *name)
{
	struct manifest manifest;

	manifest_init(&manifest);
	manifest.id = strdup(execution->id);
	manifest.name = strdup(name);
	assert_int_equal(manifest_write(&manifest, execution->dir_fd), 0);
	manifest_release(&manifest);
}

static mode_t mode_in(const struct execution *execution, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(execution->dir_fd, name, &st, 0), 0);
	return st.st_mode & 07777;
}

static void create_makes_a_private_locked_folder(void **state)
{
	struct execution execution = EXECUTION_INIT;

	(void)state;
	assert_int_equal(execution_create(&execution, scratch), 0);
	assert_int_equal(strlen(execution.id), strlen("20261129-213501-kfqx"));
	assert_string_equal(strrchr(execution.path, '/') + 1, execution.id);
	assert_int_equal(mode_in(&execution, "."), 0700);
	assert_int_equal(mode_in(&execution, EXECUTION_MOUNT_DIR), 0700);
	assert_true(execution.lock_fd >= 0);
	assert_true(execution_is_living(&execution));
	execution_release(&execution);
	assert_int_equal(execution.dir_fd, -1);
}

static void ids_sort_by_time(void **state)
{
	struct execution executions[20];
	char **ids;
	size_t count;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(executions); i++) {
		executions[i] = (struct execution)EXECUTION_INIT;
		assert_int_equal(execution_create(&executions[i], scratch), 0);
		usleep(3000); /* two steps of the fraction */
	}
	assert_int_equal(execution_ids(scratch, &ids, &count), 0);
	assert_int_equal(count, ARRAY_SIZE(executions));
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(ids[i], executions[i].id);
		execution_release(&executions[i]);
	}
	execution_ids_free(ids, count);
}

static void other_names_are_no_ids(void **state)
{
	struct execution execution = EXECUTION_INIT;
	char **ids;
	size_t count;

	(void)state;
	assert_int_equal(execution_ids(scratch, &ids, &count), 0);
	assert_int_equal(count, 0);
	assert_int_equal(execution_create(&execution, scratch), 0);
	assert_int_equal(renameat(AT_FDCWD, execution.path, execution.dir_fd,
				  "../20261129-213501-kfq"),
			 0);
	assert_int_equal(execution_ids(scratch, &ids, &count), 0);
	assert_int_equal(count, 0);
	execution_release(&execution);
}

static void the_lock_is_exclusive_and_tells_life(void **state)
{
	struct execution first = EXECUTION_INIT;
	struct execution second = EXECUTION_INIT;

	(void)state;
	assert_int_equal(execution_create(&first, scratch), 0);
	assert_int_equal(execution_open(&second, scratch, first.id), 0);
	assert_int_equal(second.lock_fd, -1);
	assert_true(execution_is_living(&second));
	assert_int_equal(execution_lock(&second), -EWOULDBLOCK);
	execution_release(&first);
	assert_false(execution_is_living(&second));
	assert_int_equal(execution_lock(&second), 0);
	assert_true(execution_is_living(&second));
	execution_release(&second);
}

static void a_killed_owner_lives_no_more(void **state)
{
	struct execution execution = EXECUTION_INIT;
	int ready[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		struct execution owned = EXECUTION_INIT;

		if (execution_create(&owned, scratch) < 0 ||
		    write(ready[1], "", 1) < 0) {
			_exit(1);
		}
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(execution_open(&execution, scratch, NULL), 0);
	assert_true(execution_is_living(&execution));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_false(execution_is_living(&execution));
	close(ready[0]);
	execution_release(&execution);
}

static void open_takes_prefix_name_or_newest(void **state)
{
	struct execution a = EXECUTION_INIT;
	struct execution b = EXECUTION_INIT;
	struct execution found = EXECUTION_INIT;

	(void)state;
	assert_int_equal(execution_open(&found, scratch, NULL), -ENOENT);
	assert_int_equal(execution_create(&a, scratch), 0);
	assert_int_equal(execution_open(&found, scratch, "2"), 0);
	execution_release(&found);
	usleep(3000);
	assert_int_equal(execution_create(&b, scratch), 0);
	give_name(&a, "apple");
	assert_int_equal(execution_open(&found, scratch, NULL), 0);
	assert_string_equal(found.id, b.id);
	execution_release(&found);
	assert_int_equal(execution_open(&found, scratch, "apple"), 0);
	assert_string_equal(found.id, a.id);
	assert_string_equal(found.path, a.path);
	execution_release(&found);
	assert_int_equal(execution_open(&found, scratch, "2"), -ENOTUNIQ);
	assert_int_equal(execution_open(&found, scratch, ""), -ENOENT);
	assert_int_equal(execution_open(&found, scratch, "app"), -ENOENT);
	execution_release(&a);
	execution_release(&b);
}

static void views_have_their_folders(void **state)
{
	struct execution execution = EXECUTION_INIT;

	(void)state;
	assert_int_equal(execution_create(&execution, scratch), 0);
	assert_int_equal(execution_make_view(&execution, "work", false), 0);
	assert_int_equal(execution_make_view(&execution, "tmp", true), 0);
	assert_int_equal(execution_make_view(&execution, "tmp", true), -EEXIST);
	assert_int_equal(execution_make_view(&execution, "..", true), -EINVAL);
	assert_int_equal(mode_in(&execution, "views/work/upper"), 0700);
	assert_int_equal(mode_in(&execution, "views/tmp/base"), 0700);
	assert_int_equal(
		faccessat(execution.dir_fd, "views/work/base", F_OK, 0), -1);
	execution_release(&execution);
}

/* A chain of directories, made and left by descriptor: its path is too long
 * for any system call. */
static void make_deep(int top_fd)
{
	int at = dup(top_fd);

	for (int i = 0; i < DEEP; i++) {
		int next;

		assert_int_equal(mkdirat(at, "a-level-of-the-tree", 0700), 0);
		next = openat(at, "a-level-of-the-tree", O_PATH | O_CLOEXEC);
		assert_true(next >= 0);
		close(at);
		at = next;
	}
	close(at);
}

static void touch(int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void remove_copes_with_what_agents_leave(void **state)
{
	struct execution execution = EXECUTION_INIT;
	AUTO_FREE char *kept = NULL;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(execution_create(&execution, scratch), 0);
	fd = execution.dir_fd;
	assert_true(asprintf(&kept, "%s/kept", scratch) > 0);
	assert_int_equal(mkdir(kept, 0700), 0);
	assert_int_equal(symlinkat(kept, fd, "link"), 0);
	touch(fd, "link/file");
	assert_int_equal(mkdirat(fd, "shut", 0700), 0);
	assert_int_equal(mkdirat(fd, "shut/inner", 0700), 0);
	touch(fd, "shut/inner/file");
	assert_int_equal(fchmodat(fd, "shut/inner", 0, 0), 0);
	assert_int_equal(fchmodat(fd, "shut", 0, 0), 0);
	assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
	make_deep(fd);
	assert_int_equal(execution_remove(&execution), 0);
	assert_int_equal(stat(execution.path, &st), -1);
	assert_int_equal(stat(kept, &st), 0);
	assert_int_equal(st.st_nlink, 2);
	execution_release(&execution);
}

/* Enough that threads share the work, and what gets into their way. */
static void remove_takes_many_files_at_once(void **state)
{
	struct execution execution = EXECUTION_INIT;
	struct stat st;
	char name[64];

	(void)state;
	assert_int_equal(execution_create(&execution, scratch), 0);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(mkdirat(execution.dir_fd, name, 0700), 0);
		for (int k = 0; k < 100; k++) {
			snprintf(name, sizeof(name), "d%d/f%d", i, k);
			touch(execution.dir_fd, name);
		}
		snprintf(name, sizeof(name), "d%d", i);
		assert_int_equal(
			fchmodat(execution.dir_fd, name, i % 2 ? 0 : 0500, 0),
			0);
	}
	make_deep(execution.dir_fd);
	assert_int_equal(execution_remove(&execution), 0);
	assert_int_equal(stat(execution.path, &st), -1);
	execution_release(&execution);
}

/* As a bind mount of the same disk, which st_dev would not tell. */
static void remove_refuses_mounts(void **state)
{
	struct execution execution = EXECUTION_INIT;
	AUTO_FREE char *outside = NULL;
	AUTO_FREE char *mount_at = NULL;

	(void)state;
	if (unshare(CLONE_NEWNS) < 0) {
		skip();
	}
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(execution_create(&execution, scratch), 0);
	assert_true(asprintf(&outside, "%s/my own", scratch) > 0);
	assert_true(asprintf(&mount_at, "%s/a b", execution.path) > 0);
	assert_int_equal(mkdir(outside, 0700), 0);
	assert_int_equal(mkdir(mount_at, 0700), 0);
	assert_int_equal(mount(outside, mount_at, NULL, MS_BIND, NULL), 0);
	assert_int_equal(execution_remove(&execution), -EBUSY);
	assert_int_equal(mode_in(&execution, "lock"), 0600);
	assert_int_equal(umount(mount_at), 0);
	assert_int_equal(execution_remove(&execution), 0);
	execution_release(&execution);
}

static void create_refuses_a_file_as_scratch(void **state)
{
	struct execution execution = EXECUTION_INIT;

	(void)state;
	assert_int_equal(execution_create(&execution, "/dev/null"), -ENOTDIR);
	assert_int_equal(execution_create(&execution, "/dev/null/x"), -ENOTDIR);
	assert_int_equal(execution_create(&execution, ""), -ENOENT);
	assert_int_equal(execution.dir_fd, -1);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, make_scratch, remove_scratch)
	const struct CMUnitTest tests[] = {
		TEST(create_makes_a_private_locked_folder),
		TEST(ids_sort_by_time),
		TEST(other_names_are_no_ids),
		TEST(the_lock_is_exclusive_and_tells_life),
		TEST(a_killed_owner_lives_no_more),
		TEST(open_takes_prefix_name_or_newest),
		TEST(views_have_their_folders),
		TEST(create_refuses_a_file_as_scratch),
		TEST(remove_refuses_mounts),
		TEST(remove_copes_with_what_agents_leave),
		TEST(remove_takes_many_files_at_once),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
