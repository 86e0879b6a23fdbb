/*
 * given.h - what the caller gives a run beside the configuration: sockets that
 * it serves (--socket NAME=PATH) and programs (--bin PATH).
 *
 * A socket is shown at GIVEN_SOCKETS_AT/NAME, and named by the variable
 * LEGATO_SOCKET_<NAME>; one that is called as a well-known service is, by the
 * service's own variable too (ssh-agent: SSH_AUTH_SOCK). The n-th --bin, a
 * folder or one file, is the folder GIVEN_BINS_AT/n, and these come first on
 * PATH, in their order. All is read-only, which hinders no connect(2).
 *
 * What a rule hides is refused, as for mounts; but a socket is shown where the
 * rule says `asked`.
 *
 * Calling sequence: given_add after seen_init. Threads: one.
 */
#ifndef SANDBOX_GIVEN_H
#define SANDBOX_GIVEN_H

#include <stdbool.h>

#include "compiler.h"

struct hidden;
struct seen;
struct spec;

#define GIVEN_SOCKETS_AT "/run/legato/sockets"
#define GIVEN_BINS_AT    "/run/legato/bin"

/* Whether `text` is NAME=PATH with a name that can be part of a variable's. */
bool given_socket_valid(const char *text);

/* Adds to what is shown, and to the variables that must be set. 0, or prints
 * and returns EXIT_NOT_SET_UP. */
int given_add(struct seen *seen, const struct spec *spec,
	      const struct hidden *hidden) MUST_CHECK;

#endif
