/*
 * record.h - the transcript of one case: what a program could see.
 *
 * Each line is "label = value". A label is the text of the call or a name
 * that the case gives; labels that come again are numbered, so that the
 * transcripts of two file systems are compared label by label, whatever path
 * a case took. Only what must agree is recorded: never inode numbers, sizes of
 * directories, block counts or the time of day.
 *
 * Threads: none. Transcripts go to stdout, unbuffered enough that a crashed
 * case leaves what it had recorded.
 */
#ifndef TESTS_PARITY_RECORD_H
#define TESTS_PARITY_RECORD_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "compiler.h"

/* Begins the transcript of `name`; labels are numbered anew. */
void record_begin(const char *name);

void record(const char *label, const char *format, ...) PRINTF_LIKE(2, 3);

/* Put before each label from now on ("" again for none): what a child process
 * records must not take the labels of the next. */
void record_prefix(const char *prefix);

/* Records the result of a call that gives -1 and errno: the error's name, or
 * the number. Returns it. */
long record_result(const char *call, long result);

/* The same for a call that gives a descriptor, whose number means nothing. */
int record_fd(const char *call, int fd);

#define TRY(call)    record_result(#call, (long)(call))
#define TRY_FD(call) record_fd(#call, (call))

/* TRY_FD, and closes what was opened. */
#define TRY_OPEN(call) record_open(#call, (call))
void record_open(const char *call, int fd);

/* Type, mode, owner, size, and the number of links of all but directories. */
void record_stat(const char *label, const char *path);
void record_fstat(const char *label, int fd);

/* Size, hash and the first bytes. The position of `fd` is not used. */
void record_content(const char *label, const char *path);
void record_fd_content(const char *label, int fd);

/* The names in a folder, sorted, with types; complains about a d_ino or
 * d_type that stat does not agree with. */
void record_listing(const char *label, const char *path);

/* All that is below `path`: stat, content, target, attributes, times. */
void record_tree(const char *path);

/* Extended attributes and their values, sorted. */
void record_xattrs(const char *label, const char *path);

/*
 * Which times an operation changes: record_times_before() notes the times of
 * `path`; after all of those record_clock_step() lets the clock go on;
 * record_times_after() records which differ.
 */
struct record_times {
	const char *path;
	struct stat before;
};
void record_times_before(struct record_times *times, const char *path);
void record_clock_step(void);
void record_times_after(const char *label, const struct record_times *times);

/* FNV-1a, so that contents can be compared as numbers. */
unsigned long record_hash(const void *data, size_t size);

#endif
