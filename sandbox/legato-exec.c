/*
 * legato-exec - the last step into the command, inside the sandbox.
 *
 *	legato-exec IGNORED STDERR COMMAND [ARGUMENT...]
 *
 * bwrap runs it instead of the command, for four things: the real stderr
 * comes back (bwrap's own words went to the launcher), descriptors that bwrap
 * needed are closed, signals that the launcher and bwrap ignore mean to the
 * command what they meant to us (IGNORED: a bit per signal), and a command
 * that can't be run says so and exits 127 or 126, as from a shell.
 *
 * It needs nothing but libc, as everything else is not there yet.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

static void restore_signals(unsigned long ignored)
{
	/* The two that are ignored for the launcher's sake; others are as they
	 * were. */
	static const int signals[] = {SIGINT, SIGQUIT};
	struct sigaction normal = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 0; i < 2; i++) {
		if (!(ignored & (1UL << signals[i]))) {
			sigaction(signals[i], &normal, NULL);
		}
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr,
			"usage: legato-exec IGNORED STDERR COMMAND...\n");
		return EXIT_NOT_EXECUTABLE;
	}
	if (dup2(atoi(argv[2]), STDERR_FILENO) < 0) {
		return EXIT_NOT_EXECUTABLE;
	}
	close_range(STDERR_FILENO + 1, ~0U, 0);
	restore_signals(strtoul(argv[1], NULL, 0));
	execvp(argv[3], argv + 3);
	fprintf(stderr, "legato-sandbox: cannot run '%s': %s\n", argv[3],
		strerror(errno));
	return errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
