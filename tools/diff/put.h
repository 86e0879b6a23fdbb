/*
 * put.h - one entry made in a real directory: there whole, or not at all.
 *
 * An entry is made under a temporary name beside its place, with all its
 * attributes, and then takes the place in one rename. Nothing follows a link.
 *
 * Calling sequence: put_make (or a link) to put_temp_name, then put_replace;
 * put_discard where it does not come to that.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_PUT_H
#define TOOLS_DIFF_PUT_H

#include <stdbool.h>

#include "change.h"
#include "compiler.h"

#define PUT_TEMP_BYTES 40

/* What an entry is made from. */
struct put_source {
	int fd; /* O_PATH, borrowed: its attributes, and its content */
	enum change_kind kind;
	bool is_layer; /* attributes have their names as in an upper */
	/* Bytes of a file instead of those behind `fd`; NULL for none. */
	const struct buf *content;
};

/* The temporary name that goes with `name`; always the same one, so that what
 * an interrupted program left is found again. */
void put_temp_name(const char *name, char ret_temp[PUT_TEMP_BYTES]);

/*
 * Makes `temp` in `dirfd` from the source: content, owner (by root), extended
 * attributes, mode and times. A directory is made empty and searchable by its
 * owner; put_attributes does the rest once it is filled. -EAGAIN where a
 * file went on changing while it was copied, -ESTALE where it is no longer of
 * that kind, -EEXIST, ...; nothing is left then.
 */
int put_make(int dirfd, const char *temp,
	     const struct put_source *source) MUST_CHECK;

/* Owner, extended attributes, mode and (if asked for) times of `name` as the
 * source has them; for a directory or a file. */
int put_attributes(int dirfd, const char *name, const struct put_source *source,
		   bool with_times) MUST_CHECK;

/* Makes `name` have the access and modification times of the source. */
int put_times(int dirfd, const char *name,
	      const struct put_source *source) MUST_CHECK;

/*
 * `temp` takes the place of `name`, where there is an entry of `old_kind`
 * (KIND_NONE: nothing, and then -EEXIST if there is, after all). A directory
 * there must be empty: -ENOTEMPTY, and it stays.
 */
int put_replace(int dirfd, const char *temp, const char *name,
		enum change_kind old_kind,
		enum change_kind new_kind) MUST_CHECK;

/* Removes a temporary entry, if it is there. 0 or -errno. */
int put_discard(int dirfd, const char *temp);

#endif
