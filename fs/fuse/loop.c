#include "loop.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>

#include "err.h"
#include "log.h"
#include "notify.h"
#include "sys.h"

/* libfuse's workers. Two do for two cores; those that block in the disk are
 * what more are for. */
#define MAX_THREADS 16

/* See end_loop. */
#define WAKE_AGAIN_MS 10

struct attendant {
	struct fuse_session *session;
	struct server *server;
	pthread_t main_thread;
	int control_fd;
	int signal_fd;
	int done_fd; /* the main thread needs it no more */
};

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

void loop_block_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	/* Under a limit on the size of files, a write beyond it is an error of
	 * that call (EFBIG) and not our end. */
	signal(SIGXFSZ, SIG_IGN);
}

static void on_wake(int number)
{
	(void)number;
}

/* Makes SIGUSR1 interrupt what the main thread waits in. */
static void prepare_wake(void)
{
	struct sigaction action = {.sa_handler = on_wake};

	sigaction(SIGUSR1, &action, NULL);
}

/*
 * Ends libfuse's loop. Up to 3.17 fuse_session_exit does not wake the main
 * thread from its sem_wait, so a signal does; until it is awake, in case it
 * was about to wait. Remove when 3.18 is the floor.
 */
static void end_loop(struct attendant *attendant)
{
	struct pollfd done = {.fd = attendant->done_fd, .events = POLLIN};

	fuse_session_exit(attendant->session);
	do {
		pthread_kill(attendant->main_thread, SIGUSR1);
	} while (poll(&done, 1, WAKE_AGAIN_MS) == 0);
}

/* Whether the launcher has closed its end. */
static bool control_ended(int control_fd)
{
	char byte;

	return sys_read(control_fd, &byte, sizeof(byte)) <= 0;
}

enum attended {
	CONTROL,
	SIGNALS,
	DONE,
	BASE,
	CHANGES,
	ATTENDED
};

static void *attend(void *data)
{
	struct attendant *attendant = data;
	struct pollfd fds[ATTENDED] = {
		[CONTROL] = {.fd = attendant->control_fd, .events = POLLIN},
		[SIGNALS] = {.fd = attendant->signal_fd, .events = POLLIN},
		[DONE] = {.fd = attendant->done_fd, .events = POLLIN},
		[CHANGES] = {.fd = attendant->server->fs.changes.event_fd,
			     .events = POLLIN},
		[BASE] = {.fd = attendant->server->fs.watches.fd,
			  .events = POLLIN},
	};

	for (;;) {
		/* Descriptors of -1 are left out by poll. */
		if (poll(fds, ATTENDED, -1) < 0) {
			continue;
		}
		if (fds[DONE].revents) {
			return NULL;
		}
		if (fds[SIGNALS].revents ||
		    (fds[CONTROL].revents &&
		     control_ended(attendant->control_fd))) {
			end_loop(attendant);
			return NULL;
		}
		if (fds[BASE].revents) {
			notify_base_changes(attendant->session,
					    attendant->server);
		}
		if (fds[CHANGES].revents) {
			notify_old_pages(attendant->session, attendant->server);
		}
	}
}

static int start_attendant(struct attendant *attendant, pthread_t *ret_thread)
{
	sigset_t ending;
	sigset_t all;
	sigset_t saved;
	int error;

	ending_signals(&ending);
	attendant->signal_fd = signalfd(-1, &ending, SFD_CLOEXEC);
	attendant->done_fd = eventfd(0, EFD_CLOEXEC);
	if (attendant->signal_fd < 0 || attendant->done_fd < 0) {
		return -errno;
	}
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &saved);
	error = pthread_create(ret_thread, NULL, attend, attendant);
	pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return -error;
}

static int serve_requests(struct fuse_session *session)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int error;

	if (!config) {
		return -ENOMEM;
	}
	fuse_loop_cfg_set_max_threads(config, MAX_THREADS);
	fuse_loop_cfg_set_idle_threads(config, MAX_THREADS);
	error = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	/* Above 0 it is a signal's number. */
	return error > 0 ? 0 : error;
}

static void stop_attendant(struct attendant *attendant, pthread_t thread)
{
	uint64_t one = 1;

	if (sys_write(attendant->done_fd, &one, sizeof(one)) < 0) {
		log_error("attendant not told to stop");
	}
	pthread_join(thread, NULL);
}

int loop_run(struct fuse_session *session, struct server *server,
	     int control_fd)
{
	struct attendant attendant = {
		.session = session,
		.server = server,
		.main_thread = pthread_self(),
		.control_fd = control_fd,
		.signal_fd = -1,
		.done_fd = -1,
	};
	pthread_t thread;
	int error;

	prepare_wake();
	error = start_attendant(&attendant, &thread);
	if (!error) {
		error = serve_requests(session);
		stop_attendant(&attendant, thread);
	}
	auto_close_fd(&attendant.signal_fd);
	auto_close_fd(&attendant.done_fd);
	return error;
}
