/*
 * The owner's helper, as an ordinary user: each test is a child that has
 * become one where the tests run as root. The children use none of cmocka's
 * asserts, which would go on with the tests in there, but CHECK.
 */
#include "owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sys.h"
#include "unit.h"

#define FALLBACK_ID 65534
#define THREADS     8
#define WAIT_MS     5000

#define CHECK(condition)                                                       \
	do {                                                                   \
		if (!(condition)) {                                            \
			fprintf(stderr, "%s:%d: %s is wrong\n", __FILE__,      \
				__LINE__, #condition);                         \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* Says what came instead. */
#define CHECK_IS(call, wanted)                                                 \
	do {                                                                   \
		long is_ = (long)(call);                                       \
		if (is_ != (long)(wanted)) {                                   \
			fprintf(stderr, "%s:%d: %s is %ld, not %ld\n",         \
				__FILE__, __LINE__, #call, is_,                \
				(long)(wanted));                               \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static uid_t user_uid = FALLBACK_ID;
static gid_t user_gid = FALLBACK_ID;

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	CHECK(dir);
	while (readdir(dir)) {
		count++;
	}
	closedir(dir);
	return count;
}

static int owner_setup(void **state)
{
	const char *name = getenv("LEGATO_TEST_USER");
	const struct passwd *user = name ? getpwnam(name) : NULL;

	temp_setup(state);
	if (user) {
		user_uid = user->pw_uid;
		user_gid = user->pw_gid;
	}
	if (geteuid() == 0) {
		/* Beside the folder there is a file that is root's. */
		temp_write("root's", "secret", 6);
		if (chmod("root's", 0600) || chmod(".", 0755)) {
			return -1;
		}
	}
	return mkdir("own", 0755) ||
	       (geteuid() == 0 && chown("own", user_uid, user_gid));
}

#define OWNER_TEST(f)                                                          \
	cmocka_unit_test_setup_teardown(f, owner_setup, temp_teardown)

static void become_ordinary(void)
{
	if (geteuid() == 0) {
		CHECK_IS(setresgid(user_gid, user_gid, user_gid), 0);
		CHECK_IS(syscall(SYS_setgroups, 0, NULL), 0);
		CHECK_IS(setresuid(user_uid, user_uid, user_uid), 0);
		/* As after an exec: else /proc/self is root's. */
		CHECK_IS(prctl(PR_SET_DUMPABLE, 1), 0);
	}
	umask(0);
}

/* Runs it in a child in the folder "own"; skips where the machine has no user
 * namespaces for ordinary users. */
static void run_as_user(void (*body)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		become_ordinary();
		CHECK_IS(chdir("own"), 0);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		skip();
	}
	assert_int_equal(status, 0);
}

static void start_helper(void)
{
	if (owner_start()) {
		_exit(77);
	}
	CHECK(owner_is_running());
}

static void write_file(const char *path, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_IS(write(fd, "text", 4), 4);
	CHECK_IS(fchmod(fd, mode), 0);
	close(fd);
}

/* "f" of mode 0000; "d", of mode `mode`, with "f", "l", "sub". */
static int make_folder(mode_t mode)
{
	int fd;

	write_file("f", 0);
	CHECK_IS(mkdir("d", 0700), 0);
	write_file("d/f", 0644);
	CHECK_IS(symlink("target", "d/l"), 0);
	CHECK_IS(mkdir("d/sub", 0755), 0);
	write_file("d/sub/g", 0644);
	fd = open("d", O_PATH | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_IS(chmod("d", mode), 0);
	return fd;
}

static int here(void)
{
	int fd = open(".", O_PATH | O_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* Reading and finding. `wanted` is what each has to give. */
static void find_and_read(int top, int dir, bool refused)
{
	struct stat st;
	char text[16];
	struct dirent *entry;
	DIR *stream;
	int path_fd = open("f", O_PATH | O_CLOEXEC);
	int fd = sys_openat(top, "f", O_RDONLY, 0);

	CHECK_IS(refused ? fd : fd >= 0, refused ? -EACCES : 1);
	if (!refused) {
		CHECK_IS(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		CHECK_IS(sys_pread(fd, text, sizeof(text), 0), 4);
		close(fd);
	}
	fd = sys_reopen(path_fd, O_RDWR);
	CHECK_IS(refused ? fd : fd >= 0, refused ? -EACCES : 1);
	close(fd);
	close(path_fd);
	fd = sys_open_beneath(top, "d/sub/g", O_RDONLY);
	CHECK_IS(refused ? fd : fd >= 0, refused ? -EACCES : 1);
	close(fd);
	CHECK_IS(sys_fstatat(dir, "f", &st), refused ? -EACCES : 0);
	CHECK(refused || st.st_size == 4);
	CHECK_IS(sys_readlinkat(dir, "l", text, sizeof(text)),
		 refused ? -EACCES : 6);
	CHECK(refused || memcmp(text, "target", 6) == 0);
	CHECK_IS(sys_opendirat(dir, "", &stream), refused ? -EACCES : 0);
	if (!refused) {
		CHECK_IS(sys_readdir(stream, &entry), 0);
		CHECK(entry);
		closedir(stream);
	}
}

static void change_attributes(int dir, bool refused)
{
	struct timespec times[2] = {{1, 2}, {3, 4}};
	struct stat st;
	char value[XATTR_SIZE_MAX];
	int error = refused ? -EACCES : 0;

	CHECK_IS(sys_fchmodat(dir, "f", 0600), error);
	CHECK_IS(sys_fchownat(dir, "f", geteuid(), getegid()), error);
	CHECK_IS(sys_utimensat(dir, "f", times), error);
	CHECK_IS(sys_setxattrat(dir, "f", "user.a", "value", 5, 0), error);
	CHECK_IS(sys_getxattrat(dir, "f", "user.a", value, sizeof(value)),
		 refused ? -EACCES : 5);
	CHECK_IS(sys_getxattrat(dir, "f", "user.a", NULL, 0),
		 refused ? -EACCES : 5);
	CHECK_IS(sys_getxattrat(dir, "f", "user.a", value, 2),
		 refused ? -EACCES : -ERANGE);
	CHECK_IS(sys_getxattrat(dir, "f", "user.b", value, 2),
		 refused ? -EACCES : -ENODATA);
	CHECK_IS(sys_listxattrat(dir, "f", value, sizeof(value)),
		 refused ? -EACCES : 7);
	CHECK(refused || strcmp(value, "user.a") == 0);
	CHECK_IS(sys_removexattrat(dir, "f", "user.a"), error);
	if (!refused) {
		CHECK_IS(sys_fstatat(dir, "f", &st), 0);
		CHECK_IS(st.st_mode & 07777, 0600);
		CHECK_IS(st.st_atim.tv_sec, 1);
		CHECK_IS(st.st_mtim.tv_sec, 3);
		CHECK_IS(st.st_mtim.tv_nsec, 4);
	}
}

static void change_names(int top, int dir, bool refused)
{
	int error = refused ? -EACCES : 0;
	int fd = sys_openat(dir, "new", O_RDWR | O_CREAT | O_EXCL, 0640);
	struct stat st;

	CHECK_IS(refused ? fd : fd >= 0, refused ? -EACCES : 1);
	CHECK_IS(sys_mkdirat(dir, "dir", 01751), error);
	CHECK_IS(sys_mknodat(dir, "fifo", S_IFIFO | 0622, 0), error);
	CHECK_IS(sys_mknodat(dir, "whiteout", S_IFCHR | 0600, 0), error);
	CHECK_IS(sys_symlinkat("to", dir, "symlink"), error);
	CHECK_IS(sys_linkat(top, "f", dir, "linked"), error);
	CHECK_IS(sys_renameat2(dir, "f", dir, "f2", 0), error);
	CHECK_IS(sys_renameat2(dir, "l", dir, "sub", 2), error);
	if (refused) {
		return;
	}
	CHECK_IS(sys_renameat2(dir, "sub", dir, "f2", 1), -EEXIST);
	CHECK_IS(sys_linkat(dir, "none", top, "x"), -ENOENT);
	CHECK_IS(sys_fstatat(dir, "dir", &st), 0);
	CHECK_IS(st.st_mode, S_IFDIR | 01751);
	CHECK_IS(st.st_uid, geteuid());
	CHECK_IS(sys_fstatat(dir, "new", &st), 0);
	CHECK_IS(st.st_mode, S_IFREG | 0640);
	CHECK_IS(sys_fstatat(dir, "fifo", &st), 0);
	CHECK_IS(st.st_mode, S_IFIFO | 0622);
	CHECK_IS(sys_fstatat(dir, "whiteout", &st), 0);
	CHECK(S_ISCHR(st.st_mode) && st.st_rdev == 0);
	close(fd);
	fd = sys_openat(top, ".", O_RDWR | O_TMPFILE, 0600);
	CHECK(fd >= 0);
	CHECK_IS(sys_link_fd(fd, dir, "named"), 0);
	close(fd);
	CHECK_IS(sys_unlinkat(dir, "named", 0), 0);
	CHECK_IS(sys_unlinkat(dir, "new", 0), 0);
	CHECK_IS(sys_unlinkat(dir, "dir", AT_REMOVEDIR), 0);
	CHECK_IS(sys_unlinkat(dir, "dir", AT_REMOVEDIR), -ENOENT);
}

static void calls_in_0000(void)
{
	int dir = make_folder(0);
	int top = here();

	find_and_read(top, dir, true);
	change_attributes(dir, true);
	change_names(top, dir, true);
	start_helper();
	find_and_read(top, dir, false);
	change_attributes(dir, false);
	change_names(top, dir, false);
	owner_stop();
	CHECK_IS(sys_openat(top, "f", O_RDONLY, 0), -EACCES);
}

static void works_in_a_directory_of_mode_0000(void **state)
{
	(void)state;
	run_as_user(calls_in_0000);
}

static void calls_in_0555(void)
{
	int dir = make_folder(0555);
	int top = here();

	change_names(top, dir, true);
	start_helper();
	change_names(top, dir, false);
	owner_stop();
}

static void works_in_a_directory_of_mode_0555(void **state)
{
	(void)state;
	run_as_user(calls_in_0555);
}

static void calls_on_root_s(void)
{
	struct stat st;
	int above = open("..", O_PATH | O_CLOEXEC);

	start_helper();
	CHECK_IS(sys_openat(above, "root's", O_RDONLY, 0), -EACCES);
	CHECK_IS(sys_openat(above, "root's", O_WRONLY | O_TRUNC, 0), -EACCES);
	CHECK_IS(sys_openat(above, "new", O_RDWR | O_CREAT, 0600), -EACCES);
	CHECK_IS(sys_unlinkat(above, "root's", 0), -EACCES);
	CHECK_IS(sys_fchmodat(above, "root's", 0666), -EPERM);
	CHECK_IS(sys_fstatat(above, "root's", &st), 0);
	CHECK_IS(st.st_size, 6);
	owner_stop();
}

static void other_users_files_stay_refused(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	run_as_user(calls_on_root_s);
}

/* The only child of this process, or 0. */
static pid_t find_helper(void)
{
	char path[64];
	FILE *children;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	children = fopen(path, "re");
	CHECK(children);
	if (fscanf(children, "%d", &pid) != 1) {
		pid = 0;
	}
	fclose(children);
	return pid;
}

static void kill_helper(void)
{
	int top = here();
	pid_t helper;
	siginfo_t info;

	write_file("f", 0);
	start_helper();
	helper = find_helper();
	CHECK(helper > 0);
	CHECK(sys_openat(top, "f", O_RDONLY, 0) >= 0);
	CHECK_IS(kill(helper, SIGKILL), 0);
	CHECK_IS(waitid(P_PID, (id_t)helper, &info, WEXITED | WNOWAIT), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_IS(sys_openat(top, "f", O_RDONLY, 0), -EACCES);
	}
	owner_stop();
	CHECK_IS(waitpid(-1, NULL, 0), -1);
	CHECK_IS(errno, ECHILD);
}

static void without_its_helper_refused_stays_refused(void **state)
{
	(void)state;
	run_as_user(kill_helper);
}

static void start_and_stop(void)
{
	int top = here();

	write_file("f", 0);
	for (int i = 0; i < 3; i++) {
		unsigned int fds = count_fds();

		start_helper();
		CHECK(sys_openat(top, "none", O_RDONLY, 0) == -ENOENT);
		owner_stop();
		CHECK(!owner_is_running());
		CHECK_IS(count_fds(), fds);
		CHECK_IS(waitpid(-1, NULL, 0), -1);
		CHECK_IS(errno, ECHILD);
	}
	owner_stop();
}

static void stopping_leaves_no_process(void **state)
{
	(void)state;
	run_as_user(start_and_stop);
}

/* What the helper inherits it must not keep: a lock, a mount, a pipe. */
static void look_at_descriptors(void)
{
	int pipe_fds[2];
	char path[64];
	char target[PATH_MAX];
	unsigned int sockets = 0;
	struct dirent *entry;
	DIR *dir;

	CHECK_IS(pipe(pipe_fds), 0);
	start_helper();
	snprintf(path, sizeof(path), "/proc/%d/fd", find_helper());
	dir = opendir(path);
	CHECK(dir);
	while ((entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target,
				       sizeof(target) - 1);

		if (n <= 0) {
			continue;
		}
		target[n] = '\0';
		if (strncmp(target, "socket:", 7) == 0) {
			sockets++;
		} else if (strcmp(target, "/dev/null") != 0) {
			fprintf(stderr, "the helper has '%s'\n", target);
			_exit(1);
		}
	}
	closedir(dir);
	CHECK_IS(sockets, 1);
	owner_stop();
}

static void helper_keeps_nothing_alive(void **state)
{
	(void)state;
	run_as_user(look_at_descriptors);
}

/* A grandchild starts the helper and is killed. */
static void die_without_stopping(void)
{
	int ends[2];
	pid_t child;
	pid_t helper = 0;
	char path[64];
	int i;

	CHECK_IS(pipe(ends), 0);
	/* So that it is ours to wait for. */
	CHECK_IS(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	child = fork();
	if (child == 0) {
		start_helper();
		helper = find_helper();
		CHECK_IS(write(ends[1], &helper, sizeof(helper)),
			 sizeof(helper));
		pause();
	}
	close(ends[1]);
	if (read(ends[0], &helper, sizeof(helper)) != sizeof(helper)) {
		_exit(77);
	}
	CHECK_IS(kill(child, SIGKILL), 0);
	CHECK_IS(waitpid(child, NULL, 0), child);
	snprintf(path, sizeof(path), "/proc/%d", helper);
	for (i = 0; i < WAIT_MS && !access(path, F_OK); i++) {
		waitpid(helper, NULL, WNOHANG);
		usleep(1000);
	}
	CHECK(i < WAIT_MS);
}

static void helper_dies_with_its_process(void **state)
{
	(void)state;
	run_as_user(die_without_stopping);
}

static void forbid_unshare(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_SIZE(code), code};

	CHECK_IS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_IS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

static void start_without_namespaces(void)
{
	int top = here();
	unsigned int fds = count_fds();

	write_file("f", 0);
	forbid_unshare();
	CHECK_IS(owner_start(), -EPERM);
	CHECK(!owner_is_running());
	CHECK_IS(sys_openat(top, "f", O_RDONLY, 0), -EACCES);
	owner_stop();
	CHECK_IS(count_fds(), fds);
	/* Not even a dead one is left. */
	CHECK_IS(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_IS(errno, ECHILD);
}

static void without_namespaces_refused_stays_refused(void **state)
{
	(void)state;
	run_as_user(start_without_namespaces);
}

static void *call_often(void *data)
{
	int top = *(const int *)data;
	uintptr_t failures = 0;

	for (int i = 0; i < 300; i++) {
		struct stat st;
		char text[8];
		int fd = sys_openat(top, i % 2 ? "f" : "g", O_RDONLY, 0);

		/* Each thread gets the answer to its own question. */
		failures += fd < 0 || fstat(fd, &st) ||
			    st.st_size != (i % 2 ? 4 : 6) ||
			    pread(fd, text, 8, 0) != st.st_size;
		close(fd);
	}
	return (void *)failures;
}

static void call_in_threads(void)
{
	pthread_t threads[THREADS];
	int top = here();

	write_file("f", 0);
	write_file("g", 0600);
	CHECK_IS(truncate("g", 6), 0);
	CHECK_IS(chmod("g", 0), 0);
	start_helper();
	for (int i = 0; i < THREADS; i++) {
		CHECK_IS(pthread_create(&threads[i], NULL, call_often, &top),
			 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *failures;

		pthread_join(threads[i], &failures);
		CHECK(!failures);
	}
	owner_stop();
}

static void threads_share_it(void **state)
{
	(void)state;
	run_as_user(call_in_threads);
}

static void root_needs_none(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(owner_start(), 0);
	assert_false(owner_is_running());
	owner_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OWNER_TEST(works_in_a_directory_of_mode_0000),
		OWNER_TEST(works_in_a_directory_of_mode_0555),
		OWNER_TEST(other_users_files_stay_refused),
		OWNER_TEST(without_its_helper_refused_stays_refused),
		OWNER_TEST(stopping_leaves_no_process),
		OWNER_TEST(helper_keeps_nothing_alive),
		OWNER_TEST(helper_dies_with_its_process),
		OWNER_TEST(without_namespaces_refused_stays_refused),
		OWNER_TEST(threads_share_it),
		OWNER_TEST(root_needs_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
