#include "bwrap.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <yyjson.h>

#include "argv.h"
#include "err.h"
#include "failure.h"
#include "fdio.h"
#include "filter.h"
#include "strv.h"

#define KILL_TIMEOUT_MS 3000
#define STATUS_BYTES    4096
#define FIRST_OWN_FD    3

/* The descriptors that bwrap inherits; its own from here on. */
struct handed {
	int args_fd;
	int seccomp_fd;
	int status_fd;
	int error_fd; /* the real stderr, for the command */
};

#define HANDED_COUNT 4

static void handed_close(const struct handed *handed)
{
	auto_close_fd(&handed->args_fd);
	auto_close_fd(&handed->seccomp_fd);
	auto_close_fd(&handed->status_fd);
	auto_close_fd(&handed->error_fd);
}

static int handed_open(struct handed *handed, struct bwrap *bwrap)
{
	int pair[2];

	*handed = (struct handed){-1, -1, -1, -1};
	handed->seccomp_fd = filter_open();
	if (handed->seccomp_fd < 0) {
		return handed->seccomp_fd;
	}
	if (pipe2(pair, O_CLOEXEC) < 0) {
		return -errno;
	}
	bwrap->status_fd = pair[0];
	handed->status_fd = pair[1];
	if (fcntl(bwrap->status_fd, F_SETFL, O_NONBLOCK) < 0) {
		return -errno;
	}
	handed->args_fd = memfd_create("args", MFD_CLOEXEC);
	handed->error_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
	return handed->args_fd < 0 || handed->error_fd < 0 ? -errno : 0;
}

/* NUL after each argument, as --args wants it. */
static int write_args(int fd, const struct argv_plan *plan)
{
	AUTO_STRV args = {0};
	int error = 0;

	argv_add_options(&args, plan);
	for (size_t i = 0; !error && i < args.count; i++) {
		error = fdio_write_all(fd, args.list[i],
				       strlen(args.list[i]) + 1);
	}
	if (!error && lseek(fd, 0, SEEK_SET) != 0) {
		error = -errno;
	}
	return error;
}

static int start(struct bwrap *bwrap, const struct handed *handed,
		 const char *program, const struct argv_plan *plan,
		 char *const *command, const struct signals *signals)
{
	struct argv_plan full = *plan;
	const int keep[HANDED_COUNT] = {handed->args_fd, handed->seccomp_fd,
					handed->status_fd, handed->error_fd};
	const struct child_options options = {
		.signals = signals,
		.keep_fds = keep,
		.n_keep_fds = HANDED_COUNT,
		.output_fd = STDOUT_FILENO,
		.ignore_interrupts = true,
		.die_with_parent = true,
	};
	AUTO_STRV argv = {0};
	int error;

	full.seccomp_fd = handed->seccomp_fd;
	full.status_fd = handed->status_fd;
	error = write_args(handed->args_fd, &full);
	if (error) {
		return error;
	}
	argv_add_command(&argv, program, handed->args_fd,
			 signals_ignored(signals), handed->error_fd, command);
	return child_start(&bwrap->child, argv.list, &options);
}

int bwrap_start(struct bwrap *bwrap, const char *program,
		const struct argv_plan *plan, char *const *command,
		const struct signals *signals)
{
	AUTO(handed_close) struct handed handed;
	int error = handed_open(&handed, bwrap);

	/* The sandbox's init becomes our child when bwrap ends before it, so
	 * that its number stays its own until we have seen it end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	error = error ? error
		      : start(bwrap, &handed, program, plan, command, signals);
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
	auto_close_fd(&bwrap->init_fd);
	buf_release(&bwrap->status);
	*bwrap = (struct bwrap)BWRAP_INIT;
}
