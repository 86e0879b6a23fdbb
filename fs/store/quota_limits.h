/*
 * quota_limits.h - what an execution may use, and how a person writes it:
 * "size=20G,files=1M,min_free=1G".
 *
 * Sizes are bytes with an optional K, M, G or T (powers of 1024; "KiB" and
 * "KB" mean the same); counts of files have K, M and G in powers of 1000. A
 * limit is lifted by "none". All lower or all upper case does not matter.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_QUOTA_LIMITS_H
#define FS_STORE_QUOTA_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"

/* No limit. */
#define QUOTA_NONE UINT64_MAX

struct quota_limits {
	uint64_t bytes;    /* allocated on the disk, over all views */
	uint64_t files;    /* of any type, directories and whiteouts too */
	uint64_t min_free; /* bytes that the scratch disk keeps; 0: none */
};

#define QUOTA_LIMITS_NONE                                                      \
	(struct quota_limits)                                                  \
	{                                                                      \
		.bytes = QUOTA_NONE, .files = QUOTA_NONE                       \
	}

/*
 * Sets what `text` names, a list with commas; the rest stays as it is. Each
 * key at most once. -EINVAL, with *ret_bad (not NULL) at the item in `text`
 * that is none, and nothing changed.
 */
int quota_parse(const char *text, struct quota_limits *limits,
		const char **ret_bad) MUST_CHECK;

/* One value by its key ("size", "files", "min_free"), as in a configuration
 * file. -ENOENT: no such key; -EINVAL: no such value. */
int quota_parse_value(const char *key, const char *value,
		      struct quota_limits *limits) MUST_CHECK;

bool quota_limits_any(const struct quota_limits *limits);

#endif
