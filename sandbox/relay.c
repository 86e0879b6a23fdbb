#include "relay.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "err.h"
#include "failure.h"
#include "fdio.h"
#include "sys.h"

#define MEM_MAJOR  1
#define NULL_MINOR 3

/* Fewer switches between the two sides; where it is refused, the default is
 * good, too. */
#define OUTPUT_PIPE_BYTES (1024 * 1024)
#define COPY_BYTES        ((size_t)64 * 1024)
/* From what can't be put back. */
#define TAKE_BYTES 4096

static const char *const names[RELAY_STREAMS] = {"stdin", "stdout", "stderr"};

/* ---------------------------------------------------- what is relayed */

/* What can't be told is relayed: it could be anything. */
static bool is_relayed(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0) {
		return true;
	}
	if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		return false;
	}
	if (S_ISCHR(st.st_mode)) {
		return !isatty(fd) &&
		       st.st_rdev != makedev(MEM_MAJOR, NULL_MINOR);
	}
	return true;
}

/* Whether two descriptors are one open file, with one position. */
static bool is_one_open_file(int a, int b)
{
	long order = syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, a, b);
	struct stat st_a;
	struct stat st_b;

	if (order >= 0) {
		return order == 0;
	}
	/* Not in this kernel, or not allowed in this container: guess. */
	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino &&
	       fcntl(a, F_GETFL) == fcntl(b, F_GETFL) &&
	       lseek(a, 0, SEEK_CUR) == lseek(b, 0, SEEK_CUR);
}

static bool append_to_one_file(int a, int b)
{
	struct stat st_a;
	struct stat st_b;

	return fstat(a, &st_a) == 0 && fstat(b, &st_b) == 0 &&
	       st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino &&
	       (fcntl(a, F_GETFL) & fcntl(b, F_GETFL) & O_APPEND) != 0;
}

static bool is_one_output(int a, int b)
{
	return is_one_open_file(a, b) || append_to_one_file(a, b);
}

/* ---------------------------------------------------- the threads */

/* Waits for our end of the pipe. False: the sandbox has ended. */
static bool wait_for_pipe(const struct pump *pump, short events)
{
	struct pollfd fds[] = {
		{.fd = pump->pipe_fd, .events = events},
		{.fd = pump->stop_fd, .events = POLLIN},
	};

	while (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
	}
	return fds[1].revents == 0;
}

/*
 * Moves up to `size` bytes into the file: how many, 0 at the end of the pipe,
 * -EAGAIN where it is empty, or what the file said. Not with splice(2), which
 * keeps the pipe locked while the disk writes: that is slower (a third, for a
 * GiB), and the command can't be killed while it waits for the lock.
 */
static ssize_t move_output(const struct pump *pump, size_t size)
{
	char bytes[COPY_BYTES];
	ssize_t n = sys_read(pump->pipe_fd, bytes,
			     size < sizeof(bytes) ? size : sizeof(bytes));
	int error = 0;

	if (n > 0) {
		error = fdio_write_all(pump->stream, bytes, (size_t)n);
	}
	return error ? error : n;
}

/* What is in the pipe at the end. Not more: a process outside the sandbox may
 * have been given the other end. */
static ssize_t drain_output(const struct pump *pump)
{
	int left = 0;
	ssize_t n = 0;

	ioctl(pump->pipe_fd, FIONREAD, &left);
	while (left > 0) {
		n = move_output(pump, (size_t)left);
		if (n <= 0) {
			break;
		}
		left -= (int)n;
	}
	return n;
}

static void *pump_output(void *data)
{
	struct pump *pump = data;
	ssize_t n = -EAGAIN;

	while ((n > 0 || n == -EAGAIN) && wait_for_pipe(pump, POLLIN)) {
		n = move_output(pump, COPY_BYTES);
	}
	if (n > 0 || n == -EAGAIN) {
		n = drain_output(pump);
	}
	if (n < 0 && n != -EAGAIN) {
		pump->error = (int)n;
	}
	/* Who goes on writing is told. */
	close(TAKE_FD(pump->pipe_fd));
	return NULL;
}

/* Bytes of the file, from where the pump is: how many, or -errno. Not with
 * splice(2) either: it would put pages of the person's file into the command's
 * hands. */
static ssize_t take_input(const struct pump *pump, char *bytes)
{
	return pump->start < 0 ? sys_read(pump->stream, bytes, TAKE_BYTES)
			       : sys_pread(pump->stream, bytes, COPY_BYTES,
					   pump->start + pump->moved);
}

/* Writes all of it into the pipe. False: nobody will read it. */
static bool feed_input(struct pump *pump, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n;

		if (!wait_for_pipe(pump, POLLOUT)) {
			return false;
		}
		n = sys_write(pump->pipe_fd, bytes, size);
		if (n < 0 && n != -EAGAIN) {
			return false;
		}
		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
			pump->moved += n;
		}
	}
	return true;
}

