#include "bwrap.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <yyjson.h>

#include "argv.h"
#include "cgroup.h"
#include "err.h"
#include "failure.h"
#include "filter.h"
#include "strv.h"
#include "supervise.h"

#define KILL_TIMEOUT_MS 3000
#define STATUS_BYTES    4096
#define FIRST_OWN_FD    3

/* The descriptors that bwrap inherits; its own from here on. */
enum {
	HANDED_ARGS,    /* for --args */
	HANDED_COMMAND, /* for the shim */
	HANDED_FILTER,
	HANDED_STATUS,
	HANDED_ERROR, /* stderr, for the command */
	HANDED_SHIM,  /* the shim's end of a socket to us */
	HANDED_COUNT,
};

struct handed {
	int fds[HANDED_COUNT];
};

static void handed_close(const struct handed *handed)
{
	for (int i = 0; i < HANDED_COUNT; i++) {
		auto_close_fd(&handed->fds[i]);
	}
}

static int open_args(const struct argv_plan *plan, const struct handed *handed)
{
	struct argv_plan full = *plan;
	AUTO_STRV args = {0};

	full.seccomp_fd = handed->fds[HANDED_FILTER];
	full.status_fd = handed->fds[HANDED_STATUS];
	argv_add_options(&args, &full);
	return strv_to_memory(args.list);
}

static int open_status(struct bwrap *bwrap)
{
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0) {
		return -errno;
	}
	bwrap->status_fd = pair[0];
	if (fcntl(bwrap->status_fd, F_SETFL, O_NONBLOCK) < 0) {
		close(pair[1]);
		return -errno;
	}
	return pair[1];
}

static int open_shim(struct bwrap *bwrap)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return -errno;
	}
	bwrap->shim_fd = pair[0];
	return pair[1];
}

static int dup_error(int error_fd)
{
	int fd = fcntl(error_fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD);

	return fd < 0 ? -errno : fd;
}

static int handed_open(struct handed *handed, struct bwrap *bwrap,
		       const struct argv_plan *plan, char *const *command,
		       int error_fd)
{
	int *fds = handed->fds;

	fds[HANDED_FILTER] = take_fd(&bwrap->filter_fd);
	fds[HANDED_STATUS] = open_status(bwrap);
	fds[HANDED_ERROR] = dup_error(error_fd);
	fds[HANDED_SHIM] = open_shim(bwrap);
	fds[HANDED_COMMAND] = strv_to_memory(command);
	fds[HANDED_ARGS] = open_args(plan, handed);
	for (int i = 0; i < HANDED_COUNT; i++) {
		if (fds[i] < 0) {
			return fds[i];
		}
	}
	return 0;
}

static int join_cgroup(const void *data)
{
	return cgroup_join(data);
}

static int start(struct bwrap *bwrap, const struct handed *handed,
		 const char *program, const struct argv_plan *plan,
		 const int fds[3], const struct signals *signals)
{
	/* What bwrap is given could come to stand where the command can read
	 * it. */
	char *const nothing[] = {NULL};
	const struct child_options options = {
		.signals = signals,
		.environment = nothing,
		.keep_fds = handed->fds,
		.n_keep_fds = HANDED_COUNT,
		.input_fd = fds[STDIN_FILENO],
		.output_fd = fds[STDOUT_FILENO],
		.prepare = plan->cgroup ? join_cgroup : NULL,
		.prepare_data = plan->cgroup,
		.ignore_interrupts = true,
		.die_with_parent = true,
		.own_terminal = plan->terminal,
	};
	const struct argv_shim shim = {
		.mode = plan->terminal ? "terminal" : "init",
		.ignored = signals_ignored(signals),
		.error_fd = handed->fds[HANDED_ERROR],
		.command_fd = handed->fds[HANDED_COMMAND],
		.launcher_fd = handed->fds[HANDED_SHIM],
		.max_pids = plan->max_pids,
	};
	AUTO_STRV argv = {0};

	argv_add_command(&argv, program, handed->fds[HANDED_ARGS], &shim);
	return child_start(&bwrap->child, argv.list, &options);
}

int bwrap_prepare(struct bwrap *bwrap, bool nested)
{
	int fd = filter_open(nested);

	if (fd < 0) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make the seccomp filter: %s",
			       err_text(fd));
	}
	bwrap->filter_fd = fd;
	return 0;
}

