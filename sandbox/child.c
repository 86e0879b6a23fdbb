#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "duration.h"
#include "err.h"
#include "fdio.h"

#define OUTPUT_MAX_BYTES ((size_t)1024 * 1024)
#define EXEC_FAILED      127

static void ignore_interrupts(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* Fails only where there is nothing left to do but to end. */
static int set_up_fds(const struct child *child,
		      const struct child_options *options)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0 || dup2(child->errors_fd, STDERR_FILENO) < 0 ||
	    dup2(options->no_input ? null_fd : options->input_fd,
		 STDIN_FILENO) < 0 ||
	    (options->output_fd != STDOUT_FILENO &&
	     dup2(options->output_fd, STDOUT_FILENO) < 0)) {
		return -errno;
	}
	for (size_t i = 0; i < options->n_keep_fds; i++) {
		if (fcntl(options->keep_fds[i], F_SETFD, 0) < 0) {
			return -errno;
		}
	}
	return 0;
}

static void tie_to_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(EXEC_FAILED); /* it died before the call */
	}
}

static int prepare(const struct child_options *options)
{
	int error;

	if (options->own_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0) {
		return -errno;
	}
	error = options->prepare ? options->prepare(options->prepare_data) : 0;

	errno = -error;
	return error;
}

static _Noreturn void become(const struct child *child, pid_t parent,
			     char *const argv[],
			     const struct child_options *options)
{
	if (options->die_with_parent) {
		tie_to_parent(parent);
	}
	if (options->own_session || options->own_terminal) {
		setsid();
	}
	if (options->signals) {
		signals_restore_in_child(options->signals);
	}
	if (options->ignore_interrupts) {
		ignore_interrupts();
	}
	if (set_up_fds(child, options) == 0 && prepare(options) == 0 &&
	    (!options->directory || chdir(options->directory) == 0)) {
		execve(argv[0], argv,
		       options->environment ? options->environment : environ);
	}
	dprintf(STDERR_FILENO, "cannot run '%s': %s\n", argv[0],
		err_text(errno));
	_exit(EXEC_FAILED);
}

int child_fork(struct child *child)
{
	struct child forked = CHILD_INIT;
	int error;

	forked.pid = fork();
	if (forked.pid > 0) {
		forked.pid_fd = pidfd_open(forked.pid, 0);
	}
	if (forked.pid < 0 || (forked.pid > 0 && forked.pid_fd < 0)) {
		error = -errno;
		if (forked.pid > 0) {
			kill(forked.pid, SIGKILL);
			waitpid(forked.pid, NULL, 0);
		}
		return error;
	}
	*child = forked;
	return 0;
}

int child_start(struct child *child, char *const argv[],
		const struct child_options *options)
{
	AUTO_FD errors_fd = memfd_create("stderr", MFD_CLOEXEC);
	struct child started;
	pid_t parent = getpid();
	int error = errors_fd < 0 ? -errno : child_fork(&started);

	if (error) {
		return error;
	}
	started.errors_fd = TAKE_FD(errors_fd);
	if (started.pid == 0) {
		become(&started, parent, argv, options);
	}
	*child = started;
	return 0;
}

bool child_poll_fd(int fd, int timeout_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int64_t deadline = duration_now_ms() + timeout_ms;

	for (;;) {
		int64_t left =
			timeout_ms < 0 ? -1 : deadline - duration_now_ms();
		int n;

		if (timeout_ms >= 0 && left < 0) {
			left = 0;
		}
		n = poll(&poll_fd, 1, (int)left);
		if (n > 0) {
			return true;
		}
		if (n == 0 || errno != EINTR) {
			return false;
		}
	}
}

bool child_wait(struct child *child, int timeout_ms)
{
	if (child->pid == 0) {
		return true;
	}
	if (!child_poll_fd(child->pid_fd, timeout_ms)) {
		return false;
	}
	while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR) {
	}
	child->pid = 0;
	return true;
}

void child_kill(const struct child *child)
{
	if (child->pid > 0) {
		kill(child->pid, SIGKILL);
	}
}

void child_complaint(const struct child *child, struct buf *line)
{
	char text[1024];
	ssize_t len = pread(child->errors_fd, text, sizeof(text) - 1, 0);
	char *start = text;
	char *colon;

	if (len <= 0) {
		return;
	}
	text[len] = '\0';
	text[strcspn(text, "\n")] = '\0';
	colon = strstr(text, ": ");
	/* A program's name has no blank in it. */
	if (colon && memchr(text, ' ', (size_t)(colon - text)) == NULL) {
		start = colon + 2;
	}
	buf_adds(line, start);
}

void child_describe_end(const struct child *child, struct buf *text)
{
	if (WIFSIGNALED(child->status)) {
		buf_addf(text, "signal %d", WTERMSIG(child->status));
	} else {
		buf_addf(text, "exit status %d", WEXITSTATUS(child->status));
	}
}

void child_release(struct child *child)
{
	auto_close_fd(&child->pid_fd);
	auto_close_fd(&child->errors_fd);
	*child = (struct child)CHILD_INIT;
}

int child_ask(struct child_question *question, char *const argv[],
	      const char *directory, const struct signals *signals)
{
	AUTO_FD output_fd = memfd_create("stdout", MFD_CLOEXEC);
	const struct child_options options = {
		.signals = signals,
		.directory = directory,
		.output_fd = output_fd,
		.no_input = true,
	};
	int error = output_fd < 0 ? -errno : 0;

	error = error ? error : child_start(&question->child, argv, &options);
	if (!error) {
		question->output_fd = TAKE_FD(output_fd);
	}
	return error;
}

int child_answer(struct child_question *question, struct buf *output)
{
	struct child *child = &question->child;
	int result;

	child_wait(child, -1);
	result = WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -EINTR;
	if (output) {
		int error;

		lseek(question->output_fd, 0, SEEK_SET);
		error = fdio_read_all(question->output_fd, output,
				      OUTPUT_MAX_BYTES);
		result = error ? error : result;
	}
	child_question_release(question);
	return result;
}

void child_question_release(struct child_question *question)
{
	child_release(&question->child);
	auto_close_fd(&question->output_fd);
	*question = (struct child_question)CHILD_QUESTION_INIT;
}

int child_run(char *const argv[], const char *directory,
	      const struct signals *signals, struct buf *output)
{
	struct child_question question = CHILD_QUESTION_INIT;
	int error = child_ask(&question, argv, directory, signals);

	return error ? error : child_answer(&question, output);
}
