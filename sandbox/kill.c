/* kill: ends what runs in an execution, or sends it a signal. */
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "duration.h"
#include "err.h"
#include "execution.h"
#include "failure.h"
#include "remote.h"
#include "state.h"
#include "usage.h"

#define KILL_TIMEOUT_MS 15000
#define SIGNAL_BYTES    32

/* "TERM", "SIGTERM", "15"; 0 for what is none. */
static int parse_signal(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && !*end) {
		return number > 0 && number < NSIG ? (int)number : 0;
	}
	if (strncasecmp(text, "SIG", 3) == 0) {
		text += 3;
	}
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(text, name) == 0) {
			return i;
		}
	}
	return 0;
}

static int send_signal(int fd, int signal)
{
	char request[SIGNAL_BYTES];

	snprintf(request, sizeof(request), "signal %d", signal);
	return remote_ask(fd, request, NULL, 0);
}

/* SIGTERM to the command, time to end, then SIGKILL to all. */
static int end_run(int fd, int64_t grace_ns, const char *id)
{
	int error = send_signal(fd, SIGTERM);

	/* It may be there without a command yet: then there is nothing to
	 * wait for. */
	if (!error && child_poll_fd(fd, (int)(grace_ns / NS_PER_MS))) {
		return 0;
	}
	error = send_signal(fd, SIGKILL);
	if (error && error != -EPIPE && error != -ECONNRESET) {
		return failure(EXIT_TROUBLE, "cannot kill '%s': %s", id,
			       err_text(error));
	}
	if (!error && !child_poll_fd(fd, KILL_TIMEOUT_MS)) {
		return failure(EXIT_TROUBLE,
			       "cannot kill '%s': it goes on after SIGKILL",
			       id);
	}
	return 0;
}

static int kill_one(const struct verb_options *options, int signal,
		    const char *id)
{
	struct execution execution = EXECUTION_INIT;
	int error = execution_open(&execution, options->scratch_dir, id);
	AUTO_FD fd = -1;
	int code = 0;

	if (error) {
		return entry_failure(id, error);
	}
	fd = remote_connect(&execution);
	if (fd < 0) {
		code = failure(EXIT_TROUBLE, "cannot kill '%s': %s", id,
			       execution_is_living(&execution)
				       ? "it runs no command"
				       : "it is not living");
	} else if (signal) {
		error = send_signal(fd, signal);
		code = error ? failure(EXIT_TROUBLE, "cannot kill '%s': %s", id,
				       err_text(error))
			     : 0;
	} else {
		code = end_run(fd, options->grace_ns, id);
	}
	execution_release(&execution);
	return code;
}

int verb_kill(int argc, char **argv)
{
	struct verb_options options;
	int code = verb_options_parse(&options, argc, argv,
				      VERB_TAKES_SIGNAL | VERB_TAKES_GRACE, 1,
				      INT_MAX);
	int signal = 0;

	if (!code && options.signal) {
		signal = parse_signal(options.signal);
		code = signal ? 0
			      : failure(EXIT_USAGE, "unknown signal '%s'",
					options.signal);
	}
	for (int i = optind; i < argc && code != EXIT_USAGE; i++) {
		if (kill_one(&options, signal, argv[i])) {
			code = EXIT_TROUBLE;
		}
	}
	free(options.scratch_dir);
	return code;
}
