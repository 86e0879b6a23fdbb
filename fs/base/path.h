/*
 * path.h - names and paths as bytes.
 *
 * A component is a non-empty name of at most 255 bytes, without '/', that is
 * neither "." nor "..". Nothing here touches the disk.
 */
#ifndef FS_BASE_PATH_H
#define FS_BASE_PATH_H

#include <stdbool.h>

#include "compiler.h"

/* Whether `name` is one component. */
bool path_component_valid(const char *name);
/* 0, or what a file system says of a name that is none: -ENAMETOOLONG or
 * -EINVAL. */
int path_component_check(const char *name) MUST_CHECK;

/* Whether `path` is one or more components with single slashes between. */
bool path_relative_valid(const char *path);

/*
 * Whether `path` is the folder `top` or lies beneath it. Both absolute and
 * canonical (as from realpath).
 */
bool path_is_within(const char *path, const char *top);

/* Points at the part of `path` beneath `top` ("" for `top` itself). Both as
 * for path_is_within, which must hold. */
const char *path_beneath(const char *path, const char *top);

/* "a/b", or a copy of `b` where `a` is ""; NULL when out of memory. Caller
 * frees. */
char *path_join(const char *a, const char *b) MUST_CHECK;

#endif