int bwrap_start(struct bwrap *bwrap, const char *program,
		const struct argv_plan *plan, char *const *command,
		const int fds[3], const struct signals *signals)
{
	AUTO(handed_close) struct handed handed;
	int error =
		handed_open(&handed, bwrap, plan, command, fds[STDERR_FILENO]);

	/* The sandbox's init becomes our child when bwrap ends before it, so
	 * that its number stays its own until we have seen it end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	error = error ? error
		      : start(bwrap, &handed, program, plan, fds, signals);
	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot start '%s': %s",
			       program, err_text(error));
	}
	return 0;
}

static void take_report(struct bwrap *bwrap, yyjson_val *report)
{
	yyjson_val *init = yyjson_obj_get(report, "child-pid");
	yyjson_val *code = yyjson_obj_get(report, "exit-code");

	if (yyjson_is_int(init) && bwrap->init_fd < 0) {
		bwrap->init_fd = pidfd_open((pid_t)yyjson_get_int(init), 0);
	}
	if (yyjson_is_int(code)) {
		bwrap->reported = true;
		bwrap->exit_code = yyjson_get_int(code);
	}
}

/* One object after the other; the last one may not be whole yet. */
static void parse_reports(struct bwrap *bwrap)
{
	size_t used = 0;

	for (;;) {
		yyjson_doc *report = yyjson_read(bwrap->status.data + used,
						 bwrap->status.len - used,
						 YYJSON_READ_STOP_WHEN_DONE);

		if (!report) {
			break;
		}
		take_report(bwrap, yyjson_doc_get_root(report));
		used += yyjson_doc_get_read_size(report);
		yyjson_doc_free(report);
	}
	if (used > 0) {
		memmove(bwrap->status.data, bwrap->status.data + used,
			bwrap->status.len - used);
		buf_truncate(&bwrap->status, bwrap->status.len - used);
	}
}

void bwrap_read_status(struct bwrap *bwrap)
{
	char bytes[STATUS_BYTES];
	ssize_t len;

	while (bwrap->status_fd >= 0) {
		len = read(bwrap->status_fd, bytes, sizeof(bytes));
		if (len < 0 && errno == EINTR) {
			continue;
		}
		if (len < 0 && errno == EAGAIN) {
			break;
		}
		if (len <= 0) {
			close(TAKE_FD(bwrap->status_fd));
			break;
		}
		buf_add(&bwrap->status, bytes, (size_t)len);
	}
	parse_reports(bwrap);
}

/* A message of the shim: its byte, 0 for none; the command's pidfd, -1 if it
 * isn't there. */
static char receive(struct bwrap *bwrap, int *ret_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t len = recvmsg(bwrap->shim_fd, &message,
			      MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_fd = -1;
	if (len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR)) {
		close(TAKE_FD(bwrap->shim_fd));
	}
	header = len > 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS &&
	    header->cmsg_len == CMSG_LEN(sizeof(*ret_fd))) {
		memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	}
	return byte;
}

enum bwrap_news bwrap_read_shim(struct bwrap *bwrap)
{
	AUTO_FD fd = -1;
	char byte = bwrap->shim_fd < 0 ? 0 : receive(bwrap, &fd);

	if (byte == SUPERVISE_STARTED && bwrap->command_fd < 0) {
		bwrap->command_fd = TAKE_FD(fd);
		return bwrap->command_fd >= 0 ? BWRAP_STARTED : BWRAP_NO_NEWS;
	}
	return byte == SUPERVISE_STOPPED ? BWRAP_STOPPED : BWRAP_NO_NEWS;
}

void bwrap_go_on(const struct bwrap *bwrap)
{
	static const char byte = SUPERVISE_GO_ON;

	if (bwrap->shim_fd >= 0) {
		(void)!send(bwrap->shim_fd, &byte, 1, MSG_NOSIGNAL);
	}
}

int bwrap_signal_command(const struct bwrap *bwrap, int signal)
{
	if (bwrap->command_fd < 0) {
		return -ESRCH;
	}
	return pidfd_send_signal(bwrap->command_fd, signal, NULL, 0) < 0
		       ? -errno
		       : 0;
}

bool bwrap_end(struct bwrap *bwrap)
{
	bool gone;

	if (bwrap->child.pid_fd < 0) {
		return true;
	}
	child_kill(&bwrap->child);
	gone = child_wait(&bwrap->child, KILL_TIMEOUT_MS);
	bwrap_read_status(bwrap);
	if (bwrap->init_fd >= 0) {
		pidfd_send_signal(bwrap->init_fd, SIGKILL, NULL, 0);
		gone = child_poll_fd(bwrap->init_fd, KILL_TIMEOUT_MS) && gone;
	}
	return gone;
}

/* Whether this user may make a user namespace and map itself in it, which is
 * the step that AppArmor forbids on Ubuntu. In a child, since it can't be
 * undone. */
static bool user_namespaces_work(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		AUTO_FREE char *map =
			text_format("%u %u 1\n", geteuid(), geteuid());
		int fd;

		if (unshare(CLONE_NEWUSER) < 0) {
			_exit(1);
		}
		fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
		_exit(fd < 0 || write(fd, map, strlen(map)) < 0);
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || status == 0;
}

int bwrap_explain_failure(struct bwrap *bwrap)
{
	AUTO_BUF why = BUF_INIT;

	if (geteuid() != 0 && !user_namespaces_work()) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make the sandbox: this system refuses "
			       "user namespaces to ordinary users");
	}
	child_complaint(&bwrap->child, &why);
	if (why.len == 0) {
		child_describe_end(&bwrap->child, &why);
	}
	return failure(EXIT_NOT_SET_UP, "cannot make the sandbox: bwrap: %s",
		       why.data);
}

void bwrap_release(struct bwrap *bwrap)
{
	child_release(&bwrap->child);
	auto_close_fd(&bwrap->status_fd);
	auto_close_fd(&bwrap->shim_fd);
	auto_close_fd(&bwrap->filter_fd);
	auto_close_fd(&bwrap->init_fd);
	auto_close_fd(&bwrap->command_fd);
	buf_release(&bwrap->status);
	*bwrap = (struct bwrap)BWRAP_INIT;
}
