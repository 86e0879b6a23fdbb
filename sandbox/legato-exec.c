/*
 * legato-exec - the last step into the command, inside the sandbox.
 *
 *	legato-exec MODE IGNORED STDERR COMMAND LAUNCHER PIDS
 *
 * bwrap runs it instead of the command, for these things: the command comes
 * from the descriptor COMMAND, NUL after each argument, so that it may have
 * more than bwrap allows; the real stderr comes back from the descriptor
 * STDERR (bwrap's own words went to the launcher); other descriptors are
 * closed; there may be PIDS processes, counted in this user namespace (0: any
 * number); the bounding set of capabilities is cut to what is held; signals
 * that the launcher and bwrap ignore mean to the command what they meant to
 * the launcher (IGNORED: a bit per signal); the launcher is told through the
 * socket LAUNCHER (-1: none) that the sandbox is made, and given a pidfd of
 * the process that becomes the command; and a command that can't be run says
 * so and exits 127 or 126, as from a shell.
 *
 * MODE is "init": it stays, as the sandbox's first process, and the command is
 * its child. It can't be traced, nor its memory and descriptors be read, by
 * what runs inside, and the kernel keeps from a first process the signals that
 * come from inside: so the exit code that it passes on is the command's. Or
 * "terminal": the same, where stdin is a terminal of the command's own. Or
 * "become": it becomes the command, in a sandbox that has its init.
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

#include "supervise.h"

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
	char byte = SUPERVISE_STARTED;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
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

struct work {
	const char *mode;
	unsigned int ignored;
	int error_fd;
	int command_fd;
	int launcher_fd;
	unsigned long long max_pids;
};

static bool is_mode(const struct work *work, const char *mode)
{
	return strcmp(work->mode, mode) == 0;
}

/* Returns the exit code only if the command can't be run. */
static int become(const struct work *work, char **command)
{
	int error;

	if (is_mode(work, "terminal")) {
		supervise_own_group();
	}
	report_start(work->launcher_fd);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	limit_processes(work->max_pids);
	drop_bounding_set();
	restore_signals(work->ignored);
	execvp(command[0], command);
	error = errno;
	fprintf(stderr, "legato-sandbox: cannot run '%s': %s\n", command[0],
		strerror(error));
	return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void close_all_but(int fd)
{
	unsigned int first = STDERR_FILENO + 1;

	if (fd >= (int)first) {
		if ((unsigned int)fd > first) {
			close_range(first, (unsigned int)fd - 1, 0);
		}
		first = (unsigned int)fd + 1;
	}
	close_range(first, ~0U, 0);
}

/* A first process gets from inside those signals only that it has a handler
 * for. We have none; a sanitizer's run-time library has some. */
static void drop_handlers(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	struct sigaction normal = {.sa_handler = SIG_DFL};

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++) {
		sigaction(faults[i], &normal, NULL);
	}
}

/* As the sandbox's first process. The command becomes dumpable again when it is
 * executed. */
static int be_init(const struct work *work, char **command)
{
	pid_t pid;

	prctl(PR_SET_DUMPABLE, 0);
	supervise_block();
	drop_handlers();
	pid = fork();
	if (pid == 0) {
		_exit(become(work, command));
	}
	if (pid < 0) {
		fprintf(stderr, "legato-sandbox: cannot start a process: %s\n",
			strerror(errno));
		return EXIT_NOT_EXECUTABLE;
	}
	close_all_but(work->launcher_fd);
	return supervise(pid, work->launcher_fd, is_mode(work, "terminal"));
}

int main(int argc, char **argv)
{
	struct work work;
	char **command = NULL;
	char *text;
	size_t len;
	int code;

	if (argc != 7) {
		return EXIT_NOT_EXECUTABLE;
	}
	work = (struct work){
		.mode = argv[1],
		.ignored = (unsigned int)number(argv[2]),
		.error_fd = number(argv[3]),
		.command_fd = number(argv[4]),
		.launcher_fd = number(argv[5]),
		.max_pids = strtoull(argv[6], NULL, 10),
	};
	if (dup2(work.error_fd, STDERR_FILENO) < 0) {
		return EXIT_NOT_EXECUTABLE;
	}
	text = read_all(work.command_fd, &len);
	if (text) {
		command = split(text, len);
	}
	if (!command || !command[0]) {
		fprintf(stderr, "legato-sandbox: cannot read the command\n");
		code = EXIT_NOT_EXECUTABLE;
	} else {
		code = is_mode(&work, "become") ? become(&work, command)
						: be_init(&work, command);
	}
	free(command);
	free(text);
	return code;
}
