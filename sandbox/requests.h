/*
 * requests.h - what `show --stats` tells: the kernel's requests to an
 * execution's daemon, how many of each kind, and how long they took.
 */
#ifndef SANDBOX_REQUESTS_H
#define SANDBOX_REQUESTS_H

#include <yyjson.h>

#include "execution.h"

/* The table, the most frequent first. -ENOENT: nothing was counted. Other
 * errors as stats_page_read. */
int requests_print(const struct execution *execution) MUST_CHECK;

/* The same as an array; the document owns it. */
int requests_to_json(const struct execution *execution, yyjson_mut_doc *doc,
		     yyjson_mut_val **ret_array) MUST_CHECK;

#endif
