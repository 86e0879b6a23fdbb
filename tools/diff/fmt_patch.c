/*
 * Patches in git's extended format (git-diff(1), "Generating patch text with
 * -p"), written so that git apply gives exactly the view's files.
 */
#include <string.h>

#include "blob.h"
#include "format.h"
#include "noise.h"
#include "remark.h"
#include "text.h"
#include "visible.h"
#include "words.h"

/* git's defaults (git-config(1), color.diff.<slot>). */
#define COLOR_META  "\033[1m"
#define COLOR_FRAG  "\033[36m"
#define COLOR_OLD   "\033[31m"
#define COLOR_NEW   "\033[32m"
#define COLOR_RESET "\033[m"

/* Digits of an id where it isn't needed in full. */
#define SHORT_ID_DIGITS 10

/* One patch while it is written: of two files, or of one and nothing. */
struct patch {
	const struct format *format;
	struct buf text;
	const char *old_path;
	const char *new_path;
	struct blob old_blob;
	struct blob new_blob;
	bool is_rename;
	/* Deleted and added lines that follow each other, until they are
	 * compared word by word. */
	struct buf old_run;
	struct buf new_run;
	enum words_side side; /* of the last word that was added */
};

/* A line in `color`; the newline is outside, as in git's. */
static void add_line(struct patch *patch, const char *color, const char *line,
		     size_t len)
{
	struct buf *text = &patch->text;
	size_t inner = len > 0 && line[len - 1] == '\n' ? len - 1 : len;
	bool colored = patch->format->color && color;

	buf_adds(text, colored ? color : "");
	if (patch->format->terminal) {
		visible_add(text, line, inner);
	} else {
		buf_add(text, line, inner);
	}
	buf_adds(text, colored ? COLOR_RESET : "");
	buf_add(text, line + inner, len - inner);
}

static void add_meta(struct patch *patch, struct buf *line)
{
	add_line(patch, COLOR_META, line->data, line->len);
	buf_clear(line);
}

/*
 * "a/dir/name" with the side's letter, quoted whole where it must be: as git
 * does, and also where a directory's name ends in a space, since git apply
 * takes that for the end of the path (apply.c, git_header_name).
 */
static void add_sided(struct buf *line, const struct patch *patch,
		      const char *side, const char *path)
{
	AUTO_BUF whole = BUF_INIT;
	AUTO_BUF quoted = BUF_INIT;
	const char *quote;

	buf_adds(&whole, side);
	buf_adds(&whole, patch->format->prefix);
	buf_adds(&whole, path);
	buf_add_quoted(&quoted, whole.data);
	quote = quoted.data[0] != '"' && strstr(whole.data, " /") ? "\"" : "";
	buf_addf(line, "%s%s%s", quote, quoted.data, quote);
}

static void add_modes(struct patch *patch, struct buf *line)
{
	unsigned int old_mode = patch->old_blob.mode;
	unsigned int new_mode = patch->new_blob.mode;

	if (!old_mode) {
		buf_addf(line, "new file mode %06o\n", new_mode);
	} else if (!new_mode) {
		buf_addf(line, "deleted file mode %06o\n", old_mode);
	} else if (old_mode != new_mode) {
		buf_addf(line, "old mode %06o\nnew mode %06o\n", old_mode,
			 new_mode);
	}
}

static void add_rename(struct patch *patch, struct buf *line)
{
	const char *prefix = patch->format->prefix;

	buf_addf(line, "similarity index %d%%\nrename from ",
		 blob_likeness(&patch->old_blob, &patch->new_blob));
	text_add_path(line, prefix, patch->old_path, KIND_FILE);
	buf_adds(line, "\nrename to ");
	text_add_path(line, prefix, patch->new_path, KIND_FILE);
	buf_addc(line, '\n');
}

/* git apply takes binary data only where both ids are whole. */
static void add_index(struct patch *patch, struct buf *line, bool whole_ids)
{
	int digits = whole_ids ? GIT_OID_HEXSZ : SHORT_ID_DIGITS;
	char old_id[GIT_OID_HEXSZ + 1];
	char new_id[GIT_OID_HEXSZ + 1];

	if (git_oid_equal(&patch->old_blob.id, &patch->new_blob.id)) {
		return;
	}
	git_oid_tostr(old_id, sizeof(old_id), &patch->old_blob.id);
	git_oid_tostr(new_id, sizeof(new_id), &patch->new_blob.id);
	buf_addf(line, "index %.*s..%.*s", digits, old_id, digits, new_id);
	if (patch->old_blob.mode == patch->new_blob.mode) {
		buf_addf(line, " %06o", patch->old_blob.mode);
	}
	buf_addc(line, '\n');
}

