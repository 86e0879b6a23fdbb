/*
 * process_facts.h - what procfs says of a thread and its process.
 *
 * Names are relative to `proc_fd`, a descriptor of /proc. Texts belong to the
 * struct.
 */
#ifndef FS_CORE_PROCESS_FACTS_H
#define FS_CORE_PROCESS_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"

/* What `stat` says. `program` changes when the process runs another one. */
struct process_image {
	uint64_t start_ticks;
	uint64_t program; /* a hash */
	pid_t ppid;
	bool is_alone; /* the process has no other thread, so has its number */
};

struct process_facts {
	pid_t pid; /* of the process: the thread group */
	pid_t ppid;
	uid_t uid; /* effective */
	struct buf exe;
	struct buf command;
	struct buf cwd;
};

#define PROCESS_FACTS_INIT                                                     \
	{                                                                      \
		.exe = BUF_INIT, .command = BUF_INIT, .cwd = BUF_INIT          \
	}

/* Opens the thread's `stat`. -ENOENT: no such thread. */
int process_stat_open(int proc_fd, pid_t thread) MUST_CHECK;

/* -ESRCH: the thread has ended. -EBADMSG: not as expected. */
int process_stat_read(int stat_fd, struct process_image *ret_image) MUST_CHECK;

/* `stat_fd` and `image` are the thread's. What may not be read is left empty;
 * -ENOENT, -ESRCH: it has ended. */
int process_facts_read(int proc_fd, pid_t thread, int stat_fd,
		       const struct process_image *image,
		       struct process_facts *facts) MUST_CHECK;
void process_facts_release(struct process_facts *facts);

#endif
