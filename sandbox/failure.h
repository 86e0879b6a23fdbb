/*
 * failure.h - how the launcher says no, and its exit codes.
 *
 * A function that can fail for a reason that a person must read prints that
 * reason, one line, where it knows most about it, and returns the exit code;
 * 0 is success. Callers pass the code on and add nothing:
 *
 *	return failure(EXIT_NOT_SET_UP, "cannot open '%s': %s", path, ...);
 *
 * The text follows git: no capital, failure first, the subject in single
 * quotes. Control characters in it are replaced, so that it stays one line.
 */
#ifndef SANDBOX_FAILURE_H
#define SANDBOX_FAILURE_H

#include "compiler.h"

/* Beside the command's own code; man page, EXIT STATUS. */
enum exit_code {
	EXIT_TROUBLE = 1, /* of the other verbs: not done, or not wholly */
	EXIT_USAGE = 2,
	EXIT_NOT_SET_UP = 125,
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
	EXIT_SIGNAL_BASE = 128, /* plus the signal's number */
};

/* Prints "legato-sandbox: ..." on stderr and returns `code`. */
int failure(int code, const char *format, ...) PRINTF_LIKE(2, 3);

/* Prints the line only: something to know, nothing to stop for. */
void warning(const char *format, ...) PRINTF_LIKE(1, 2);

/* Both print on `fd` from now on, which is theirs to close; -1: on stderr
 * again. */
void failure_redirect(int fd);

/*
 * Strings on the heap that are there: out of memory prints a line and exits
 * with EXIT_NOT_SET_UP. Dying is safe at any time: what runs ends with the
 * launcher, and `sweep` finds the folder.
 */
char *text_copy(const char *text) MUST_CHECK;
char *text_format(const char *format, ...) PRINTF_LIKE(1, 2) MUST_CHECK;

_Noreturn void die_no_memory(void);

/* For the result of a function that only fails for want of memory. */
static inline void die_if_no_memory(int error)
{
	if (error) {
		die_no_memory();
	}
}

#endif
