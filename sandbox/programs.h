/*
 * programs.h - the other programs that a run needs, found before it starts.
 *
 * Ours are looked for where this program lies (the build tree too), then
 * where they are installed; the system's in PATH. $LEGATO_FS names another
 * daemon, for tests.
 *
 * Calling sequence: programs_find, use, programs_release. Threads: one.
 */
#ifndef SANDBOX_PROGRAMS_H
#define SANDBOX_PROGRAMS_H

#include "compiler.h"

struct child_question;

struct programs {
	char *bwrap;
	char *daemon; /* legato-fs */
	char *shim;   /* legato-exec */
};

/* 0 or an exit code: one of them is missing. */
int programs_find(struct programs *ret_programs) MUST_CHECK;

/* Asks bwrap for its version, which answers meanwhile. 0 or -errno. */
int programs_ask_bwrap(const struct programs *programs,
		       struct child_question *question) MUST_CHECK;

/* After programs_ask_bwrap, once. 0 or an exit code: it is too old. */
int programs_check_bwrap(const struct programs *programs,
			 struct child_question *question) MUST_CHECK;

void programs_release(struct programs *programs);

/* The path of a program in PATH, NULL if there is none. Caller frees. */
char *programs_in_path(const char *name);

/* The folder with the tables (tables.h), found in the same way. Caller frees.
 */
char *programs_data_folder(void);

#endif
