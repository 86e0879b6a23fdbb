/*
 * quota.h - what an execution uses and may use, for show and quota.
 *
 * Threads: one.
 */
#ifndef SANDBOX_QUOTA_H
#define SANDBOX_QUOTA_H

#include <yyjson.h>

#include "quota_page.h"
#include "state.h"

/* Adds "used" and "limits" to the object; nothing where there is no page (no
 * daemon has served the execution yet). */
void quota_add_json(yyjson_mut_doc *doc, yyjson_mut_val *object,
		    const struct entry *entry);

/* The same as lines. */
void quota_print(const struct entry *entry);

#endif