static void add_header(struct patch *patch, bool whole_ids)
{
	AUTO_BUF line = BUF_INIT;

	buf_adds(&line, "diff --git ");
	add_sided(&line, patch, "a/", patch->old_path);
	buf_addc(&line, ' ');
	add_sided(&line, patch, "b/", patch->new_path);
	buf_addc(&line, '\n');
	add_meta(patch, &line);
	add_modes(patch, &line);
	add_meta(patch, &line);
	if (patch->is_rename) {
		add_rename(patch, &line);
		add_meta(patch, &line);
	}
	add_index(patch, &line, whole_ids);
	add_meta(patch, &line);
}

/* "--- a/name"; git ends a name with a space in it by a tab, since other
 * patch programs look for a date behind it. */
static void add_file_line(struct patch *patch, const char *mark,
			  const char *side, const char *path, bool exists)
{
	AUTO_BUF line = BUF_INIT;

	buf_adds(&line, mark);
	if (exists) {
		add_sided(&line, patch, side, path);
		buf_adds(&line, strchr(path, ' ') ? "\t\n" : "\n");
	} else {
		buf_adds(&line, "/dev/null\n");
	}
	add_meta(patch, &line);
}

static void add_file_lines(struct patch *patch)
{
	add_file_line(patch, "--- ", "a/", patch->old_path,
		      patch->old_blob.mode != 0);
	add_file_line(patch, "+++ ", "b/", patch->new_path,
		      patch->new_blob.mode != 0);
}

/* "@@ -1,2 +3,4 @@ function": the function is not coloured. */
static void add_hunk_line(struct patch *patch, const char *line, size_t len)
{
	const char *end = memmem(line + 2, len - 2, "@@", 2);
	size_t marks = end ? (size_t)(end - line) + 2 : len;

	add_line(patch, COLOR_FRAG, line, marks);
	add_line(patch, NULL, line + marks, len - marks);
}

static void add_content_line(struct patch *patch, const git_diff_line *line)
{
	const char *color = line->origin == GIT_DIFF_LINE_ADDITION   ? COLOR_NEW
			    : line->origin == GIT_DIFF_LINE_DELETION ? COLOR_OLD
								     : NULL;
	AUTO_BUF whole = BUF_INIT;

	buf_addc(&whole, line->origin);
	buf_add(&whole, line->content, line->content_len);
	add_line(patch, color, whole.data, whole.len);
}

/* "[-old-]" or "{+new+}", in the words of git's own. */
static void turn_side(struct patch *patch, enum words_side side)
{
	struct buf *text = &patch->text;
	bool color = patch->format->color;

	if (patch->side == side) {
		return;
	}
	if (patch->side != WORDS_BOTH) {
		buf_adds(text, patch->side == WORDS_OLD ? "-]" : "+}");
		buf_adds(text, color ? COLOR_RESET : "");
	}
	if (side != WORDS_BOTH) {
		buf_adds(text, !color              ? ""
			       : side == WORDS_OLD ? COLOR_OLD
						   : COLOR_NEW);
		buf_adds(text, side == WORDS_OLD ? "[-" : "{+");
	}
	patch->side = side;
}

/* A words_fn. No mark goes over the end of a line. */
static void add_word(enum words_side side, const char *word, size_t len,
		     void *payload)
{
	struct patch *patch = payload;

	turn_side(patch, *word == '\n' ? WORDS_BOTH : side);
	if (patch->format->terminal) {
		visible_add(&patch->text, word, len);
	} else {
		buf_add(&patch->text, word, len);
	}
}

static int flush_words(struct patch *patch)
{
	int error = 0;

	if (patch->old_run.len > 0 || patch->new_run.len > 0) {
		error = words_compare(&patch->old_run, &patch->new_run,
				      add_word, patch);
		turn_side(patch, WORDS_BOTH);
		if (patch->text.data[patch->text.len - 1] != '\n') {
			buf_addc(&patch->text, '\n');
		}
	}
	buf_clear(&patch->old_run);
	buf_clear(&patch->new_run);
	return error;
}

