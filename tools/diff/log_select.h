/*
 * log_select.h - which changes of a journal are asked for.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_LOG_SELECT_H
#define TOOLS_DIFF_LOG_SELECT_H

#include <stdbool.h>
#include <stdint.h>

#include "compiler.h"
#include "history.h"
#include "manifest.h"

struct log_select {
	const char *view;    /* NULL: all */
	const char *path;    /* glob, or a path and all beneath it; NULL: all */
	const char *process; /* pid, "#number" or part of a command; NULL */
	uint32_t ops;        /* bits by enum journal_op; 0: all */
	bool failed;         /* only what did not succeed */
	int64_t since_ns;    /* INT64_MIN: from the beginning */
	int64_t until_ns;    /* INT64_MAX */
};

#define LOG_SELECT_ALL                                                         \
	{                                                                      \
		.since_ns = INT64_MIN, .until_ns = INT64_MAX                   \
	}

/* Whether the change is one of them. */
bool log_select_takes(const struct log_select *select,
		      const struct manifest *manifest,
		      const struct history *history,
		      const struct journal_record *record);

/* "create,rename" or letters, "A,D". -EINVAL. */
int log_select_parse_ops(uint32_t *ret_ops, const char *text) MUST_CHECK;

/*
 * "2026-11-30T21:35:01.5", with a space for T, without seconds, the time or
 * the date, in local time, or in UTC with a Z behind; or "10m": so long before
 * `now_ns` (s, m, h, d). -EINVAL.
 */
int log_select_parse_time(int64_t *ret_ns, const char *text,
			  int64_t now_ns) MUST_CHECK;

/* What comes before the paths of a view: nothing in the checkout's, else the
 * place where the sandbox has it, with a slash. */
void log_add_place(struct buf *buf, const struct manifest *manifest,
		   const char *view);

#endif
