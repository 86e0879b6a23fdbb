/* exec: another command in a sandbox that runs one. */
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "argv.h"
#include "child.h"
#include "enter.h"
#include "err.h"
#include "execution.h"
#include "failure.h"
#include "pty.h"
#include "relay.h"
#include "remote.h"
#include "signals.h"
#include "state.h"
#include "supervise.h"
#include "usage.h"

#define KILL_TIMEOUT_MS 3000

struct exec {
	struct signals signals;
	struct relay relay;
	struct pty pty;
	struct enter enter;
	char *const *command;
	int remote_fd;
	int job_fds[2]; /* between us and the process between */
};

static int ask_for_entry(struct exec *exec, const char *id)
{
	int fds[2] = {-1, -1};
	int error = remote_ask(exec->remote_fd, "enter", fds, 2);

	error = error ? error : enter_prepare(&exec->enter, fds[0], fds[1]);
	auto_close_fd(&fds[0]);
	auto_close_fd(&fds[1]);
	return error ? failure(EXIT_NOT_SET_UP, "cannot enter '%s': %s", id,
			       error == -ESRCH || error == -EPIPE
				       ? "it has ended, or not begun"
				       : err_text(error))
		     : 0;
}

/* In a child of the one that joined: becomes the command. */
static _Noreturn void become(const struct exec *exec, int command_fd)
{
	const struct argv_shim shim = {
		.mode = "become",
		.ignored = signals_ignored(&exec->signals),
		.error_fd = STDERR_FILENO,
		.command_fd = command_fd,
		.launcher_fd = -1,
		.max_pids = enter_max_pids(&exec->enter),
	};
	struct strv argv = {0};
	int error = enter_confine(&exec->enter);

	if (error) {
		_exit(failure(EXIT_NOT_SET_UP, "cannot confine the command: %s",
			      err_text(error)));
	}
	argv_add_shim(&argv, &shim);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)fcntl(command_fd, F_SETFD, 0); /* the shim reads and closes it */
	execve(argv.list[0], argv.list, enter_environment(&exec->enter));
	_exit(failure(EXIT_NOT_SET_UP, "cannot run '%s': %s", argv.list[0],
		      err_text(errno)));
}

static int set_up_fds(const struct exec *exec)
{
	if (exec->pty.used) {
		setsid();
	}
	for (int i = 0; i < RELAY_STREAMS; i++) {
		if (exec->relay.fds[i] != i &&
		    dup2(exec->relay.fds[i], i) < 0) {
			return -errno;
		}
	}
	return exec->pty.used && ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0 ? -errno
								       : 0;
}

/* This process does not become another program: what it kept would stay open,
 * and its child can be seen by what runs in the sandbox. */
static void close_others(const struct exec *exec, int command_fd)
{
	const int keep[] = {command_fd, exec->enter.filter_fd,
			    exec->job_fds[1]};
	unsigned int first = STDERR_FILENO + 1;
	unsigned int next;

	do {
		next = ~0U;
		for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
			if (keep[i] >= (int)first &&
			    (unsigned int)keep[i] < next) {
				next = (unsigned int)keep[i];
			}
		}
		if (next > first) {
			close_range(first, next == ~0U ? next : next - 1, 0);
		}
		first = next + 1;
	} while (next != ~0U);
}

/* In a child with one thread, which stays outside the sandbox's processes and
 * passes on how the command ended. */
static _Noreturn void be_between(const struct exec *exec, int command_fd,
				 pid_t parent)
{
	int error;
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(EXIT_NOT_SET_UP);
	}
	/* What runs inside sees our child before that is the command, and must
	 * not reach through its descriptors, or trace it. */
	prctl(PR_SET_DUMPABLE, 0);
	error = enter_join(&exec->enter);
	error = error ? error : set_up_fds(exec);
	if (error) {
		_exit(failure(EXIT_NOT_SET_UP, "cannot join the sandbox: %s",
			      err_text(error)));
	}
	close_others(exec, command_fd);
	supervise_block();
	pid = fork();
	if (pid == 0) {
		if (exec->pty.used) {
			supervise_own_group();
		}
		signals_restore_in_child(&exec->signals);
		become(exec, command_fd);
	}
	/* What the terminal sends is the command's. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	if (pid < 0) { /* ENOMEM is how a process namespace says it is over */
		_exit(failure(EXIT_NOT_SET_UP, "cannot start a process: %s",
			      errno == ENOMEM ? "the sandbox has ended"
					      : err_text(errno)));
	}
	_exit(supervise(pid, exec->job_fds[1], exec->pty.used));
}

