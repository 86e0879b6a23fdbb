#include "daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "err.h"
#include "execution.h"
#include "failure.h"
#include "programs.h"
#include "strv.h"
#include "unmount.h"

#define DEVICE           "/dev/fuse"
#define CONNECTIONS      "/sys/fs/fuse/connections"
#define READY_MESSAGE    "ready"
#define READY_TIMEOUT_MS 10000
#define STOP_TIMEOUT_MS  5000
/* What the kernel needs to let go of a process that was killed. */
#define KILL_TIMEOUT_MS 2000

int daemon_check(void)
{
	AUTO_FD fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot open '" DEVICE "': %s%s",
			       err_text(errno),
			       errno == ENOENT || errno == ENODEV
				       ? ": is the module 'fuse' loaded?"
				       : "");
	}
	return 0;
}

static int start_child(struct daemon *daemon, const struct programs *programs,
		       const struct execution *execution,
		       const struct signals *signals, int control_fd,
		       bool debug)
{
	const int keep[] = {control_fd, execution->lock_fd};
	const struct child_options options = {
		.signals = signals,
		.keep_fds = keep,
		.n_keep_fds = ARRAY_SIZE(keep),
		.output_fd = STDERR_FILENO, /* its own, in memory */
		.no_input = true,
		.own_session = true,
		.directory = "/",
	};
	AUTO_STRV argv = {0};

	strv_add_all(&argv, programs->daemon, "serve", "--execution",
		     execution->path, "--control-fd", NULL);
	strv_addf(&argv, "%d", control_fd);
	if (debug) {
		strv_add(&argv, "--debug");
	}
	return child_start(&daemon->child, argv.list, &options);
}

/* Takes the descriptor out of a message, -1 if it has none. */
static int message_fd(struct msghdr *message)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int fd;

	if (!header || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN(sizeof(fd))) {
		return -1;
	}
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	return fd;
}

/* True once the daemon has said "ready". False: it ended instead. */
static bool receive_ready(struct daemon *daemon)
{
	char text[sizeof(READY_MESSAGE)];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(daemon->control_fd, &message, MSG_CMSG_CLOEXEC);

	if (len <= 0) {
		return false;
	}
	daemon->fuse_fd = message_fd(&message);
	return (size_t)len >= strlen(READY_MESSAGE) &&
	       strncmp(text, READY_MESSAGE, strlen(READY_MESSAGE)) == 0;
}

void daemon_describe_end(struct daemon *daemon, struct buf *text)
{
	size_t before = text->len;

	if (!child_wait(&daemon->child, KILL_TIMEOUT_MS)) {
		buf_adds(text, "it closed its control socket");
		return;
	}
	child_complaint(&daemon->child, text);
	if (text->len == before) {
		child_describe_end(&daemon->child, text);
	}
}

static int not_started(struct daemon *daemon)
{
	AUTO_BUF why = BUF_INIT;

	daemon_describe_end(daemon, &why);
	return failure(EXIT_NOT_SET_UP, "cannot mount the views: %s", why.data);
}

static int wait_ready(struct daemon *daemon, const struct signals *signals)
{
	struct pollfd fds[] = {
		{.fd = daemon->control_fd, .events = POLLIN},
		{.fd = signals->fd, .events = POLLIN},
	};
	int n;

	do {
		n = poll(fds, ARRAY_SIZE(fds), READY_TIMEOUT_MS);
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot mount the views: legato-fs was not "
			       "ready after %d s",
			       READY_TIMEOUT_MS / 1000);
	}
	if (fds[1].revents) {
		return EXIT_SIGNAL_BASE + signals_next(signals);
	}
	return receive_ready(daemon) ? 0 : not_started(daemon);
}

/* Asks the kernel only: a request to the daemon would, if that is killed before
 * it answers, hold this process for ever, even one that is killed, too: the
 * connection ends with the last descriptor, and we have one. */
static void note_connection(struct daemon *daemon,
			    const struct execution *execution)
{
	struct statx stx;

	if (statx(execution->dir_fd, EXECUTION_MOUNT_DIR,
		  AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_TYPE,
		  &stx) == 0) {
		daemon->connection = stx.stx_dev_minor;
	}
}

int daemon_start(struct daemon *daemon, const struct programs *programs,
		 const struct execution *execution,
		 const struct signals *signals, bool debug)
{
	AUTO_FD theirs = -1;
	int pair[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		return failure(EXIT_NOT_SET_UP, "cannot make a socket: %s",
			       err_text(errno));
	}
	daemon->control_fd = pair[0];
	theirs = pair[1];
	error = start_child(daemon, programs, execution, signals, theirs,
			    debug);
	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot start '%s': %s",
			       programs->daemon, err_text(error));
	}
	/* Ours must be the only other end, or its death would not show. */
	close(TAKE_FD(theirs));
	return 0;
}

int daemon_wait_ready(struct daemon *daemon, const struct execution *execution,
		      const struct signals *signals)
{
	int code = wait_ready(daemon, signals);

	if (code) {
		daemon_abandon(daemon); /* no use in asking it to stop */
	} else {
		note_connection(daemon, execution);
	}
	return code;
}

static void drop_fd(int *fd)
{
	auto_close_fd(fd);
	*fd = -1;
}

/* For the case that somebody else, stuck, holds the descriptor too. Where the
 * control file system isn't mounted there is nothing to do. */
static void abort_connection(const struct daemon *daemon)
{
	AUTO_FREE char *path =
		text_format(CONNECTIONS "/%u/abort", daemon->connection);
	AUTO_FD fd = daemon->connection ? open(path, O_WRONLY | O_CLOEXEC) : -1;

	if (fd >= 0 && write(fd, "1", 1) != 1) {
		warning("cannot abort the connection of the views: %s",
			err_text(errno));
	}
}

void daemon_abandon(struct daemon *daemon)
{
	if (daemon->child.pid_fd < 0) {
		return;
	}
	child_kill(&daemon->child);
	drop_fd(&daemon->fuse_fd);
	if (!child_wait(&daemon->child, KILL_TIMEOUT_MS)) {
		abort_connection(daemon);
		child_wait(&daemon->child, KILL_TIMEOUT_MS);
	}
}

void daemon_stop(struct daemon *daemon, const struct execution *execution)
{
	drop_fd(&daemon->control_fd);
	if (daemon->child.pid_fd >= 0 &&
	    !child_wait(&daemon->child, STOP_TIMEOUT_MS)) {
		warning("legato-fs did not end within %d s: killing it",
			STOP_TIMEOUT_MS / 1000);
		daemon_abandon(daemon);
	}
	drop_fd(&daemon->fuse_fd);
	if (daemon->child.pid_fd >= 0) {
		unmount_execution(execution);
	}
	child_release(&daemon->child);
}
