#include "wait.h"

#include <signal.h>

#include "bwrap.h"
#include "daemon.h"
#include "duration.h"
#include "failure.h"
#include "pty.h"
#include "remote.h"
#include "signals.h"

enum {
	FD_SIGNALS,
	FD_DAEMON,
	FD_STATUS,
	FD_SHIM,
	FD_CHILD,
	FD_COUNT,
};

/* --die-after, as a deadline that is put off once. */
struct clock {
	int64_t at_ms; /* 0: never */
	bool asked;    /* the command has had its SIGTERM */
};

static int poll_timeout(const struct clock *clock)
{
	int64_t left = clock->at_ms - duration_now_ms();

	if (!clock->at_ms) {
		return -1;
	}
	return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

static void look_at_clock(struct wait *wait, struct clock *clock)
{
	if (!clock->at_ms || duration_now_ms() < clock->at_ms) {
		return;
	}
	if (clock->asked || bwrap_signal_command(wait->bwrap, SIGTERM) < 0) {
		wait->end_signal = SIGKILL;
		return;
	}
	warning("the time of --die-after is over: ending the command");
	clock->asked = true;
	clock->at_ms = duration_now_ms() + WAIT_GRACE_MS;
}

static void take_signals(struct wait *wait)
{
	for (int s; (s = signals_next(wait->signals)) != 0;) {
		if (signals_means_end(s)) {
			wait->end_signal = s;
		} else if (wait->pty->used) {
			/* It is in another session: not everything that is
			 * sent to our group reaches it. */
			pty_signal(wait->pty, s);
		}
	}
}

static void look_at_shim(struct wait *wait)
{
	switch (bwrap_read_shim(wait->bwrap)) {
	case BWRAP_STARTED:
		if (wait->started && !wait->started(wait->data)) {
			wait->end_signal = SIGHUP;
		}
		break;
	case BWRAP_STOPPED:
		pty_stop_job(wait->pty);
		bwrap_go_on(wait->bwrap);
		break;
	case BWRAP_NO_NEWS:
		break;
	}
}

struct outcome wait_for_end(struct wait *wait)
{
	struct outcome outcome = {0};
	struct clock clock = {0};

	if (wait->die_after_ms) {
		clock.at_ms = duration_now_ms() + wait->die_after_ms;
	}
	while (!wait->end_signal && !outcome.daemon_died) {
		struct pollfd fds[FD_COUNT + REMOTE_FDS_MAX] = {
			[FD_SIGNALS] = {wait->signals->fd, POLLIN, 0},
			[FD_DAEMON] = {wait->daemon->control_fd, POLLIN, 0},
			[FD_STATUS] = {wait->bwrap->status_fd, POLLIN, 0},
			[FD_SHIM] = {wait->bwrap->shim_fd, POLLIN, 0},
			[FD_CHILD] = {wait->bwrap->child.pid_fd, POLLIN, 0},
		};
		int count =
			FD_COUNT + remote_add_fds(wait->remote, fds + FD_COUNT);

		if (poll(fds, (nfds_t)count, poll_timeout(&clock)) < 0) {
			continue;
		}
		bwrap_read_status(wait->bwrap);
		look_at_shim(wait);
		if (fds[FD_CHILD].revents) {
			break;
		}
		/* The daemon says nothing after "ready": this is its end. */
		outcome.daemon_died = fds[FD_DAEMON].revents != 0;
		take_signals(wait);
		remote_serve(wait->remote, wait->handler);
		look_at_clock(wait, &clock);
	}
	outcome.signal = wait->end_signal;
	return outcome;
}