/* A git_diff_line_cb, for --word-diff: like git's, without a first column. */
static int add_diff_words(const git_diff_delta *delta,
			  const git_diff_hunk *hunk, const git_diff_line *line,
			  void *payload)
{
	struct patch *patch = payload;
	int error;

	(void)delta;
	(void)hunk;
	switch (line->origin) {
	case GIT_DIFF_LINE_ADDITION:
		buf_add(&patch->new_run, line->content, line->content_len);
		return 0;
	case GIT_DIFF_LINE_DELETION:
		buf_add(&patch->old_run, line->content, line->content_len);
		return 0;
	case GIT_DIFF_LINE_HUNK_HDR:
		error = flush_words(patch);
		add_hunk_line(patch, line->content, line->content_len);
		return error;
	case GIT_DIFF_LINE_CONTEXT:
		error = flush_words(patch);
		add_line(patch, NULL, line->content, line->content_len);
		return error;
	default:
		return 0;
	}
}

/* A git_diff_line_cb. */
static int add_diff_line(const git_diff_delta *delta, const git_diff_hunk *hunk,
			 const git_diff_line *line, void *payload)
{
	struct patch *patch = payload;

	(void)delta;
	(void)hunk;
	switch (line->origin) {
	case GIT_DIFF_LINE_FILE_HDR:
		break; /* ours is better */
	case GIT_DIFF_LINE_HUNK_HDR:
		add_hunk_line(patch, line->content, line->content_len);
		break;
	case GIT_DIFF_LINE_CONTEXT:
	case GIT_DIFF_LINE_ADDITION:
	case GIT_DIFF_LINE_DELETION:
		add_content_line(patch, line);
		break;
	default:
		/* "\ No newline at end of file", and binary data */
		buf_add(&patch->text, line->content, line->content_len);
	}
	return 0;
}

/* One end of "Binary files X and Y differ", with its size and id, which git
 * has no place for; "differ" is at the end, so that git apply refuses. */
static void add_binary_end(struct buf *line, const struct patch *patch,
			   const char *side, const char *path,
			   const struct blob *blob)
{
	char id[GIT_OID_HEXSZ + 1];

	if (!blob->mode) {
		buf_adds(line, "/dev/null");
		return;
	}
	add_sided(line, patch, side, path);
	git_oid_tostr(id, sizeof(id), &blob->id);
	buf_adds(line, " (");
	text_add_size(line, blob->data.len);
	buf_addf(line, ", %s)", id);
}

static void add_binary_line(struct patch *patch)
{
	AUTO_BUF line = BUF_INIT;

	buf_adds(&line, "Binary files ");
	add_binary_end(&line, patch, "a/", patch->old_path, &patch->old_blob);
	buf_adds(&line, " and ");
	add_binary_end(&line, patch, "b/", patch->new_path, &patch->new_blob);
	buf_adds(&line, " differ\n");
	add_line(patch, NULL, line.data, line.len);
}

static void free_diff(git_patch **diff)
{
	git_patch_free(*diff);
}

/* Both blobs are loaded: all the text. 0 or -ENOMEM. */
static int add_patch(struct patch *patch)
{
	AUTO(free_diff) git_patch *diff = NULL;
	bool with_binary = patch->format->binary;
	bool is_binary;
	int error = blob_diff(&diff, &patch->old_blob, &patch->new_blob,
			      with_binary);

	if (error) {
		return error;
	}
	is_binary = blob_diff_is_binary(diff);
	add_header(patch, is_binary && with_binary);
	if (git_oid_equal(&patch->old_blob.id, &patch->new_blob.id)) {
		return 0;
	}
	if (is_binary && !with_binary) {
		add_binary_line(patch);
		return 0;
	}
	if (!is_binary && git_patch_num_hunks(diff) > 0) {
		add_file_lines(patch);
	}
	if (patch->format->word_diff && !is_binary) {
		error = git_patch_print(diff, add_diff_words, patch) ? -ENOMEM
								     : 0;
		return error ? error : flush_words(patch);
	}
	return git_patch_print(diff, add_diff_line, patch) ? -ENOMEM : 0;
}

static void release_patch(struct patch *patch)
{
	buf_release(&patch->text);
	buf_release(&patch->old_run);
	buf_release(&patch->new_run);
	blob_release(&patch->old_blob);
	blob_release(&patch->new_blob);
}

/* Both sides hold the same, so that a patch only has header lines. */
static bool is_same_content(const struct change *change)
{
	return (change->letter == CHANGE_MODIFIED ||
		change->letter == CHANGE_RENAMED) &&
	       !(change->flags & CHANGE_CONTENT);
}

/* Loads what is needed of the wanted sides. 0 or -errno. */
static int load_sides(struct patch *patch, const struct sides *sides,
		      const struct change *change, bool with_old, bool with_new)
{
	int error = 0;

	if (is_same_content(change)) {
		patch->old_blob.mode = blob_mode(&change->old_side);
		patch->new_blob.mode = blob_mode(&change->new_side);
		return 0;
	}
	if (with_old) {
		error = blob_load_old(&patch->old_blob, sides, change);
	}
	if (with_new && !error) {
		error = blob_load_new(&patch->new_blob, sides, change);
	}
	return error;
}

