#include "detach.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "execution.h"
#include "failure.h"
#include "fdio.h"

#define ID_BYTES_MAX 64
#define FIRST_FREE   3

/* The id, or the exit code of a child that did not come that far. */
static int wait_for_report(pid_t child, int fd)
{
	char id[ID_BYTES_MAX];
	ssize_t len;
	int status;

	do {
		len = read(fd, id, sizeof(id) - 1);
	} while (len < 0 && errno == EINTR);
	if (len > 0) {
		id[len] = '\0';
		puts(id);
		return fflush(stdout) == 0 ? 0 : EXIT_TROUBLE;
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return EXIT_NOT_SET_UP;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : EXIT_SIGNAL_BASE + WTERMSIG(status);
}

bool detach_fork(struct detach *detach, int *ret_code)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		*ret_code = failure(EXIT_NOT_SET_UP, "cannot make a pipe: %s",
				    strerror(errno));
		return true;
	}
	child = fork();
	if (child == 0) {
		close(ends[0]);
		setsid();
		detach->report_fd = ends[1];
		return false;
	}
	close(ends[1]);
	*ret_code = child < 0 ? failure(EXIT_NOT_SET_UP, "cannot fork: %s",
					strerror(errno))
			      : wait_for_report(child, ends[0]);
	close(ends[0]);
	return true;
}

int detach_enter(struct detach *detach, const struct execution *execution)
{
	AUTO_FD null_fd = -1;
	AUTO_FD output_fd = -1;
	AUTO_FD person_fd = -1;

	if (detach->report_fd < 0) {
		return 0;
	}
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	output_fd = openat(
		execution->dir_fd, DETACH_OUTPUT_FILE,
		O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	person_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, FIRST_FREE);
	if (null_fd < 0 || output_fd < 0 || person_fd < 0 ||
	    dup2(null_fd, STDIN_FILENO) < 0 ||
	    dup2(output_fd, STDOUT_FILENO) < 0 ||
	    dup2(output_fd, STDERR_FILENO) < 0) {
		return -errno;
	}
	failure_redirect(TAKE_FD(person_fd));
	return 0;
}

bool detach_report(struct detach *detach, const struct execution *execution)
{
	int fd = TAKE_FD(detach->report_fd);
	int error;

	if (fd < 0) {
		return true;
	}
	error = fdio_write_all(fd, execution->id, strlen(execution->id));
	close(fd);
	failure_redirect(-1);
	return error == 0;
}
