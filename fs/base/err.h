/*
 * err.h - error numbers as text.
 *
 * Fallible functions return 0 (or a positive result) or -errno. Both
 * functions take either sign, never fail, and are safe in any thread.
 */
#ifndef FS_BASE_ERR_H
#define FS_BASE_ERR_H

/* The symbolic name, "ENOENT"; "E?" for an unknown number. */
const char *err_name(int err);

/* The sentence, "No such file or directory". */
const char *err_text(int err);

#endif
