#include "background.h"

#include <fcntl.h>
#include <stdio.h>

#include "sys.h"

int background_ready(int ready_fd)
{
	if (ready_fd < 0) {
		return 0;
	}
	if (sys_write(ready_fd, "r", 1) != 1) {
		return -EPIPE;
	}
	sys_close(ready_fd);
	if (!freopen("/dev/null", "r", stdin) ||
	    !freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr)) {
		return -errno;
	}
	return 0;
}

int background_run(int (*serve)(void *data, int ready_fd), void *data)
{
	int ends[2];
	char byte;
	ssize_t n;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC)) {
		return -errno;
	}
	child = fork();
	if (child < 0) {
		return -errno;
	}
	if (child == 0) {
		sys_close(ends[0]);
		setsid();
		_exit(serve(data, ends[1]) ? EXIT_FAILURE : EXIT_SUCCESS);
	}
	sys_close(ends[1]);
	n = sys_read(ends[0], &byte, 1);
	sys_close(ends[0]);
	return n == 1 ? 0 : -EIO;
}
