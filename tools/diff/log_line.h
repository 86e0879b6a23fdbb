/*
 * log_line.h - one change of a journal as a line: for people, or in JSON.
 *
 * Threads: one at a time.
 */
#ifndef TOOLS_DIFF_LOG_LINE_H
#define TOOLS_DIFF_LOG_LINE_H

#include <stdbool.h>
#include <stdio.h>

#include "history.h"
#include "manifest.h"

struct log_lines {
	FILE *out;
	const struct manifest *manifest;
	const struct history *history;
	bool color;
	/* private */
	int day; /* of the line before */
};

/*
 * "21:35:01.123 A create  main.o  cc[101]", in local time, with the date in a
 * line of its own where it changes.
 */
void log_line_text(struct log_lines *lines,
		   const struct journal_record *record);

/* One object on one line; the man page has its members. -ENOMEM, -EIO. */
int log_line_json(struct log_lines *lines,
		  const struct journal_record *record) MUST_CHECK;

/* "main.o.tmp -> main.o", with the view's place before each, quoted. */
void log_add_paths(struct buf *buf, const struct manifest *manifest,
		   const struct journal_record *record);

/* The colour that a letter has, and its end; "" where there is none. */
const char *log_color(char letter, bool color);
const char *log_color_end(bool color);

#endif
