#include "owner.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "buf.h"
#include "err.h"
#include "lock.h"
#include "log.h"
#include "sys.h"

#define REQUEST_FDS 2

/* What goes over the socket, followed by the two names, each with its NUL,
 * and the value. Both ends are one program, so the layout is the compiler's. */
struct message {
	enum owner_call call;
	int flags;
	mode_t mode;
	mode_t umask;
	dev_t dev;
	uid_t uid;
	gid_t gid;
	struct timespec times[2];
	size_t name_size;
	size_t second_name_size;
	size_t value_size;
	size_t ret_size;
};

/* Followed by the data that the call gave. */
struct answer {
	ssize_t result;
	bool is_fd; /* the result is the descriptor that comes along */
};

#define MESSAGE_MAX_BYTES                                                      \
	(sizeof(struct message) + 2 * PATH_MAX + XATTR_SIZE_MAX)
#define ANSWER_MAX_BYTES (sizeof(struct answer) + XATTR_SIZE_MAX)

/* guarded by: helper_lock, but for start and stop */
static struct lock helper_lock;
static int helper_fd = -1;
static pid_t helper_pid;

/* Sends one message with up to REQUEST_FDS descriptors. */
static int send_with_fds(int to, struct iovec *parts, size_t count,
			 const int *fds, size_t fd_count)
{
	char control[CMSG_SPACE(sizeof(int) * REQUEST_FDS)] = {0};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
	struct cmsghdr *header;

	if (fd_count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives one message; the descriptors are the caller's. Its size, 0 at the
 * end, or -errno. */
static ssize_t receive_with_fds(int from, struct iovec *parts, size_t count,
				int fds[REQUEST_FDS])
{
	char control[CMSG_SPACE(sizeof(int) * REQUEST_FDS)];
	struct msghdr message = {
		.msg_iov = parts,
		.msg_iovlen = count,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t n;

	do {
		n = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return -errno;
	}
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET &&
	    header->cmsg_type == SCM_RIGHTS) {
		memcpy(fds, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0));
	}
	return n;
}

/* The helper's side: a request, decoded. */
struct job {
	const struct message *message;
	int fd;
	int second_fd;
	const char *name;
	const char *second_name;
	const void *value;
	void *data; /* for the answer, message->ret_size bytes */
};

/* The calls that run in the helper; `m` is the message. */
#define CALL(name, expr)                                                       \
	static ssize_t call_##name(const struct job *job)                      \
	{                                                                      \
		const struct message *m = job->message;                        \
                                                                               \
		(void)m;                                                       \
		return expr;                                                   \
	}

CALL(openat, sys_openat(job->fd, job->name, m->flags, m->mode))
CALL(open_beneath, sys_open_beneath(job->fd, job->name, m->flags))
CALL(reopen, sys_reopen(job->fd, m->flags))
CALL(fstatat, sys_fstatat(job->fd, job->name, job->data))
CALL(birth_time, sys_birth_time(job->fd, job->name, job->data))
CALL(readlinkat, sys_readlinkat(job->fd, job->name, job->data, m->ret_size))
CALL(fchmodat, sys_fchmodat(job->fd, job->name, m->mode))
CALL(fchownat, sys_fchownat(job->fd, job->name, m->uid, m->gid))
CALL(utimensat, sys_utimensat(job->fd, job->name, m->times))
CALL(mkdirat, sys_mkdirat(job->fd, job->name, m->mode))
CALL(mknodat, sys_mknodat(job->fd, job->name, m->mode, m->dev))
CALL(symlinkat, sys_symlinkat(job->second_name, job->fd, job->name))
CALL(linkat, sys_linkat(job->fd, job->name, job->second_fd, job->second_name))
CALL(link_fd, sys_link_fd(job->fd, job->second_fd, job->second_name))
CALL(unlinkat, sys_unlinkat(job->fd, job->name, m->flags))
CALL(renameat2, sys_renameat2(job->fd, job->name, job->second_fd,
			      job->second_name, (unsigned int)m->flags))
CALL(getxattrat, sys_getxattrat(job->fd, job->name, job->second_name, job->data,
				m->ret_size))
CALL(setxattrat, sys_setxattrat(job->fd, job->name, job->second_name,
				job->value, m->value_size, m->flags))
CALL(removexattrat, sys_removexattrat(job->fd, job->name, job->second_name))
CALL(listxattrat, sys_listxattrat(job->fd, job->name, job->data, m->ret_size))

static ssize_t (*const calls[])(const struct job *) = {
	[OWNER_OPENAT] = call_openat,
	[OWNER_OPEN_BENEATH] = call_open_beneath,
	[OWNER_REOPEN] = call_reopen,
	[OWNER_FSTATAT] = call_fstatat,
	[OWNER_BIRTH_TIME] = call_birth_time,
	[OWNER_READLINKAT] = call_readlinkat,
	[OWNER_FCHMODAT] = call_fchmodat,
	[OWNER_FCHOWNAT] = call_fchownat,
	[OWNER_UTIMENSAT] = call_utimensat,
	[OWNER_MKDIRAT] = call_mkdirat,
	[OWNER_MKNODAT] = call_mknodat,
	[OWNER_SYMLINKAT] = call_symlinkat,
	[OWNER_LINKAT] = call_linkat,
	[OWNER_LINK_FD] = call_link_fd,
	[OWNER_UNLINKAT] = call_unlinkat,
	[OWNER_RENAMEAT2] = call_renameat2,
	[OWNER_GETXATTRAT] = call_getxattrat,
	[OWNER_SETXATTRAT] = call_setxattrat,
	[OWNER_REMOVEXATTRAT] = call_removexattrat,
	[OWNER_LISTXATTRAT] = call_listxattrat,
};

static bool gives_fd(enum owner_call call)
{
	return call == OWNER_OPENAT || call == OWNER_OPEN_BENEATH ||
	       call == OWNER_REOPEN;
}

/* How many bytes of data go with the result. */
static size_t data_size(const struct message *message, ssize_t result)
{
	if (message->call == OWNER_FSTATAT ||
	    message->call == OWNER_BIRTH_TIME) {
		return result == 0 ? message->ret_size : 0;
	}
	if (message->call == OWNER_READLINKAT ||
	    message->call == OWNER_GETXATTRAT ||
	    message->call == OWNER_LISTXATTRAT) {
		return result > 0 && message->ret_size ? (size_t)result : 0;
	}
	return 0;
}

static int answer_request(int socket_fd, const char *request, size_t size,
			  int fds[REQUEST_FDS])
{
	static char data[XATTR_SIZE_MAX]
		__attribute__((aligned(_Alignof(struct stat))));
	const struct message *message = (const struct message *)request;
	const char *names = request + sizeof(*message);
	struct answer answer = {0};
	struct job job = {
		.message = message,
		.fd = fds[0],
		.second_fd = fds[1],
		.name = names,
		.second_name = names + message->name_size,
		.value = names + message->name_size + message->second_name_size,
		.data = data,
	};
	struct iovec parts[2] = {{&answer, sizeof(answer)}, {data, 0}};

	if (size < sizeof(*message) || message->ret_size > sizeof(data) ||
	    (size_t)message->call >= ARRAY_SIZE(calls)) {
		return -EBADMSG;
	}
	umask(message->umask);
	answer.result = calls[message->call](&job);
	answer.is_fd = gives_fd(message->call) && answer.result >= 0;
	parts[1].iov_len = data_size(message, answer.result);
	if (answer.is_fd) {
		int fd = (int)answer.result;
		int error = send_with_fds(socket_fd, parts, 2, &fd, 1);

		sys_close(fd);
		return error;
	}
	return send_with_fds(socket_fd, parts, 2, NULL, 0);
}

/* The helper's life: answers until the other end is closed. */
static void help(int socket_fd)
{
	static char request[MESSAGE_MAX_BYTES]
		__attribute__((aligned(_Alignof(struct message))));

	for (;;) {
		struct iovec part = {request, sizeof(request)};
		int fds[REQUEST_FDS] = {-1, -1};
		ssize_t n = receive_with_fds(socket_fd, &part, 1, fds);
		int error;

		if (n <= 0) {
			return;
		}
		error = answer_request(socket_fd, request, (size_t)n, fds);
		auto_close_fd(&fds[0]);
		auto_close_fd(&fds[1]);
		if (error) {
			return;
		}
	}
}

static int write_text(const char *path, const char *text)
{
	AUTO_FD fd = sys_openat(AT_FDCWD, path, O_WRONLY, 0);
	ssize_t n = fd < 0 ? fd : sys_write(fd, text, strlen(text));

	return n < 0 ? (int)n : 0;
}

/* Into a user namespace in which the user is itself, with all capabilities. */
static int enter_namespace(void)
{
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int error;

	if (unshare(CLONE_NEWUSER)) {
		return -errno;
	}
	error = write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1\n", uid, uid);
	error = error ? error : write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1\n", gid, gid);
	return error ? error : write_text("/proc/self/gid_map", map);
}

/* Closes what was inherited: this process must keep nothing alive, neither a
 * lock nor a mount nor the other end of a pipe. */
static void close_others(int keep)
{
	int null_fd = sys_openat(AT_FDCWD, "/dev/null", O_RDWR, 0);

	for (int fd = STDIN_FILENO; null_fd >= 0 && fd <= STDERR_FILENO; fd++) {
		dup2(null_fd, fd);
	}
	if (keep > STDERR_FILENO + 1) {
		close_range(STDERR_FILENO + 1, (unsigned int)keep - 1, 0);
	}
	close_range((unsigned int)keep + 1, ~0U, 0);
}

static void helper_main(int socket_fd)
{
	ssize_t result = enter_namespace();

	helper_fd = -1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "legato-fs-owner");
	signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is not for us */
	close_others(socket_fd);
	if (sys_write(socket_fd, &result, sizeof(result)) == sizeof(result) &&
	    !result) {
		help(socket_fd);
	}
	_exit(0);
}