static void *pump_input(void *data)
{
	struct pump *pump = data;
	char bytes[COPY_BYTES];
	ssize_t n = 0;

	while (wait_for_pipe(pump, POLLOUT)) {
		n = take_input(pump, bytes);
		if (n <= 0 || !feed_input(pump, bytes, (size_t)n)) {
			break;
		}
	}
	if (n < 0) {
		pump->error = (int)n;
	}
	close(TAKE_FD(pump->pipe_fd)); /* the end, to who reads */
	return NULL;
}

/* ---------------------------------------------------- start and finish */

/* Only the pipe ends that are ours don't wait: it is the other side's own
 * open file that the command has. */
static int open_pipe(struct pump *pump)
{
	bool is_input = pump->stream == STDIN_FILENO;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	pump->pipe_fd = ends[is_input ? 1 : 0];
	pump->their_fd = ends[is_input ? 0 : 1];
	if (!is_input) {
		(void)fcntl(pump->pipe_fd, F_SETPIPE_SZ, OUTPUT_PIPE_BYTES);
	}
	return fcntl(pump->pipe_fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

/* With all signals blocked: they are the main thread's, and a file that gets
 * too large must be an error here, not SIGXFSZ to the launcher. */
static int start_thread(struct pump *pump)
{
	void *(*work)(void *) =
		pump->stream == STDIN_FILENO ? pump_input : pump_output;
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&pump->thread, NULL, work, pump);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void close_pipe(struct pump *pump)
{
	auto_close_fd(&pump->pipe_fd);
	auto_close_fd(&pump->their_fd);
	pump->pipe_fd = pump->their_fd = -1;
}

static int start_pump(struct relay *relay, int stream)
{
	struct pump *pump = &relay->pumps[relay->count];
	int error;

	*pump = (struct pump){
		.stream = stream,
		.pipe_fd = -1,
		.their_fd = -1,
		.stop_fd = relay->stop_fd,
		.start = -1,
	};
	if (stream == STDIN_FILENO) {
		pump->start = lseek(stream, 0, SEEK_CUR);
		pump->shared = is_one_open_file(stream, STDOUT_FILENO) ||
			       is_one_open_file(stream, STDERR_FILENO);
	}
	error = open_pipe(pump);
	error = error ? error : start_thread(pump);
	if (error) {
		close_pipe(pump);
		return error;
	}
	relay->fds[stream] = pump->their_fd;
	relay->count++;
	return 0;
}

int relay_start(struct relay *relay)
{
	int error = 0;

	relay->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (relay->stop_fd < 0) {
		return -errno;
	}
	for (int i = 0; !error && i < RELAY_STREAMS; i++) {
		if (!is_relayed(i)) {
			continue;
		}
		if (i == STDERR_FILENO &&
		    relay->fds[STDOUT_FILENO] != STDOUT_FILENO &&
		    is_one_output(STDOUT_FILENO, i)) {
			relay->fds[i] = relay->fds[STDOUT_FILENO];
		} else {
			error = start_pump(relay, i);
		}
	}
	return error;
}

void relay_let_go(struct relay *relay)
{
	for (int i = 0; i < relay->count; i++) {
		struct pump *pump = &relay->pumps[i];

		/* That of stdin tells at the end what was not read. */
		if (pump->stream != STDIN_FILENO) {
			auto_close_fd(&pump->their_fd);
			pump->their_fd = -1;
		}
	}
}

/* The caller may go on reading where the command left off. */
static void put_back_input(const struct pump *pump)
{
	int unread = 0;

	if (pump->start < 0 || pump->shared ||
	    ioctl(pump->their_fd, FIONREAD, &unread) < 0 ||
	    pump->moved <= unread) {
		return;
	}
	if (lseek(STDIN_FILENO, pump->start + pump->moved - unread, SEEK_SET) <
	    0) {
		warning("cannot seek stdin: %s", err_text(errno));
	}
}

static void finish_pump(struct pump *pump)
{
	bool is_input = pump->stream == STDIN_FILENO;

	pthread_join(pump->thread, NULL);
	if (is_input) {
		put_back_input(pump);
	}
	if (pump->error) {
		warning("cannot %s %s: %s", is_input ? "read" : "write",
			names[pump->stream], err_text(pump->error));
	}
	close_pipe(pump);
}

void relay_finish(struct relay *relay)
{
	if (relay->stop_fd < 0) {
		return;
	}
	relay_let_go(relay);
	while (eventfd_write(relay->stop_fd, 1) < 0 && errno == EINTR) {
	}
	for (int i = 0; i < relay->count; i++) {
		finish_pump(&relay->pumps[i]);
	}
	close(TAKE_FD(relay->stop_fd));
	relay->count = 0;
}
