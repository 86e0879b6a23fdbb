#include "summary.h"

#include "buf.h"
#include "err.h"
#include "report.h"
#include "text.h"
#include "visible.h"

/* With the views' own lines, within a screen of 24 where nothing is odd. */
#define MAX_PATHS   14
#define MAX_ODD     3 /* of one kind */
#define MAX_GROUPS  4
#define MAX_COMMITS 5

static void add_path(struct buf *out, const char *path, enum change_kind kind)
{
	AUTO_BUF quoted = BUF_INIT;

	text_add_path(&quoted, "", path, kind);
	visible_add(out, quoted.data, quoted.len);
}

static void add_change(struct buf *out, const struct change *change)
{
	enum change_kind kind = change->new_side.kind ? change->new_side.kind
						      : change->old_side.kind;

	buf_adds(out, "  ");
	text_add_status(out, change, -1);
	buf_adds(out, "  ");
	if (change->old_path) {
		add_path(out, change->old_path, kind);
		buf_adds(out, " => ");
	}
	add_path(out, change->path, kind);
	buf_addc(out, '\n');
}

/* The paths of one letter, up to *left of them; counts the others. */
static void add_letter(struct buf *out, const struct change_list *list,
		       char letter, size_t *left, struct change_counts *cut)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct change *change = &list->items[i];

		if ((char)change->letter != letter || change->noise) {
			continue;
		}
		if (*left > 0) {
			--*left;
			add_change(out, change);
		} else {
			change_count(cut, change);
		}
	}
}

static void add_paths(struct buf *out, const struct change_list *list,
		      size_t left)
{
	struct change_counts cut = {0};

	for (size_t i = 0; i < CHANGE_N_LETTERS; i++) {
		add_letter(out, list, CHANGE_LETTERS[i], &left, &cut);
	}
	if (cut.total > 0) {
		buf_addf(out, "  and %zu more, not shown here: ", cut.total);
		text_add_counts(out, &cut);
		buf_addc(out, '\n');
	}
}

/* Where the view is, and how much it changed. */
static void add_title(struct buf *out, const struct report_view *view)
{
	const struct manifest_view *manifest_view = view->view;
	const struct change_counts *shown = &view->fold.totals[NOISE_NONE];

	buf_addf(out, "%s  ", manifest_view->name);
	buf_add_quoted(out, manifest_view->mount_at ? manifest_view->mount_at
						    : manifest_view->base);
	buf_adds(out, ": ");
	if (shown->total > 0) {
		text_add_counts(out, shown);
		buf_adds(out, " (");
		text_add_size(out, shown->new_bytes);
		buf_adds(out, ")\n");
	} else {
		buf_adds(out, "no changes but\n");
	}
}

static void add_view(struct buf *out, const struct report_view *view,
		     size_t max_paths)
{
	if (view->error) {
		buf_addf(out, "%s: can't be compared: %s\n", view->view->name,
			 err_text(view->error));
		return;
	}
	if (view->diff.list.n == 0) {
		return;
	}
	add_title(out, view);
	odd_add_lines(out, &view->odd, "  ", "", MAX_ODD);
	if (max_paths > 0) {
		add_paths(out, &view->diff.list, max_paths);
	}
	fold_add_lines(out, &view->fold, "  ", MAX_GROUPS);
	for (size_t i = 0; i < view->stories.n; i++) {
		git_story_add_lines(out, &view->stories.items[i], "  ", "",
				    MAX_COMMITS);
	}
}

int summary_write(FILE *out, const struct report *report)
{
	AUTO_BUF text = BUF_INIT;

	for (size_t i = 0; i < report->n; i++) {
		const struct report_view *view = &report->views[i];

		add_view(&text, view,
			 view->view == report->checkout ? MAX_PATHS : 0);
	}
	fputs(text.len > 0 ? text.data : "no changes\n", out);
	return buf_error(&text);
}

int diff_summary_print(FILE *out, const struct execution *execution,
		       const struct manifest *manifest)
{
	struct trouble trouble = {.out = out};
	struct report_wish wish = {.renames = true};
	AUTO_REPORT report = {0};
	int result = report_make(&report, execution, manifest, &wish, &trouble);

	for (size_t i = 0; i < report.n && !result; i++) {
		result = report.views[i].error;
	}
	if (result != -ENOMEM) {
		int error = summary_write(out, &report);

		result = result ? result : error;
	}
	return result;
}
