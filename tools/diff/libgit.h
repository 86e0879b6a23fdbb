/*
 * libgit.h - libgit2, made ready once.
 *
 * Its first initialization reads all certificates of the system, which takes
 * longer than most executions' whole summary: so it happens where something
 * needs libgit2, and its like is not done and undone again and again.
 *
 * Threads: any.
 */
#ifndef TOOLS_DIFF_LIBGIT_H
#define TOOLS_DIFF_LIBGIT_H

/* From here to the end of the process libgit2 may be used. */
void libgit_need(void);

#endif
