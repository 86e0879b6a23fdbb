#include "enter.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "buf.h"
#include "bwrap.h"
#include "env.h"
#include "failure.h"
#include "fdio.h"
#include "filter.h"
#include "privileges.h"
#include "spec.h"

#define CONTEXT_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define NESTED            "nested"
#define PROC_PATH_BYTES   64

/* The order of joining: the first is the user namespace that owns the mounts,
 * which has no name in /proc. */
static const struct {
	const char *name;
	int flag;
} namespaces[ENTER_NAMESPACES] = {
	{NULL, CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},  {"ipc", CLONE_NEWIPC},
	{"uts", CLONE_NEWUTS}, {"pid", CLONE_NEWPID}, {"user", CLONE_NEWUSER},
};

enum {
	INDEX_OWNER = 0,
	INDEX_MOUNTS = 1,
	INDEX_USER = 5,
};

/* The strings of the context. */
enum {
	CONTEXT_CWD = 0,
	CONTEXT_NESTED = 1,
	CONTEXT_PIDS = 2,
	CONTEXT_ENV = 3,
};

static void add_context(struct strv *context, const struct enter_given *given)
{
	const struct strv *lists[] = {&given->env->added, &given->env->passed};

	strv_add_all(context, given->spec->cwd,
		     given->spec->nested ? NESTED : "", NULL);
	strv_addf(context, "%" PRIu64, given->max_pids);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (size_t j = 0; j < lists[i]->count; j++) {
			strv_add(context, lists[i]->list[j]);
		}
	}
}

int enter_answer(const struct bwrap *bwrap, const struct enter_given *given,
		 int *ret_init_fd, int *ret_context_fd)
{
	AUTO_FD init_fd = -1;
	AUTO_STRV context = {0};
	int context_fd;

	if (bwrap->command_fd < 0 || bwrap->init_fd < 0) {
		return -ESRCH;
	}
	init_fd = fcntl(bwrap->init_fd, F_DUPFD_CLOEXEC, 0);
	if (init_fd < 0) {
		return -errno;
	}
	add_context(&context, given);
	context_fd = strv_to_memory(context.list);
	if (context_fd < 0) {
		return context_fd;
	}
	*ret_init_fd = TAKE_FD(init_fd);
	*ret_context_fd = context_fd;
	return 0;
}

static int read_context(struct enter *enter, int context_fd)
{
	AUTO_BUF text = BUF_INIT;
	int error;

	if (lseek(context_fd, 0, SEEK_SET) < 0) {
		return -errno;
	}
	error = fdio_read_all(context_fd, &text, CONTEXT_BYTES_MAX);
	if (error) {
		return error;
	}
	for (size_t at = 0; at < text.len; at += strlen(text.data + at) + 1) {
		strv_add(&enter->context, text.data + at);
	}
	return enter->context.count >= CONTEXT_ENV ? 0 : -EPROTO;
}

/* The number of the process behind a pidfd; 0 once it has ended. */
static pid_t pid_of(int pid_fd)
{
	AUTO_FREE char *path = text_format("/proc/self/fdinfo/%d", pid_fd);
	AUTO_FREE char *line = NULL;
	FILE *file = fopen(path, "re");
	size_t size = 0;
	int pid = 0;

	while (file && getline(&line, &size, file) > 0) {
		if (sscanf(line, "Pid: %d", &pid) == 1) {
			break;
		}
	}
	if (file) {
		fclose(file);
	}
	return pid > 0 ? pid : 0;
}

static bool is_ours(int ns_fd, const char *name)
{
	AUTO_FREE char *path = text_format("/proc/self/ns/%s", name);
	struct stat theirs;
	struct stat ours;

	return stat(path, &ours) == 0 && fstat(ns_fd, &theirs) == 0 &&
	       ours.st_ino == theirs.st_ino && ours.st_dev == theirs.st_dev;
}

static bool is_same(int a, int b)
{
	struct stat st_a;
	struct stat st_b;

	return a >= 0 && b >= 0 && fstat(a, &st_a) == 0 &&
	       fstat(b, &st_b) == 0 && st_a.st_ino == st_b.st_ino &&
	       st_a.st_dev == st_b.st_dev;
}

/* Those that we are in already are left out: joining them again is refused. */
static void leave_out_ours(struct enter *enter)
{
	if (is_same(enter->ns_fds[INDEX_OWNER], enter->ns_fds[INDEX_USER])) {
		close(TAKE_FD(enter->ns_fds[INDEX_USER]));
	}
	for (int i = 0; i < ENTER_NAMESPACES; i++) {
		const char *name =
			namespaces[i].name ? namespaces[i].name : "user";

		if (enter->ns_fds[i] >= 0 && is_ours(enter->ns_fds[i], name)) {
			close(TAKE_FD(enter->ns_fds[i]));
		}
	}
}

static int open_namespaces(struct enter *enter, pid_t pid)
{
	for (int i = 0; i < ENTER_NAMESPACES; i++) {
		char path[PROC_PATH_BYTES];

		if (!namespaces[i].name) {
			continue;
		}
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid,
			 namespaces[i].name);
		enter->ns_fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		if (enter->ns_fds[i] < 0) {
			return -errno;
		}
	}
	enter->ns_fds[INDEX_OWNER] =
		ioctl(enter->ns_fds[INDEX_MOUNTS], NS_GET_USERNS);
	return enter->ns_fds[INDEX_OWNER] < 0 ? -errno : 0;
}

int enter_prepare(struct enter *enter, int init_fd, int context_fd)
{
	struct pollfd ended = {.fd = init_fd, .events = POLLIN};
	pid_t pid = pid_of(init_fd);
	int error = pid > 0 ? read_context(enter, context_fd) : -ESRCH;

	error = error ? error : open_namespaces(enter, pid);
	/* While it lives its number was nobody else's. */
	if (poll(&ended, 1, 0) != 0) {
		error = -ESRCH;
	}
	if (error) {
		return error;
	}
	leave_out_ours(enter);
	enter->filter_fd = filter_open(
		strcmp(enter->context.list[CONTEXT_NESTED], NESTED) == 0);
	return enter->filter_fd < 0 ? enter->filter_fd : 0;
}

int enter_join(const struct enter *enter)
{
	for (int i = 0; i < ENTER_NAMESPACES; i++) {
		if (enter->ns_fds[i] >= 0 &&
		    setns(enter->ns_fds[i], namespaces[i].flag) < 0) {
			return -errno;
		}
	}
	return 0;
}

uint64_t enter_max_pids(const struct enter *enter)
{
	return strtoull(enter->context.list[CONTEXT_PIDS], NULL, 10);
}

char *const *enter_environment(const struct enter *enter)
{
	return enter->context.list + CONTEXT_ENV;
}

int enter_confine(const struct enter *enter)
{
	bool is_root = enter->ns_fds[INDEX_OWNER] < 0 && geteuid() == 0;
	int error;

	if (chdir(enter->context.list[CONTEXT_CWD]) < 0) {
		return -errno;
	}
	error = privileges_drop(is_root);
	return error ? error : filter_install(enter->filter_fd);
}

void enter_release(struct enter *enter)
{
	strv_release(&enter->context);
	auto_close_fd(&enter->filter_fd);
	for (int i = 0; i < ENTER_NAMESPACES; i++) {
		auto_close_fd(&enter->ns_fds[i]);
	}
	*enter = (struct enter)ENTER_INIT;
}
