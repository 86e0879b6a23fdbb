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

struct programs {
	char *bwrap;
	char *daemon; /* legato-fs */
	char *shim;   /* legato-exec */
};

/* 0 or an exit code: one of them is missing, or bwrap is too old. */
int programs_find(struct programs *ret_programs) MUST_CHECK;
void programs_release(struct programs *programs);

/* The path of a program in PATH, NULL if there is none. Caller frees. */
char *programs_in_path(const char *name);

/* The folder with the tables (tables.h), found in the same way. Caller frees.
 */
char *programs_data_folder(void);

#endif
