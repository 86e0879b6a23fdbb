/*
 * legato-exec - the last step into the command, inside the sandbox.
 *
 *	legato-exec IGNORED STDERR COMMAND LAUNCHER PIDS
 *
 * bwrap runs it instead of the command, for these things: the command comes
 * from the descriptor COMMAND, NUL after each argument, so that it may have
 * more than bwrap allows; the real stderr comes back from the descriptor
 * STDERR (bwrap's own words went to the launcher); other descriptors are
 * closed; there may be PIDS processes, counted in this user namespace (0: any
 * number); the bounding set of capabilities is cut to what is held; signals
 *that the launcher and bwrap ignore mean to the command what they meant to the
 *launcher (IGNORED: a bit per signal); the launcher is told through the socket
 *LAUNCHER (-1: none) that the sandbox is made, and given a pidfd of the process
 *that becomes the command; and a command that can't be run says so and exits
 *127 or 126, as from a shell.
 *
 * It needs nothing but libc, as everything else is not there yet.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

static void restore_signals(unsigned int ignored)
{
	/* The two that are ignored for the launcher's sake; others are as they
	 * were. */
	static const int signals[] = {SIGINT, SIGQUIT};
	struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 0; i < 2; i++) {
		if (!(ignored & (1U << signals[i]))) {
			sigaction(signals[i], &normal, NULL);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The launcher writes them: nothing to check. */
static int number(const char *text)
{
	return (int)strtol(text, NULL, 0);
}

/* The whole descriptor, with a NUL after it; NULL if it can't be read. */
static char *read_all(int fd, size_t *ret_len)
{
	struct stat st;
	char *text;
	size_t len = 0;

	if (fstat(fd, &st) < 0) {
		return NULL;
	}
	text = calloc(1, (size_t)st.st_size + 1);
	while (text && len < (size_t)st.st_size) {
		ssize_t n = pread(fd, text + len, (size_t)st.st_size - len,
				  (off_t)len);

		if (n <= 0) {
			free(text);
			return NULL;
		}
		len += (size_t)n;
	}
	*ret_len = len;
	return text;
}

static char **split(char *text, size_t len)
{
	size_t count = 0;
	char **argv;

	for (size_t i = 0; i < len; i++) {
		count += text[i] == '\0';
	}
	argv = calloc(count + 1, sizeof(*argv));
	for (size_t i = 0; argv && i < count; i++) {
		argv[i] = text;
		text += strlen(text) + 1;
	}
	return argv;
}

/* One byte and the pidfd. Where it can't be told, `kill` can only kill. */
static void report_start(int launcher_fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = "s", .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int pid_fd = pidfd_open(getpid(), 0);

	if (launcher_fd < 0 || pid_fd < 0) {
		return;
	}
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(pid_fd));
	memcpy(CMSG_DATA(header), &pid_fd, sizeof(pid_fd));
	(void)!sendmsg(launcher_fd, &message, MSG_NOSIGNAL);
}

/* bwrap leaves root's bounding set whole: what is not held is given up for
 * good. An ordinary user may not, and with no new privileges needs not. */
static void drop_bounding_set(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) < 0) {
		return;
	}
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (!(data[i / 32].permitted & 1U << i % 32)) {
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
		}
	}
}

static void limit_processes(unsigned long long count)
{
	const struct rlimit limit = {.rlim_cur = count, .rlim_max = count};

	if (count > 0) {
		setrlimit(RLIMIT_NPROC, &limit);
	}
}

int main(int argc, char **argv)
{
	char **command = NULL;
	char *text;
	size_t len;
	int error;

	if (argc != 6 || dup2(number(argv[2]), STDERR_FILENO) < 0) {
		return EXIT_NOT_EXECUTABLE;
	}
	text = read_all(number(argv[3]), &len);
	if (text) {
		command = split(text, len);
	}
	if (!command || !command[0]) {
		fprintf(stderr, "legato-sandbox: cannot read the command\n");
		free(command);
		free(text);
		return EXIT_NOT_EXECUTABLE;
	}
	report_start(number(argv[4]));
	close_range(STDERR_FILENO + 1, ~0U, 0);
	limit_processes(strtoull(argv[5], NULL, 10));
	drop_bounding_set();
	restore_signals((unsigned int)number(argv[1]));
	execvp(command[0], command);
	error = errno;
	fprintf(stderr, "legato-sandbox: cannot run '%s': %s\n", command[0],
		strerror(error));
	free(command);
	free(text);
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
