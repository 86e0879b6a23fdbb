/*
 * remote.h - how another launcher reaches one that runs a command.
 *
 * The running launcher listens on a socket in the execution's folder, which
 * only its user can enter and which no sandbox sees. A client connects, sends
 * one request at a time (a datagram of SOCK_SEQPACKET), and gets one answer:
 * "ok" or "error N", with descriptors where the request asks for some.
 *
 *	signal N   to the command; 9 ends the sandbox
 *	enter      a pidfd of the sandbox's init, and a file in memory with the
 *	           folder that the command started in, then its environment,
 *	           NUL after each
 *
 * A connection stays open as long as the client likes: its end of file is the
 * end of the run, after the end was recorded. So nothing here needs a pid that
 * could have become somebody else's.
 *
 * Server: remote_listen, poll remote_add_fds, remote_serve; remote_release.
 * Client: remote_connect, remote_ask, poll the descriptor, close.
 * Threads: one.
 */
#ifndef SANDBOX_REMOTE_H
#define SANDBOX_REMOTE_H

#include <poll.h>
#include <stdbool.h>

#include "compiler.h"

struct execution;

#define REMOTE_SOCKET      "launcher"
#define REMOTE_CLIENTS_MAX 32
#define REMOTE_FDS_MAX     (REMOTE_CLIENTS_MAX + 1)

/* What a request makes happen. 0 or -errno, which the client gets. */
struct remote_handler {
	int (*signal)(void *data, int signal);
	/* The caller of it owns the descriptors; those of the folder and
	 * environment are the client's to read. */
	int (*enter)(void *data, pid_t client, int *ret_init_fd,
		     int *ret_context_fd);
	void *data;
};

struct remote {
	/* private */
	int listen_fd;
	int clients[REMOTE_CLIENTS_MAX];
	int n_clients;
};

#define REMOTE_INIT                                                            \
	{                                                                      \
		.listen_fd = -1                                                \
	}

/* 0 or -errno. */
int remote_listen(struct remote *remote,
		  const struct execution *execution) MUST_CHECK;

/* Fills in what to poll; how many, at most REMOTE_FDS_MAX. */
int remote_add_fds(const struct remote *remote, struct pollfd *ret_fds);

/* Answers what came. Nobody is waited for. */
void remote_serve(struct remote *remote, const struct remote_handler *handler);

/* Closes all, which tells the clients, and removes the socket. */
void remote_release(struct remote *remote, const struct execution *execution);

/* A descriptor for the launcher of `execution`, the caller's. -ECONNREFUSED or
 * -ENOENT where none listens: it has not started, or has ended. */
int remote_connect(const struct execution *execution) MUST_CHECK;

/* Sends the request and waits for its answer: 0, -errno, -EPIPE for a run that
 * has ended. `ret_fds` gets `n_fds` descriptors, the caller's, on success. */
int remote_ask(int fd, const char *request, int *ret_fds, int n_fds) MUST_CHECK;

#endif