/* The command has stopped: our job does, and goes on with it. */
static void stop_job(struct exec *exec)
{
	static const char go_on = SUPERVISE_GO_ON;
	char byte;

	if (recv(exec->job_fds[0], &byte, 1, MSG_DONTWAIT) == 1) {
		pty_stop_job(&exec->pty);
		(void)!send(exec->job_fds[0], &go_on, 1, MSG_NOSIGNAL);
	}
}

static int wait_for_command(struct exec *exec, struct child *child)
{
	struct pollfd fds[] = {
		{.fd = exec->signals.fd, .events = POLLIN},
		{.fd = child->pid_fd, .events = POLLIN},
		{.fd = exec->pty.used ? exec->job_fds[0] : -1,
		 .events = POLLIN},
	};
	int asked = 0;

	while (!asked &&
	       (poll(fds, ARRAY_SIZE(fds), -1) < 0 || !fds[1].revents)) {
		for (int s; (s = signals_next(&exec->signals)) != 0;) {
			asked = signals_means_end(s) ? s : asked;
			if (!asked && exec->pty.used) {
				pty_signal(&exec->pty, s);
			}
		}
		if (fds[2].revents) {
			stop_job(exec);
		}
	}
	if (asked) {
		child_kill(child);
	}
	child_wait(child, KILL_TIMEOUT_MS);
	if (asked) {
		return EXIT_SIGNAL_BASE + asked;
	}
	return WIFEXITED(child->status)
		       ? WEXITSTATUS(child->status)
		       : EXIT_SIGNAL_BASE + WTERMSIG(child->status);
}

static int start_streams(struct exec *exec)
{
	int error = relay_start(&exec->relay);

	error = error ? error : pty_start(&exec->pty, exec->relay.fds);
	if (exec->pty.used) {
		signals_leave_terminal(&exec->signals);
	}
	return error || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				   exec->job_fds) == 0
		       ? error
		       : -errno;
}

static int run_inside(struct exec *exec)
{
	struct child child = CHILD_INIT;
	AUTO_FD command_fd = strv_to_memory(exec->command);
	const pid_t parent = getpid();
	int error = command_fd < 0 ? command_fd : start_streams(exec);
	int code;

	if (!error) {
		error = child_fork(&child);
		if (error == 0 && child.pid == 0) {
			be_between(exec, command_fd, parent);
		}
	}
	relay_let_go(&exec->relay);
	pty_let_go(&exec->pty);
	auto_close_fd(&exec->job_fds[1]);
	exec->job_fds[1] = -1;
	code = error ? 0 : wait_for_command(exec, &child);
	relay_finish(&exec->relay);
	pty_finish(&exec->pty);
	auto_close_fd(&exec->job_fds[0]);
	if (error) {
		code = failure(EXIT_NOT_SET_UP, "cannot start a process: %s",
			       err_text(error));
	}
	child_release(&child);
	return code;
}

static int exec_in(struct exec *exec, const struct execution *execution,
		   const char *id)
{
	int error;
	int code;

	exec->remote_fd = remote_connect(execution);
	if (exec->remote_fd < 0) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot enter '%s': it runs no command", id);
	}
	code = ask_for_entry(exec, id);
	if (code) {
		return code;
	}
	error = signals_take(&exec->signals);
	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot take signals: %s",
			       err_text(error));
	}
	code = run_inside(exec);
	signals_give_back(&exec->signals);
	return code;
}

int verb_exec(int argc, char **argv)
{
	struct execution execution = EXECUTION_INIT;
	struct exec exec = {
		.relay = RELAY_INIT,
		.pty = PTY_INIT,
		.enter = ENTER_INIT,
		.remote_fd = -1,
		.job_fds = {-1, -1},
	};
	struct verb_options options;
	int code = verb_options_parse(&options, argc, argv, VERB_STOPS_AT_ID, 2,
				      INT_MAX);
	int error;

	if (code) {
		free(options.scratch_dir);
		return code == EXIT_TROUBLE ? EXIT_NOT_SET_UP : code;
	}
	exec.command = argv + optind + 1;
	if (strcmp(exec.command[0], "--") == 0) {
		exec.command++;
	}
	if (!exec.command[0]) {
		code = failure(EXIT_USAGE, "no command given: " USAGE_EXEC);
	} else {
		error = execution_open(&execution, options.scratch_dir,
				       argv[optind]);
		code = error ? (entry_failure(argv[optind], error),
				EXIT_NOT_SET_UP)
			     : exec_in(&exec, &execution, argv[optind]);
	}
	enter_release(&exec.enter);
	auto_close_fd(&exec.remote_fd);
	execution_release(&execution);
	free(options.scratch_dir);
	return code;
}
