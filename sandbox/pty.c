#include "pty.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <termios.h>

#include "sys.h"

#define BYTES_MAX 4096
/* What a terminal holds that was written before the end; more can only come
 * from outside the sandbox. */
#define LEFT_BYTES_MAX 65536
/* For a person's terminal that takes nothing (Ctrl-S, a lost connection). */
#define SHOW_TIMEOUT_MS 2000
/* `fg` of a job that runs in the background is told by no signal. */
#define IN_FRONT_POLL_MS 250

/* Fatal, and not among those of signals.h. */
static const int fatal[] = {
	SIGABRT, SIGALRM,   SIGBUS,  SIGFPE,  SIGILL,  SIGIO,
	SIGPROF, SIGPWR,    SIGSEGV, SIGSYS,  SIGTRAP, SIGUSR1,
	SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ,
};

/* The person's terminal and its modes; -1: there is nothing to restore. Global,
 * for the handler: one pty in a process. Written by the main thread while no
 * handler can run. */
static int restore_fd = -1;
static struct termios restore_modes;

/* ------------------------------------------------- the person's terminal */

/* Without being stopped for it in the background. */
static void set_modes(int fd, const struct termios *modes)
{
	sigset_t set;
	sigset_t before;

	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	(void)tcsetattr(fd, TCSADRAIN, modes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void on_fatal(int signal)
{
	(void)tcsetattr(restore_fd, TCSANOW, &restore_modes);
	raise(signal); /* SA_RESETHAND: dies of it */
}

static void restore_at_exit(void)
{
	if (restore_fd >= 0) {
		(void)tcsetattr(restore_fd, TCSANOW, &restore_modes);
	}
}

/* Those that the caller has us ignore stay so. */
static void catch_fatal(void)
{
	struct sigaction action = {
		.sa_handler = on_fatal,
		.sa_flags = SA_RESETHAND | SA_NODEFER,
	};
	struct sigaction before;

	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++) {
		if (sigaction(fatal[i], NULL, &before) == 0 &&
		    before.sa_handler == SIG_DFL) {
			sigaction(fatal[i], &action, NULL);
		}
	}
}

static void let_die(void)
{
	struct sigaction normal = {.sa_handler = SIG_DFL};
	struct sigaction now;

	for (size_t i = 0; i < ARRAY_SIZE(fatal); i++) {
		if (sigaction(fatal[i], NULL, &now) == 0 &&
		    now.sa_handler == on_fatal) {
			sigaction(fatal[i], &normal, NULL);
		}
	}
}

static void copy_size(const struct pty *pty)
{
	struct winsize size;

	/* Tells the command's foreground, if it is another size. */
	if (ioctl(pty->terminal_fd, TIOCGWINSZ, &size) == 0) {
		(void)ioctl(pty->master_fd, TIOCSWINSZ, &size);
	}
}

/* In the foreground: raw, and what is typed is ours. */
static void take_terminal(struct pty *pty)
{
	bool in_front = tcgetpgrp(pty->terminal_fd) == getpgrp();
	struct termios raw = restore_modes;

	if (in_front) {
		cfmakeraw(&raw);
		set_modes(pty->terminal_fd, &raw);
		copy_size(pty);
	}
	atomic_store_explicit(&pty->typing, in_front, memory_order_relaxed);
}

void pty_stop_job(struct pty *pty)
{
	/* Modes are the foreground's business. */
	if (tcgetpgrp(pty->terminal_fd) == getpgrp()) {
		set_modes(pty->terminal_fd, &restore_modes);
	}
	/* Here we stop, unless our group is orphaned. */
	(void)kill(0, SIGTSTP);
	take_terminal(pty);
}

void pty_signal(const struct pty *pty, int signal)
{
	(void)ioctl(pty->master_fd, TIOCSIG, signal);
}

/* ------------------------------------------------------------ the thread */

/* Bytes on their way, from one descriptor to the other. */
struct flow {
	int from;
	int to;
	size_t len;
	size_t done;
	char bytes[BYTES_MAX];
};

/* What came, or 0: nothing now. False: no more will. */
static bool flow_in(struct flow *flow)
{
	ssize_t n = sys_read(flow->from, flow->bytes, sizeof(flow->bytes));

	if (n <= 0) {
		return n == -EAGAIN;
	}
	flow->len = (size_t)n;
	flow->done = 0;
	return true;
}

/* What can't be shown or typed any more is dropped. */
static void flow_out(struct flow *flow)
{
	ssize_t n = sys_write(flow->to, flow->bytes + flow->done,
			      flow->len - flow->done);

	if (n > 0) {
		flow->done += (size_t)n;
	}
	if (flow->done == flow->len || (n < 0 && n != -EAGAIN)) {
		flow->len = flow->done = 0;
	}
}

static void read_signals(struct pty *pty)
{
	struct signalfd_siginfo info;

	while (sys_read(pty->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCONT) {
			take_terminal(pty);
		} else {
			copy_size(pty);
		}
	}
}

/* After the end: what the command's terminal still holds. */
static void show_rest(const struct pty *pty, struct flow *out)
{
	struct pollfd fd = {.fd = pty->terminal_fd, .events = POLLOUT};
	size_t shown = 0;

	while (shown < LEFT_BYTES_MAX && (out->len > 0 || flow_in(out)) &&
	       out->len > 0 && poll(&fd, 1, SHOW_TIMEOUT_MS) > 0) {
		size_t before = out->done;

		flow_out(out);
		shown += out->len ? out->done - before : BYTES_MAX;
	}
}

enum {
	FD_TERMINAL,
	FD_MASTER,
	FD_STOP,
	FD_SIGNALS,
	FD_COUNT,
};

struct mover {
	struct pty *pty;
	struct flow keys;
	struct flow shown;
	bool no_shown; /* the command's has nobody on it */
};

static void fill_fds(const struct mover *mover, struct pollfd fds[FD_COUNT],
		     bool typing)
{
	const struct pty *pty = mover->pty;
	short terminal = 0;
	short master = 0;

	if (typing && mover->keys.len == 0) {
		terminal |= POLLIN;
	}
	if (mover->keys.len > 0) {
		master |= POLLOUT;
	}
	if (mover->shown.len > 0) {
		terminal |= POLLOUT;
	} else if (!mover->no_shown) {
		master |= POLLIN;
	}
	/* With no events asked for, a hang-up would still be told. */
	fds[FD_TERMINAL] =
		(struct pollfd){terminal ? pty->terminal_fd : -1, terminal, 0};
	fds[FD_MASTER] =
		(struct pollfd){master ? pty->master_fd : -1, master, 0};
	fds[FD_STOP] = (struct pollfd){pty->stop_fd, POLLIN, 0};
	fds[FD_SIGNALS] = (struct pollfd){pty->signal_fd, POLLIN, 0};
}

static void move(struct mover *mover, const struct pollfd fds[FD_COUNT])
{
	if (fds[FD_MASTER].revents && mover->keys.len > 0) {
		flow_out(&mover->keys);
	}
	if (fds[FD_TERMINAL].revents && mover->shown.len > 0) {
		flow_out(&mover->shown);
	}
	if (fds[FD_TERMINAL].revents & (POLLIN | POLLHUP | POLLERR) &&
	    fds[FD_TERMINAL].events & POLLIN && !flow_in(&mover->keys)) {
		/* It is gone, or we are in the background by now. */
		atomic_store_explicit(&mover->pty->typing, false,
				      memory_order_relaxed);
	}
	if (fds[FD_MASTER].revents & (POLLIN | POLLHUP | POLLERR) &&
	    fds[FD_MASTER].events & POLLIN && !flow_in(&mover->shown)) {
		mover->no_shown = true;
	}
}

static void *move_bytes(void *data)
{
	struct pty *pty = data;
	struct mover mover = {
		.pty = pty,
		.keys = {.from = pty->terminal_fd, .to = pty->master_fd},
		.shown = {.from = pty->master_fd, .to = pty->terminal_fd},
	};
	struct pollfd fds[FD_COUNT];

	for (;;) {
		bool typing = atomic_load_explicit(&pty->typing,
						   memory_order_relaxed);
		int n;

		fill_fds(&mover, fds, typing);
		n = poll(fds, FD_COUNT, typing ? -1 : IN_FRONT_POLL_MS);
		if (n < 0) {
			continue;
		}
		if (!typing && tcgetpgrp(pty->terminal_fd) == getpgrp()) {
			take_terminal(pty);
		}
		if (fds[FD_STOP].revents) {
			break;
		}
		if (fds[FD_SIGNALS].revents) {
			read_signals(pty);
		}
		move(&mover, fds);
	}
	show_rest(pty, &mover.shown);
	return NULL;
}

/* --------------------------------------------------------- start and finish */

/* Our controlling one: any other is a device like others. */
static bool is_own_terminal(int fd)
{
	return isatty(fd) && tcgetpgrp(fd) >= 0;
}

static bool is_piped(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_wanted(void)
{
	return is_own_terminal(STDIN_FILENO) &&
	       tcgetpgrp(STDIN_FILENO) == getpgrp() &&
	       !is_piped(STDOUT_FILENO) && !is_piped(STDERR_FILENO);
}

/* A description of our own, so that not waiting is nobody else's business. */
static int open_person_terminal(struct pty *pty)
{
	pty->terminal_fd =
		open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (pty->terminal_fd < 0 ||
	    tcgetattr(pty->terminal_fd, &restore_modes) < 0) {
		return -errno;
	}
	return 0;
}

static int open_pair(struct pty *pty)
{
	pty->master_fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (pty->master_fd < 0 || unlockpt(pty->master_fd) < 0 ||
	    fcntl(pty->master_fd, F_SETFL, O_NONBLOCK) < 0) {
		return -errno;
	}
	/* By the master: names lead elsewhere in containers. */
	pty->slave_fd = ioctl(pty->master_fd, TIOCGPTPEER,
			      O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (pty->slave_fd < 0 ||
	    tcsetattr(pty->slave_fd, TCSANOW, &restore_modes) < 0) {
		return -errno;
	}
	copy_size(pty);
	return 0;
}

static int open_signals(struct pty *pty)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	pthread_sigmask(SIG_BLOCK, &set, &pty->mask);
	pty->used = true;
	pty->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	pty->stop_fd = eventfd(0, EFD_CLOEXEC);
	return pty->signal_fd < 0 || pty->stop_fd < 0 ? -errno : 0;
}

static int start_thread(struct pty *pty)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&pty->thread, NULL, move_bytes, pty);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pty->running = error == 0;
	return -error;
}

