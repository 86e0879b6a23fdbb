/*
 * spec.h - what a run is to be: the options, resolved and checked.
 *
 * Invariants after spec_parse: all paths are absolute and canonical; the
 * checkout is a folder that a view can stand in for; the scratch folder and
 * the checkout don't contain each other, and the scratch folder is not in
 * what sandboxes see. Nothing on disk was changed.
 *
 * Calling sequence: spec_parse, use, spec_release. Threads: one.
 */
#ifndef SANDBOX_SPEC_H
#define SANDBOX_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "config.h"
#include "strv.h"

#define SPEC_TMP "/tmp"

enum role {
	ROLE_REVIEW,   /* the checkout under a throwaway layer */
	ROLE_WORK,     /* the real checkout, read and write */
	ROLE_FIND_OUT, /* the real checkout, read-only */
};

struct spec {
	enum role role;
	char *name; /* NULL without */
	char *checkout;
	char *cwd; /* where the command starts: in the checkout */
	char *home;
	char *scratch_dir; /* may not exist yet */
	char *const *command;
	struct config config;
	struct strv sockets;  /* NAME=PATH, as given */
	struct strv bins;     /* paths, as given */
	int64_t die_after_ns; /* 0: never */
	bool detach;
	bool nested;  /* sandboxes may be made inside */
	bool overlay; /* the checkout under a layer in any role */
	bool discard;
	bool dry_run;
	bool json; /* what dry_run prints */
	bool why;  /* dry_run explains the command's words as paths instead */
	bool debug;
};

/* `argv` from the verb on, as for getopt; the spec points into it. 0 or an
 * exit code (EXIT_USAGE, EXIT_NOT_SET_UP). Release in any case. */
int spec_parse(struct spec *ret_spec, int argc, char **argv) MUST_CHECK;
void spec_release(struct spec *spec);

const char *spec_role_name(enum role role);

/*
 * What the verbs that start nothing need: the home, the person's configuration
 * and the scratch folder, which is `scratch_dir`, else the configuration's,
 * else the default. 0 or an exit code. Release in any case.
 */
int spec_parse_verb(struct spec *ret_spec, const char *scratch_dir) MUST_CHECK;

#endif
