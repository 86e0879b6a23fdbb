/*
 * enter.h - a process into a sandbox that exists.
 *
 * The launcher of the sandbox hands out a pidfd of its init and what the first
 * command was given (remote.h); so nobody is mistaken for it, and `exec` needs
 * no helper inside. The namespaces are joined from the outside in: first the
 * user namespace that owns the others (bwrap makes two, one in the other),
 * which gives the right to join them, then mounts, IPC, host name, processes,
 * then the command's own user namespace. Then all capabilities but those of
 * privileges.h are given up, and the same filter is put on.
 *
 * Threads: enter_answer from the main one; enter_become after fork.
 */
#ifndef SANDBOX_ENTER_H
#define SANDBOX_ENTER_H

#include <stdint.h>

#include "compiler.h"
#include "strv.h"

struct bwrap;
struct env;
struct spec;

#define ENTER_NAMESPACES 6

struct enter {
	struct strv context; /* as from enter_answer */
	int filter_fd;
	int ns_fds[ENTER_NAMESPACES]; /* in the order of joining; -1: ours */
};

#define ENTER_INIT                                                             \
	{                                                                      \
		.filter_fd = -1, .ns_fds = { -1, -1, -1, -1, -1, -1 }          \
	}

/* What the first command was given. */
struct enter_given {
	const struct spec *spec;
	const struct env *env;
	uint64_t max_pids; /* by the shim; 0: none */
};

/* The launcher's side: descriptors for the client, the caller's: the init's
 * pidfd, and a file of strings, NUL after each: the folder, "nested" or "",
 * how many processes there may be, the environment. 0 or -errno; -ESRCH before
 * the sandbox is made. */
int enter_answer(const struct bwrap *bwrap, const struct enter_given *given,
		 int *ret_init_fd, int *ret_context_fd) MUST_CHECK;

/* Reads and opens what enter_join needs; takes neither descriptor. 0 or
 * -errno, -ESRCH for a sandbox that has ended. */
int enter_prepare(struct enter *enter, int init_fd, int context_fd) MUST_CHECK;

/* In a child with one thread: joins all namespaces; its next child is in the
 * sandbox. 0 or -errno. */
int enter_join(const struct enter *enter) MUST_CHECK;

uint64_t enter_max_pids(const struct enter *enter);

/* The environment of the first command; lives as long as `enter`. */
char *const *enter_environment(const struct enter *enter);

/* In that child: the folder, no privileges, the filter. 0 or -errno. */
int enter_confine(const struct enter *enter) MUST_CHECK;

void enter_release(struct enter *enter);

#endif
