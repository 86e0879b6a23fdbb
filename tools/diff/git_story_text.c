/*
 * The story for a person (git_story.h). All names and subjects are the
 * agent's: they pass visible_add.
 */
#include <inttypes.h>
#include <string.h>

#include "git_story.h"
#include "text.h"
#include "visible.h"

#define SHORT_DIGITS     10
#define MAX_CONFIG_LINES 8

struct lines {
	struct buf *buf;
	const char *indent;
	size_t max;
};

static void add_visible(struct buf *buf, const char *text)
{
	visible_add(buf, text, strlen(text));
}

static void begin_line(const struct lines *lines)
{
	buf_addf(lines->buf, "%s  ", lines->indent);
}

/* An id in short, "ref: refs/heads/x" without its mark. */
static void add_value(struct buf *buf, const char *value)
{
	const char *mark = "ref: ";

	if (!*value) {
		buf_adds(buf, "none");
	} else if (strncmp(value, mark, strlen(mark)) == 0) {
		add_visible(buf, value + strlen(mark));
	} else {
		visible_add(buf, value, strnlen(value, SHORT_DIGITS));
	}
}

static void add_rest(const struct lines *lines, size_t n, const char *what)
{
	if (n > lines->max) {
		begin_line(lines);
		buf_addf(lines->buf, "and %zu more %s\n", n - lines->max, what);
	}
}

/* "(main, topic)" behind the commit that these refs are at. */
static void add_refs_at(struct buf *buf, const struct story *story,
			const char *id)
{
	const char *separator = " (";

	for (size_t i = 0; i < story->n_refs; i++) {
		const char *name = story->refs[i].name;

		if (strcmp(story->refs[i].new_value, id) != 0) {
			continue;
		}
		buf_adds(buf, separator);
		add_visible(buf, strncmp(name, "refs/heads/", 11) == 0
					 ? name + 11
					 : name);
		separator = ", ";
	}
	buf_adds(buf, *separator == ',' ? ")" : "");
}

static size_t count_commits(const struct story *story,
			    enum story_commit_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < story->n_commits; i++) {
		count += story->commits[i].state == state;
	}
	return count;
}

static void add_commits(const struct lines *lines, const struct story *story)
{
	size_t dropped = count_commits(story, STORY_DROPPED);
	size_t told = 0;

	for (size_t i = 0; i < story->n_commits; i++) {
		const struct story_commit *commit = &story->commits[i];

		if (commit->state != STORY_REACHED || ++told > lines->max) {
			continue;
		}
		begin_line(lines);
		buf_addf(lines->buf, "commit %.*s ", SHORT_DIGITS, commit->id);
		add_visible(lines->buf, commit->subject);
		add_refs_at(lines->buf, story, commit->id);
		buf_addc(lines->buf, '\n');
	}
	add_rest(lines, told, "commits");
	if (dropped > 0) {
		begin_line(lines);
		buf_addf(lines->buf,
			 "%zu commit%s made and dropped (amended, rebased or "
			 "reset away)\n",
			 dropped, dropped == 1 ? "" : "s");
	}
}

static void add_refs(const struct lines *lines, const struct story *story)
{
	for (size_t i = 0; i < story->n_refs && i < lines->max; i++) {
		const struct story_ref *ref = &story->refs[i];

		begin_line(lines);
		add_visible(lines->buf, ref->name);
		buf_adds(lines->buf, ": ");
		add_value(lines->buf, ref->old_value);
		buf_adds(lines->buf, " -> ");
		add_value(lines->buf, ref->new_value);
		if (ref->new_subject) {
			buf_addc(lines->buf, ' ');
			add_visible(lines->buf, ref->new_subject);
		}
		buf_addc(lines->buf, '\n');
	}
	add_rest(lines, story->n_refs, "refs");
}

static void add_stash(const struct lines *lines, const struct story *story)
{
	if (story->stash_before != story->stash_after || story->n_stashed > 0) {
		begin_line(lines);
		buf_addf(lines->buf, "stash: %zu -> %zu entries\n",
			 story->stash_before, story->stash_after);
	}
	for (size_t i = story->n_stashed; i > 0; i--) {
		begin_line(lines);
		buf_adds(lines->buf, "stashed: ");
		add_visible(lines->buf, story->stashed[i - 1]);
		buf_addc(lines->buf, '\n');
	}
}

static void add_index(const struct lines *lines, const struct story *story)
{
	if (!story->index_changed) {
		return;
	}
	begin_line(lines);
	buf_adds(lines->buf, "index changed");
	if (story->index_before >= 0 && story->index_after >= 0) {
		buf_addf(lines->buf, ": %" PRId64 " -> %" PRId64 " entries",
			 story->index_before, story->index_after);
	}
	buf_addc(lines->buf, '\n');
}

static void add_config(const struct lines *lines, const struct story *story)
{
	const char *at = story->config.data;
	size_t told = 0;

	if (!story->config_changed) {
		return;
	}
	begin_line(lines);
	buf_adds(lines->buf, "config changed; git runs what it names, later\n");
	while (*at && !story->is_new) {
		size_t len = strcspn(at, "\n");

		if (++told <= MAX_CONFIG_LINES) {
			begin_line(lines);
			buf_adds(lines->buf, "  ");
			visible_add(lines->buf, at, len);
			buf_addc(lines->buf, '\n');
		}
		at += len + (at[len] == '\n');
	}
	if (told > MAX_CONFIG_LINES) {
		begin_line(lines);
		buf_addf(lines->buf, "  and %zu more lines\n",
			 told - MAX_CONFIG_LINES);
	}
}

static void add_counts(const struct lines *lines, const char *what,
		       const struct change_counts *counts, const char *remark)
{
	if (counts->total > 0) {
		begin_line(lines);
		buf_addf(lines->buf, "%s: ", what);
		text_add_counts(lines->buf, counts);
		buf_adds(lines->buf, " (");
		text_add_size(lines->buf, counts->new_bytes);
		buf_addf(lines->buf, ")%s\n", remark);
	}
}

void git_story_add_lines(struct buf *buf, const struct story *story,
			 const char *indent, const char *prefix, size_t max)
{
	struct lines lines = {.buf = buf, .indent = indent, .max = max};
	AUTO_BUF dir = BUF_INIT;

	text_add_path(&dir, prefix, story->dir, KIND_FILE);
	buf_adds(buf, indent);
	visible_add(buf, dir.data, dir.len);
	buf_adds(buf, story->is_new    ? ", a new repository: "
		      : story->is_gone ? ", a repository that is gone: "
				       : ": ");
	text_add_counts(buf, &story->all);
	buf_adds(buf, " (");
	text_add_size(buf, story->all.new_bytes);
	buf_adds(buf, ")\n");
	add_commits(&lines, story);
	add_refs(&lines, story);
	add_stash(&lines, story);
	add_index(&lines, story);
	if (story->unfinished) {
		begin_line(&lines);
		buf_addf(buf, "%s was begun and not finished\n",
			 story->unfinished);
	}
	add_counts(&lines, "hooks", &story->hooks, "; git runs them, later");
	add_config(&lines, story);
	add_counts(&lines, "objects", &story->objects,
		   story->packs.letters[CHANGE_N_LETTERS - 1]
			   ? "; packs are not looked into"
			   : "");
}
