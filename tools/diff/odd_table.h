/*
 * odd_table.h - which files run, or are read as instructions, on their own.
 *
 * A reviewer who keeps such a file, or only goes on working beside it, has
 * code run that nobody started: by git, a shell, an editor, a CI service, a
 * package manager, an agent. The table is data: add a row, nothing else.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_ODD_TABLE_H
#define TOOLS_DIFF_ODD_TABLE_H

/* Why the file at `path` runs on its own; NULL for all others. Letter case
 * does not matter, as on disks that ignore it. */
const char *odd_table_why(const char *path);

#endif
