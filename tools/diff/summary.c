#include "summary.h"

#include "buf.h"
#include "diff.h"
#include "err.h"
#include "text.h"

/* With the views' own lines, within a screen of 24. */
#define MAX_PATHS 14

static const char *const noise_names[] = {
	[NOISE_GIT] = "below .git",
	[NOISE_IGNORED] = "ignored",
};

static void add_counts_and_size(struct buf *out,
				const struct change_counts *counts)
{
	text_add_counts(out, counts);
	buf_adds(out, " (");
	text_add_size(out, counts->new_bytes);
	buf_adds(out, ")\n");
}

static void add_change(struct buf *out, const struct change *change)
{
	enum change_kind kind = change->new_side.kind ? change->new_side.kind
						      : change->old_side.kind;

	buf_adds(out, "  ");
	text_add_status(out, change, -1);
	buf_adds(out, "  ");
	if (change->old_path) {
		text_add_path(out, "", change->old_path, kind);
		buf_adds(out, " => ");
	}
	text_add_path(out, "", change->path, kind);
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

static void add_paths(struct buf *out, const struct change_list *list)
{
	struct change_counts cut = {0};
	size_t left = MAX_PATHS;

	for (size_t i = 0; i < CHANGE_N_LETTERS; i++) {
		add_letter(out, list, CHANGE_LETTERS[i], &left, &cut);
	}
	if (cut.total > 0) {
		buf_addf(out, "  and %zu more, not shown here: ", cut.total);
		text_add_counts(out, &cut);
		buf_addc(out, '\n');
	}
}

static void add_view(struct buf *out, const struct diff *diff, bool paths)
{
	const struct manifest_view *view = diff->sides.view;
	struct change_counts counts[ARRAY_SIZE(noise_names)] = {0};

	for (size_t i = 0; i < diff->list.n; i++) {
		const struct change *change = &diff->list.items[i];

		change_count(&counts[change->noise], change);
	}
	if (diff->list.n == 0) {
		return;
	}
	buf_addf(out, "%s  ", view->name);
	buf_add_quoted(out, view->mount_at ? view->mount_at : view->base);
	buf_adds(out, ": ");
	if (counts[NOISE_NONE].total > 0) {
		add_counts_and_size(out, &counts[NOISE_NONE]);
	} else {
		buf_adds(out, "no changes but\n");
	}
	if (paths) {
		add_paths(out, &diff->list);
	}
	for (size_t i = NOISE_GIT; i < ARRAY_SIZE(counts); i++) {
		if (counts[i].total > 0) {
			buf_addf(out, "  %s: ", noise_names[i]);
			add_counts_and_size(out, &counts[i]);
		}
	}
}

int diff_summary_print(FILE *out, const struct execution *execution,
		       const struct manifest *manifest)
{
	const struct manifest_view *checkout = diff_checkout_view(manifest);
	struct trouble trouble = {.out = out};
	AUTO_BUF text = BUF_INIT;
	int result = 0;

	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];
		AUTO_DIFF diff = DIFF_INIT;
		int error = diff_view(&diff, execution, view, DIFF_RENAMES,
				      &trouble);

		if (error) {
			buf_addf(&text, "%s: can't be compared: %s\n",
				 view->name, err_text(error));
			result = result ? result : error;
		} else {
			add_view(&text, &diff, view == checkout);
		}
	}
	fputs(text.len > 0 ? text.data : "no changes\n", out);
	return result ? result : buf_error(&text);
}
