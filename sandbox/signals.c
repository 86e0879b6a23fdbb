#include "signals.h"

#include <fcntl.h>
#include <sys/signalfd.h>

static const int taken[SIGNALS_COUNT] = {
	SIGINT,
	SIGQUIT,
	SIGTERM,
	SIGHUP,
	/* Ignored here: the summary's reader may be gone, cleaning up goes on.
	 */
	SIGPIPE,
	/* Whoever starts us may ignore it, and then children can't be waited
	 * for. */
	SIGCHLD,
};

enum {
	N_READ = 4 /* the first ones are read from the descriptor */
};

static void note_terminal(struct signals *signals)
{
	AUTO_FD fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);

	signals->terminal_fd = -1;
	if (fd >= 0 && tcgetpgrp(fd) == getpgrp() &&
	    tcgetattr(fd, &signals->terminal) == 0) {
		signals->terminal_fd = TAKE_FD(fd);
	}
}

static void block_to_read(struct signals *signals, sigset_t *ret_set)
{
	sigemptyset(ret_set);
	for (int i = 0; i < N_READ; i++) {
		/* nohup: SIGHUP must go on meaning nothing. A blocked signal
		 * is queued even if it is ignored, so leave it alone. */
		if (signals->actions[i].sa_handler != SIG_IGN) {
			sigaddset(ret_set, taken[i]);
		}
	}
	sigprocmask(SIG_BLOCK, ret_set, &signals->mask);
}

int signals_take(struct signals *signals)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t set;

	for (int i = 0; i < SIGNALS_COUNT; i++) {
		sigaction(taken[i], NULL, &signals->actions[i]);
	}
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &normal, NULL);
	note_terminal(signals);
	block_to_read(signals, &set);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return signals->fd < 0 ? -errno : 0;
}

int signals_next(const struct signals *signals)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != sizeof(info)) {
		return 0;
	}
	return (int)info.ssi_signo;
}

bool signals_means_end(int signal)
{
	return signal == SIGTERM || signal == SIGHUP;
}

void signals_restore_in_child(const struct signals *signals)
{
	for (int i = 0; i < SIGNALS_COUNT; i++) {
		sigaction(taken[i], &signals->actions[i], NULL);
	}
	sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}

unsigned int signals_ignored(const struct signals *signals)
{
	unsigned int bits = 0;

	for (int i = 0; i < SIGNALS_COUNT; i++) {
		if ((taken[i] == SIGINT || taken[i] == SIGQUIT) &&
		    signals->actions[i].sa_handler == SIG_IGN) {
			bits |= 1U << taken[i];
		}
	}
	return bits;
}

void signals_take_terminal_back(struct signals *signals)
{
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction before;

	if (signals->terminal_fd < 0) {
		return;
	}
	/* Else asking for it from the background would stop us. */
	sigaction(SIGTTOU, &ignore, &before);
	if (tcgetpgrp(signals->terminal_fd) != getpgrp()) {
		tcsetpgrp(signals->terminal_fd, getpgrp());
	}
	tcsetattr(signals->terminal_fd, TCSADRAIN, &signals->terminal);
	sigaction(SIGTTOU, &before, NULL);
	close(signals->terminal_fd);
	signals->terminal_fd = -1;
}

void signals_leave_terminal(struct signals *signals)
{
	auto_close_fd(&signals->terminal_fd);
	signals->terminal_fd = -1;
}

void signals_give_back(struct signals *signals)
{
	signals_take_terminal_back(signals);
	/* One that came at last was meant for a run that is over. */
	while (signals_next(signals)) {
	}
	close(signals->fd);
	signals_restore_in_child(signals);
}
