#include "remote.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "execution.h"

#define MESSAGE_BYTES     64
#define MESSAGE_FDS_MAX   2
#define BACKLOG           16
#define ANSWER_TIMEOUT_MS 10000

/* A socket's address has 107 bytes at most: so through the folder's number. */
static void make_address(struct sockaddr_un *ret_address,
			 const struct execution *execution)
{
	*ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path),
		 "/proc/self/fd/%d/" REMOTE_SOCKET, execution->dir_fd);
}

static int new_socket(int flags)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	return fd < 0 ? -errno : fd;
}

int remote_listen(struct remote *remote, const struct execution *execution)
{
	AUTO_FD fd = new_socket(SOCK_NONBLOCK);
	struct sockaddr_un address;
	mode_t mask;
	int bound;

	if (fd < 0) {
		return fd;
	}
	make_address(&address, execution);
	mask = umask(0177);
	bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (bound < 0 || listen(fd, BACKLOG) < 0) {
		return -errno;
	}
	remote->listen_fd = TAKE_FD(fd);
	return 0;
}

int remote_add_fds(const struct remote *remote, struct pollfd *ret_fds)
{
	int count = 0;

	ret_fds[count++] = (struct pollfd){
		.fd = remote->n_clients < REMOTE_CLIENTS_MAX ? remote->listen_fd
							     : -1,
		.events = POLLIN,
	};
	for (int i = 0; i < remote->n_clients; i++) {
		ret_fds[count++] = (struct pollfd){.fd = remote->clients[i],
						   .events = POLLIN};
	}
	return count;
}

static struct ucred peer_of(int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t len = sizeof(peer);

	(void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	return peer;
}

static void accept_clients(struct remote *remote)
{
	while (remote->listen_fd >= 0 &&
	       remote->n_clients < REMOTE_CLIENTS_MAX) {
		AUTO_FD fd = accept4(remote->listen_fd, NULL, NULL,
				     SOCK_CLOEXEC | SOCK_NONBLOCK);
		uid_t uid;

		if (fd < 0) {
			return;
		}
		/* The folder keeps others out already. */
		uid = peer_of(fd).uid;
		if (uid == geteuid() || uid == 0) {
			remote->clients[remote->n_clients++] = TAKE_FD(fd);
		}
	}
}

/* 0 or -errno. */
static int send_message(int fd, const char *text, const int *fds, int n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)text, .iov_len = strlen(text)};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n_fds > 0) {
		struct cmsghdr *header;

		message.msg_control = &control;
		message.msg_controllen =
			CMSG_SPACE((size_t)n_fds * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, (size_t)n_fds * sizeof(int));
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int answer_enter(int client, const struct remote_handler *handler)
{
	AUTO_FD init_fd = -1;
	AUTO_FD context_fd = -1;
	int error = handler->enter(handler->data, peer_of(client).pid, &init_fd,
				   &context_fd);

	return error ? error
		     : send_message(client, "ok", (int[]){init_fd, context_fd},
				    2);
}

static int answer(int client, const char *request,
		  const struct remote_handler *handler)
{
	int number;
	int error;

	if (sscanf(request, "signal %d", &number) == 1) {
		error = handler->signal(handler->data, number);
		return error ? error : send_message(client, "ok", NULL, 0);
	}
	if (strcmp(request, "enter") == 0) {
		return answer_enter(client, handler);
	}
	return -EOPNOTSUPP;
}

/* False: it has gone. */
static bool serve_client(int client, const struct remote_handler *handler)
{
	char request[MESSAGE_BYTES];
	char refusal[MESSAGE_BYTES];
	ssize_t len = recv(client, request, sizeof(request) - 1, 0);
	int error;

	if (len <= 0) {
		return len < 0 && (errno == EAGAIN || errno == EINTR);
	}
	request[len] = '\0';
	error = answer(client, request, handler);
	if (error) {
		snprintf(refusal, sizeof(refusal), "error %d", -error);
		return send_message(client, refusal, NULL, 0) == 0;
	}
	return true;
}

void remote_serve(struct remote *remote, const struct remote_handler *handler)
{
	int kept = 0;

	for (int i = 0; i < remote->n_clients; i++) {
		int client = remote->clients[i];

		if (serve_client(client, handler)) {
			remote->clients[kept++] = client;
		} else {
			close(client);
		}
	}
	remote->n_clients = kept;
	accept_clients(remote);
}

void remote_release(struct remote *remote, const struct execution *execution)
{
	if (remote->listen_fd >= 0) {
		unlinkat(execution->dir_fd, REMOTE_SOCKET, 0);
	}
	auto_close_fd(&remote->listen_fd);
	for (int i = 0; i < remote->n_clients; i++) {
		close(remote->clients[i]);
	}
	*remote = (struct remote)REMOTE_INIT;
}

int remote_connect(const struct execution *execution)
{
	AUTO_FD fd = new_socket(0);
	struct sockaddr_un address;

	if (fd < 0) {
		return fd;
	}
	make_address(&address, execution);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		return -errno;
	}
	return TAKE_FD(fd);
}

/* Takes the descriptors of a message: as many as wanted, or none. */
static int take_fds(struct msghdr *message, int *ret_fds, int n_fds)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	if (n_fds == 0) {
		return 0;
	}
	if (!header || header->cmsg_level != SOL_SOCKET ||
	    header->cmsg_type != SCM_RIGHTS ||
	    header->cmsg_len != CMSG_LEN((size_t)n_fds * sizeof(int))) {
		return -EPROTO;
	}
	memcpy(ret_fds, CMSG_DATA(header), (size_t)n_fds * sizeof(int));
	return 0;
}

static int receive_answer(int fd, int *ret_fds, int n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MESSAGE_FDS_MAX * sizeof(int))];
	} control;
	char text[MESSAGE_BYTES] = "";
	struct iovec iov = {.iov_base = text, .iov_len = sizeof(text) - 1};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	int number;

	if (len <= 0) {
		return len < 0 ? -errno : -EPIPE;
	}
	if (strcmp(text, "ok") == 0) {
		return take_fds(&message, ret_fds, n_fds);
	}
	return sscanf(text, "error %d", &number) == 1 && number > 0 ? -number
								    : -EPROTO;
}

int remote_ask(int fd, const char *request, int *ret_fds, int n_fds)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int error = send_message(fd, request, NULL, 0);
	int n;

	if (error) {
		return error == -ECONNRESET ? -EPIPE : error;
	}
	do {
		n = poll(&poll_fd, 1, ANSWER_TIMEOUT_MS);
	} while (n < 0 && errno == EINTR);
	return n == 0 ? -ETIMEDOUT : receive_answer(fd, ret_fds, n_fds);
}
