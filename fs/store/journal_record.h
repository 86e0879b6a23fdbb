/*
 * journal_record.h - one entry of the journal, decoded.
 *
 * What the append area (journal.h) holds in its own packed form, what the
 * database (index.h) is made of, and what the tools read. All strings are bytes
 * as the kernel gave them, not text: names may hold anything but NUL.
 *
 * Ownership: whoever hands a record out owns its strings; they are valid until
 * its next call. Threads: a record belongs to one thread.
 */
#ifndef FS_STORE_JOURNAL_RECORD_H
#define FS_STORE_JOURNAL_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The numbers are on disk: never change one, only append. */
enum journal_op {
	JOURNAL_CREATE = 1,
	JOURNAL_MKDIR = 2,
	JOURNAL_MKNOD = 3,
	JOURNAL_SYMLINK = 4,
	JOURNAL_TMPFILE = 5,
	JOURNAL_LINK = 6, /* path2: the new name */
	JOURNAL_UNLINK = 7,
	JOURNAL_RMDIR = 8,
	JOURNAL_RENAME = 9, /* path2: the new name */
	JOURNAL_EXCHANGE =
		10, /* renameat2(RENAME_EXCHANGE); path2: the other */
	JOURNAL_WRITE = 11,
	JOURNAL_TRUNCATE = 12,
	JOURNAL_FALLOCATE = 13,
	JOURNAL_COPY_RANGE = 14, /* path2: the source, from this view's root */
	JOURNAL_CHMOD = 15,
	JOURNAL_CHOWN = 16,
	JOURNAL_UTIMENS = 17,
	JOURNAL_SETXATTR = 18,    /* path2: the attribute's name */
	JOURNAL_REMOVEXATTR = 19, /* path2: the attribute's name */
	JOURNAL_READ = 20,        /* of a path that journal.reads chose */
	JOURNAL_REFUSED = 21,     /* a masked path was asked for */
};

/* How far a change got. */
enum journal_state {
	/* Begun and never finished: the daemon died in it. It may or may not
	 * have happened; nobody was told that it did. */
	JOURNAL_BEGUN = 1,
	JOURNAL_DONE = 2, /* `result` holds */
};

/* Who made a change: one program run by one process. A process that goes on
 * with another program (exec) is another, with the same pid and start. */
struct journal_process {
	uint64_t number; /* from 1, in this execution; 0: not known */
	uint64_t parent; /* its parent's number; 0: not known */
	pid_t pid;       /* as the daemon sees it */
	pid_t ppid;
	uid_t uid;
	uint64_t start_ticks; /* of /proc/PID/stat, since boot */
	const char *exe;      /* "" where it could not be read */
	const char *command;  /* arguments, NUL between them */
	size_t command_size;  /* bytes, cut at JOURNAL_COMMAND_MAX */
	const char *cwd;      /* as the process sees it */
};

#define JOURNAL_COMMAND_MAX 4096

struct journal_record {
	/* From 1, in the order of beginning. A number is missing only where the
	 * daemon was killed, or the machine lost power, as it was given. */
	uint64_t sequence;
	int64_t wall_ns; /* CLOCK_REALTIME, since 1970 */
	int64_t mono_ns; /* CLOCK_MONOTONIC */
	enum journal_op op;
	enum journal_state state;
	int result;       /* 0 or -errno; of several calls the last one's */
	const char *view; /* its name */
	const char
		*path; /* in the view, without a leading slash; "" its root */
	const char *path2; /* NULL where the operation has none */
	uint64_t ino;     /* st_ino of the node as the view shows it; 0: none */
	uint64_t process; /* number of struct journal_process; 0: not known */
	/* It has no name any more (unlinked while open), or not yet: `path` is
	 * the last one, or of an O_TMPFILE the directory's. */
	bool nameless;
	bool by_opener; /* the process opened the file; who wrote isn't known */
	int64_t offset; /* bytes; WRITE, FALLOCATE, COPY_RANGE, READ; else -1 */
	int64_t bytes;  /* how many were asked for and, once done, made */
	int64_t size_before, size_after; /* -1: not known, or not a file */
	int32_t mode_before, mode_after; /* st_mode; -1: not known */
	/* Writes of one opener to one file that follow each other are one
	 * record: of the first `sequence` and times, with these. */
	uint64_t count; /* calls; 1 for all others */
	bool more;      /* DONE holds, and the daemon died in one call more */
	int64_t last_wall_ns; /* of the last call */
};

#endif