int owner_start(void)
{
	int ends[2];
	ssize_t result = -EIO;

	if (geteuid() == 0) {
		return 0;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		return -errno;
	}
	helper_pid = fork();
	if (helper_pid == 0) {
		sys_close(ends[0]);
		helper_main(ends[1]);
	}
	sys_close(ends[1]);
	if (helper_pid < 0 ||
	    sys_read(ends[0], &result, sizeof(result)) != sizeof(result) ||
	    result) {
		log_info("no user namespace for the owner's helper: %s",
			 err_name((int)result));
		sys_close(ends[0]);
		if (helper_pid > 0) {
			waitpid(helper_pid, NULL, 0);
		}
		return (int)result;
	}
	lock_init(&helper_lock, LOCK_RANK_QUEUE, 0);
	helper_fd = ends[0];
	return 0;
}

void owner_stop(void)
{
	if (helper_fd >= 0) {
		sys_close(take_fd(&helper_fd));
		lock_release(&helper_lock);
		waitpid(helper_pid, NULL, 0);
	}
}

bool owner_is_running(void)
{
	return helper_fd >= 0;
}

static int send_request(const struct owner_request *request)
{
	const char *name = request->name ? request->name : "";
	const char *second = request->second_name ? request->second_name : "";
	struct message message = {
		.call = request->call,
		.flags = request->flags,
		.mode = request->mode,
		.umask = sys_current_umask(),
		.dev = request->dev,
		.uid = request->uid,
		.gid = request->gid,
		.name_size = strlen(name) + 1,
		.second_name_size = strlen(second) + 1,
		.value_size = request->value_size,
		.ret_size = request->ret_size,
	};
	struct iovec parts[] = {
		{&message, sizeof(message)},
		{(char *)name, message.name_size},
		{(char *)second, message.second_name_size},
		{(void *)request->value, request->value_size},
	};
	int fds[REQUEST_FDS] = {request->fd, request->second_fd};

	if (request->times) {
		memcpy(message.times, request->times, sizeof(message.times));
	}
	return send_with_fds(helper_fd, parts, ARRAY_SIZE(parts), fds,
			     request->has_second_fd ? 2 : 1);
}

ssize_t owner_call(const struct owner_request *request)
{
	struct answer answer = {.result = -EACCES};
	struct iovec parts[2] = {
		{&answer, sizeof(answer)},
		{request->ret_data, request->ret_size},
	};
	int fds[REQUEST_FDS] = {-1, -1};
	ssize_t n;

	if (helper_fd < 0 || request->ret_size > XATTR_SIZE_MAX) {
		return -EACCES;
	}
	lock_take(&helper_lock);
	n = send_request(request);
	if (!n) {
		n = receive_with_fds(helper_fd, parts, 2, fds);
	}
	lock_drop(&helper_lock);
	if (n < (ssize_t)sizeof(answer)) {
		return -EACCES; /* it is gone: as if it had never been */
	}
	if (answer.is_fd) {
		/* The kernel leaves out what it has no number for. */
		return fds[0] < 0 ? -EMFILE : fds[0];
	}
	return answer.result;
}
