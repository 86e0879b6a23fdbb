/*
 * links.h - what is kept beside the upper, in the folder `links`, because the
 * upper can't hold it.
 *
 * Files that have several names in the base.
 *
 * Such a file must stay one file after copy-up: what is written through one
 * name is read through the others, and the link count goes down by one with
 * each name that is removed. The upper can't say so by itself, since only the
 * names that were touched are in it. So there is a folder beside it, `links`,
 * with up to two entries for a base file, named by its identity
 * (origin_key):
 *
 *   KEY    a hard link to the copy in the upper: where the data is, whichever
 *          name is asked for;
 *   KEY.n  a symbolic link whose target is the number of names that are left,
 *          in decimal. Absent: as many as the base says.
 *
 * The count is written after the change that it counts; a kill in between
 * leaves it one too high, or entries for a file that has no name left.
 *
 * Only regular files: other types have no data to keep together.
 *
 * The origin (origin.h) of a copied-up symbolic link or special file, which
 * can't have attributes of its own:
 *
 *   iINO   a symbolic link, INO being the upper's inode number in hexadecimal;
 *          its target is the origin as six hexadecimal numbers (five in
 *          older executions).
 *
 * The map of a partial file (partial.h), pINO.
 *
 * An origin is written before the copy is visible and removed before the upper
 * file is, so that no later file with the same number finds it.
 */
#ifndef FS_CORE_LINKS_H
#define FS_CORE_LINKS_H

#include <sys/stat.h>

#include "origin.h"
#include "view.h"

/* 1 and the count, 0 where none is written, or -errno (-EIO: not a number). */
int links_read_count(const struct view *view, const char *key,
		     nlink_t *ret_count) MUST_CHECK;

/* Writes the count; 0 removes all that is kept for the file. */
int links_write_count(const struct view *view, const char *key,
		      nlink_t count) MUST_CHECK;

/* stat of the copy. -ENOENT: it was not copied up. */
int links_stat(const struct view *view, const char *key,
	       struct stat *ret_st) MUST_CHECK;

/* Makes the file `temp` of the work folder the copy, with `count` names
 * unless a count is there. */
int links_add_copy(const struct view *view, const char *temp, const char *key,
		   nlink_t count) MUST_CHECK;

/* 1 and the origin, 0 where none is written, or -errno (-EIO: not one). */
int links_read_origin(const struct view *view, ino_t upper_ino,
		      struct origin *ret_origin) MUST_CHECK;
int links_write_origin(const struct view *view, ino_t upper_ino,
		       const struct origin *origin) MUST_CHECK;
int links_forget_origin(const struct view *view, ino_t upper_ino) MUST_CHECK;
/* Removes the map, if there is one. */
int links_forget_map(const struct view *view, ino_t upper_ino) MUST_CHECK;

#endif