/* Writes one patch, between the sides that are wanted. 0 or -ENOMEM. */
static int write_patch(const struct format *format, const struct sides *sides,
		       const struct change *change, bool with_old,
		       bool with_new)
{
	AUTO(release_patch)
	struct patch patch = {
		.format = format,
		.text = BUF_INIT,
		.old_path = change_old_path(change),
		.new_path = change->path,
		.old_blob = BLOB_INIT,
		.new_blob = BLOB_INIT,
		.is_rename = change->letter == CHANGE_RENAMED,
		.old_run = BUF_INIT,
		.new_run = BUF_INIT,
		.side = WORDS_BOTH,
	};
	int error = load_sides(&patch, sides, change, with_old, with_new);

	if (error && error != -ENOMEM) {
		trouble_error(format->trouble, "read", change->path, error);
		return 0;
	}
	error = error ? error : add_patch(&patch);
	error = error ? error : buf_error(&patch.text);
	if (!error) {
		fwrite(patch.text.data, 1, patch.text.len, format->out);
	}
	return error;
}

/* git tells another type as a file that goes and one that comes. Where a
 * special file is to go, which git can't do, nothing can come. */
static int write_type_change(const struct format *format,
			     const struct sides *sides,
			     const struct change *change)
{
	bool with_old = blob_is_possible(&change->old_side);
	int error = 0;

	if (!with_old && change->old_side.kind != KIND_DIR) {
		return 0;
	}
	if (with_old) {
		error = write_patch(format, sides, change, true, false);
	}
	if (!error && blob_is_possible(&change->new_side)) {
		error = write_patch(format, sides, change, false, true);
	}
	return error;
}

/* Whether the patch of a change would only have a header line. */
static bool is_empty(const struct change *change)
{
	return change->letter == CHANGE_MODIFIED && is_same_content(change) &&
	       blob_mode(&change->old_side) == blob_mode(&change->new_side);
}

static int write_change(const struct format *format, const struct sides *sides,
			const struct change *change)
{
	bool with_old = change->old_side.kind != KIND_NONE;
	bool with_new = change->new_side.kind != KIND_NONE;

	if (change->noise == NOISE_GIT || is_empty(change)) {
		return 0;
	}
	if (change->letter == CHANGE_TYPE) {
		return write_type_change(format, sides, change);
	}
	if (is_same_content(change)) {
		return blob_mode(&change->old_side)
			       ? write_patch(format, sides, change, true, true)
			       : 0;
	}
	if ((with_old && !blob_is_possible(&change->old_side)) ||
	    (with_new && !blob_is_possible(&change->new_side))) {
		return 0;
	}
	return write_patch(format, sides, change, with_old, with_new);
}

/* "# M f name: mode 0644 => 0600": git apply skips such lines. */
static void add_comment(struct buf *text, const struct format *format,
			const struct change *change)
{
	size_t start = text->len;
	size_t before;

	buf_adds(text, "# ");
	text_add_status(text, change, -1);
	buf_addc(text, ' ');
	text_add_path(text, format->prefix, change->path,
		      change->new_side.kind ? change->new_side.kind
					    : change->old_side.kind);
	buf_adds(text, ": ");
	before = text->len;
	remark_add(text, change);
	if (text->len == before) {
		buf_truncate(text, start);
	} else {
		buf_addc(text, '\n');
	}
}

static int write_comments(const struct format *format,
			  const struct change_list *list)
{
	AUTO_BUF text = BUF_INIT;
	struct change_counts git = {0};

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].noise == NOISE_GIT) {
			change_count(&git, &list->items[i]);
		} else {
			add_comment(&text, format, &list->items[i]);
		}
	}
	if (git.total > 0) {
		buf_adds(&text, "# below .git, which no patch can change: ");
		text_add_counts(&text, &git);
		buf_addc(&text, '\n');
	}
	if (!buf_error(&text)) {
		fwrite(text.data, 1, text.len, format->out);
	}
	return buf_error(&text);
}

int format_patch_of(const struct format *format, const struct diff *diff,
		    const struct change *change)
{
	return write_change(format, &diff->sides, change);
}

int format_patch(const struct format *format, const struct diff *diff)
{
	int error = write_comments(format, &diff->list);

	for (size_t i = 0; i < diff->list.n && !error; i++) {
		error = write_change(format, &diff->sides,
				     &diff->list.items[i]);
	}
	return error;
}
