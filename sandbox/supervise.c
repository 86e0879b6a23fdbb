#include "supervise.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNAL_BASE 128

void supervise_block(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

/* From the background too: asking for the terminal would stop us. */
static void put_in_front(pid_t group)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;

	sigaction(SIGTTOU, &ignore, &before);
	(void)tcsetpgrp(STDIN_FILENO, group);
	sigaction(SIGTTOU, &before, NULL);
}

void supervise_own_group(void)
{
	(void)setpgid(0, 0);
	put_in_front(getpid());
}

/* All that ended or stopped by now. True once the command has ended. */
static bool reap(pid_t command, int launcher_fd, bool has_own_group,
		 int *ret_code)
{
	static const char stopped = SUPERVISE_STOPPED;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status,
			      WNOHANG | (has_own_group ? WUNTRACED : 0))) > 0) {
		if (pid != command) {
			continue;
		}
		if (!WIFSTOPPED(status)) {
			*ret_code = WIFEXITED(status)
					    ? WEXITSTATUS(status)
					    : SIGNAL_BASE + WTERMSIG(status);
			return true;
		}
		(void)!send(launcher_fd, &stopped, 1, MSG_NOSIGNAL);
	}
	return false;
}

/* False: nobody will say anything any more. */
static bool listen_to_launcher(pid_t command, int launcher_fd)
{
	char byte = 0;
	ssize_t len = recv(launcher_fd, &byte, 1, MSG_DONTWAIT);

	if (len > 0 && byte == SUPERVISE_GO_ON) {
		put_in_front(command);
		kill(-command, SIGCONT);
	}
	return len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
}

int supervise(pid_t command, int launcher_fd, bool has_own_group)
{
	struct pollfd fds[2] = {
		{.events = POLLIN},
		{.fd = has_own_group ? launcher_fd : -1, .events = POLLIN},
	};
	struct signalfd_siginfo info;
	sigset_t set;
	int code = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	fds[0].fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	while (!reap(command, launcher_fd, has_own_group, &code)) {
		/* Without the descriptor: by looking again. */
		(void)poll(fds, 2, fds[0].fd < 0 ? 100 : -1);
		(void)!read(fds[0].fd, &info, sizeof(info));
		if (fds[1].revents &&
		    !listen_to_launcher(command, launcher_fd)) {
			fds[1].fd = -1;
		}
	}
	close(fds[0].fd);
	return code;
}
