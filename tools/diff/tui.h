/*
 * tui.h - a view's changes on a terminal, to be read and marked.
 *
 * On the left the tree of what changed, on the right the patch of the selected
 * file, or the overview (what is odd, git's story, what is folded); on a narrow
 * terminal one of both. Files, folders and hunks are marked; the marked can be
 * written as a patch, or taken over into the base; the latter is the last thing
 * that is done, since the list is another one after that.
 *
 * tui_draw.c puts the state on the screen, tui.c changes it by keys,
 * tui_apply.c takes over, and verb_tui.c is the program around it. Only these
 * use ncurses.
 *
 * Threads: main thread only.
 */
#ifndef TOOLS_DIFF_TUI_H
#define TOOLS_DIFF_TUI_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "format.h"
#include "marks.h"
#include "patch_text.h"
#include "report.h"
#include "tree_rows.h"

struct tui {
	const struct report *report;
	const struct report_view *view;
	struct tree_rows tree;
	struct marks marks;
	struct format format; /* of patches as they are shown */
	struct patch_text patch;
	bool has_overview; /* `patch` is the overview */
	bool in_patch;     /* keys go to the right side */
	bool has_help;
	size_t row;      /* selected */
	size_t top_row;  /* first on the screen */
	size_t top_line; /* of the patch */
	char message[160];
	bool is_done;    /* leave */
	struct buf told; /* what is to be told after that */
};

/* Shows it until the person leaves. 0 or -errno: -ENOMEM, -ENOTTY where this
 * is no terminal. */
int tui_run(const struct report *report,
	    const struct report_view *view) MUST_CHECK;

/* Defines the colours, if the terminal has any. */
void tui_draw_colors(void);

/* Draws all of it. */
void tui_draw(struct tui *tui);

/* Lines of the patch that the screen has room for. */
size_t tui_patch_height(void);

/* The change of the selected row; list.n where it is a directory. */
size_t tui_selected(const struct tui *tui);

/* Takes the marked over into the base; what there is to say of it is added to
 * `told`, in lines. *ret_done: it was written. -ENOMEM. */
int tui_apply_marked(const struct tui *tui, struct buf *told,
		     bool *ret_done) MUST_CHECK;

/* Adds the marked changes as patches that git apply takes. */
int tui_marked_patch(const struct tui *tui, struct buf *out) MUST_CHECK;

#endif