int pty_start(struct pty *pty, int fds[3])
{
	int error;

	if (!is_wanted()) {
		return 0;
	}
	error = open_person_terminal(pty);
	error = error ? error : open_pair(pty);
	error = error ? error : open_signals(pty);
	if (error) {
		return error;
	}
	for (int i = 0; i < 3; i++) {
		if (is_own_terminal(i)) {
			fds[i] = pty->slave_fd;
		}
	}
	if (atexit(restore_at_exit)) {
		return -ENOMEM;
	}
	restore_fd = pty->terminal_fd;
	catch_fatal();
	take_terminal(pty);
	return start_thread(pty);
}

void pty_let_go(struct pty *pty)
{
	auto_close_fd(&pty->slave_fd);
	pty->slave_fd = -1;
}

static void end_thread(struct pty *pty)
{
	if (pty->running) {
		while (eventfd_write(pty->stop_fd, 1) < 0 && errno == EINTR) {
		}
		pthread_join(pty->thread, NULL);
	}
}

void pty_finish(struct pty *pty)
{
	if (pty->terminal_fd < 0) {
		return;
	}
	pty_let_go(pty);
	end_thread(pty);
	if (restore_fd >= 0) {
		let_die();
		if (tcgetpgrp(restore_fd) == getpgrp()) {
			set_modes(restore_fd, &restore_modes);
		}
		restore_fd = -1;
	}
	if (pty->used) {
		pthread_sigmask(SIG_SETMASK, &pty->mask, NULL);
	}
	auto_close_fd(&pty->master_fd);
	auto_close_fd(&pty->terminal_fd);
	auto_close_fd(&pty->stop_fd);
	auto_close_fd(&pty->signal_fd);
	*pty = (struct pty)PTY_INIT;
}
