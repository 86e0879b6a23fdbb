#include "tui.h"

#include <curses.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "fdio.h"

#define MAX_NAME 1024

#define KEY_ESCAPE 27

/* Lines of the overview. */
#define MAX_ODD     50
#define MAX_GROUPS  20
#define MAX_COMMITS 200

size_t tui_selected(const struct tui *tui)
{
	const struct tree_row *row;

	if (tui->row >= tui->tree.n) {
		return tui->marks.list->n;
	}
	row = &tui->tree.rows[tui->row];
	return row->is_dir ? tui->marks.list->n : row->first;
}

/* Any text on the right side: as a patch without hunks. */
static int show_text(struct tui *tui, struct buf *text)
{
	size_t n = 0;

	patch_text_release(&tui->patch);
	for (size_t i = 0; i < text->len; i++) {
		n += text->data[i] == '\n';
	}
	tui->patch.lines = calloc(n + 1, sizeof(*tui->patch.lines));
	tui->patch.len = text->len;
	tui->patch.whole = buf_detach(text);
	if (!tui->patch.lines || !tui->patch.whole) {
		return -ENOMEM;
	}
	for (char *at = tui->patch.whole; tui->patch.n < n;) {
		struct patch_line *line = &tui->patch.lines[tui->patch.n++];

		line->text = at;
		line->len = strcspn(at, "\n");
		at += line->len + 1;
	}
	tui->has_overview = true;
	tui->in_patch = false;
	tui->top_line = 0;
	return 0;
}

static int show_overview(struct tui *tui)
{
	const struct report_view *view = tui->view;
	AUTO_BUF text = BUF_INIT;

	odd_add_lines(&text, &view->odd, " ", "", MAX_ODD);
	for (size_t i = 0; i < view->stories.n; i++) {
		git_story_add_lines(&text, &view->stories.items[i], " ", "",
				    MAX_COMMITS);
	}
	fold_add_lines(&text, &view->fold, " ", MAX_GROUPS);
	if (text.len == 0) {
		buf_adds(&text,
			 " Nothing odd, nothing of git, nothing folded.\n");
	}
	return show_text(tui, &text);
}

/* The patch of the selected row, nothing for a directory. */
static int show_selected(struct tui *tui)
{
	size_t index = tui_selected(tui);

	patch_text_release(&tui->patch);
	tui->has_overview = false;
	tui->top_line = 0;
	if (index == tui->marks.list->n) {
		tui->in_patch = false;
		return 0;
	}
	return patch_text_make(&tui->patch, &tui->format, &tui->view->diff,
			       &tui->marks.list->items[index]);
}

int tui_marked_patch(const struct tui *tui, struct buf *out)
{
	struct trouble trouble = {0};
	struct format format = {
		.prefix = "", .binary = true, .trouble = &trouble};

	for (size_t i = 0; i < tui->marks.list->n; i++) {
		AUTO_PATCH_TEXT patch = {0};
		int error;

		if (marks_state(&tui->marks, i) == MARKS_NONE) {
			continue;
		}
		error = patch_text_make(&patch, &format, &tui->view->diff,
					&tui->marks.list->items[i]);
		if (error) {
			return error;
		}
		patch_text_add_marked(out, &patch, &tui->marks, i);
	}
	return trouble.n_errors ? -EIO : buf_error(out);
}

/* Asks for a line at the foot of the screen; false if nothing was given. */
static bool ask(const char *question, char *answer, size_t size)
{
	int got;

	timeout(-1);
	echo();
	curs_set(1);
	mvhline(LINES - 1, 0, ' ', COLS);
	mvaddstr(LINES - 1, 0, question);
	got = getnstr(answer, (int)size - 1);
	curs_set(0);
	noecho();
	return got != ERR && *answer;
}

static bool has_marks(struct tui *tui)
{
	bool has = marks_count(&tui->marks) > 0;

	if (!has) {
		snprintf(tui->message, sizeof(tui->message),
			 " Nothing is marked: space marks");
	}
	return has;
}

static int apply_marked(struct tui *tui)
{
	AUTO_BUF question = BUF_INIT;
	AUTO_BUF told = BUF_INIT;
	char answer[MAX_NAME] = "";
	int error;

	buf_addf(&question, " Take over %zu marked into ",
		 marks_count(&tui->marks));
	buf_add_quoted(&question, tui->view->view->base);
	buf_adds(&question, "? y, n: ");
	if (!has_marks(tui) || !ask(question.data, answer, sizeof(answer)) ||
	    strcmp(answer, "y") != 0) {
		return 0;
	}
	error = tui_apply_marked(tui, &told, &tui->is_done);
	if (error) {
		return error;
	}
	if (tui->is_done) {
		buf_add(&tui->told, told.data, told.len);
		return 0;
	}
	return show_text(tui, &told);
}

/* Never over a file that is there. */
static int write_patch(const char *name, const struct buf *text)
{
	AUTO_FD fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	int error = fd < 0 ? -errno : fdio_write_all(fd, text->data, text->len);

	if (error && fd >= 0) {
		unlink(name);
	}
	return error;
}

static int export_marked(struct tui *tui)
{
	AUTO_BUF text = BUF_INIT;
	char name[MAX_NAME] = "";
	size_t n = marks_count(&tui->marks);
	int error;

	if (!has_marks(tui)) {
		return 0;
	}
	if (!ask(" Write a patch of the marked to: ", name, sizeof(name))) {
		return 0;
	}
	error = tui_marked_patch(tui, &text);
	error = error ? error : write_patch(name, &text);
	if (error) {
		snprintf(tui->message, sizeof(tui->message),
			 " Can't write it: %s", err_text(error));
	} else {
		snprintf(tui->message, sizeof(tui->message),
			 " %zu changes are in the patch", n);
	}
	return error == -ENOMEM ? error : 0;
}

/* A directory's mark is that of all in it. */
static void toggle_row(struct tui *tui)
{
	const struct tree_row *row;
	bool all = true;

	if (tui->row >= tui->tree.n) {
		return;
	}
	row = &tui->tree.rows[tui->row];
	for (size_t i = row->first; i < row->first + row->n; i++) {
		bool shown = tui->tree.with_noise ||
			     !tui->marks.list->items[i].noise;

		all = all &&
		      (!shown || marks_state(&tui->marks, i) == MARKS_ALL);
	}
	for (size_t i = row->first; i < row->first + row->n; i++) {
		if (tui->tree.with_noise || !tui->marks.list->items[i].noise) {
			marks_set(&tui->marks, i, !all);
		}
	}
}

static int toggle_hunk(struct tui *tui)
{
	size_t hunk = patch_text_hunk_at(&tui->patch, tui->top_line);
	size_t index = tui_selected(tui);

	if (tui->has_overview || index == tui->marks.list->n) {
		return 0;
	}
	/* Half a creation, or half a rename, is neither. */
	if (tui->patch.n_hunks == 0 ||
	    tui->marks.list->items[index].letter != CHANGE_MODIFIED) {
		toggle_row(tui);
		return 0;
	}
	return marks_toggle_hunk(&tui->marks, index,
				 hunk < tui->patch.n_hunks ? hunk : 0,
				 tui->patch.n_hunks);
}

static void go_hunk(struct tui *tui, bool forward)
{
	size_t n = tui->patch.n_hunks;
	size_t at = patch_text_hunk_at(&tui->patch, tui->top_line);

	if (n == 0) {
		return;
	}
	if (at == n) {
		at = 0;
	} else if (forward && at + 1 < n) {
		at++;
	} else if (!forward && at > 0) {
		at--;
	}
	tui->top_line = tui->patch.hunks[at];
}

/* Moves the selection, or the patch, by `by` lines. */
static int move_by(struct tui *tui, long by)
{
	size_t *at = tui->in_patch ? &tui->top_line : &tui->row;
	size_t n = tui->in_patch ? tui->patch.n : tui->tree.n;
	long to = (long)*at + by;
	size_t before = *at;

	to = to >= (long)n ? (long)n - 1 : to;
	*at = to < 0 ? 0 : (size_t)to;
	return tui->in_patch || (*at == before && !tui->has_overview)
		       ? 0
		       : show_selected(tui);
}

/* Into the patch, or a directory open or closed. */
static int enter(struct tui *tui)
{
	int error;

	if (tui->in_patch) {
		tui->in_patch = false;
		return 0;
	}
	if (tui->has_overview) {
		return show_selected(tui);
	}
	if (tui->row < tui->tree.n && tui->tree.rows[tui->row].is_dir) {
		error = tree_rows_toggle(&tui->tree, tui->row);
		return error ? error
			     : tree_rows_make(&tui->tree, tui->marks.list);
	}
	tui->in_patch = tui->patch.n > 0;
	return 0;
}

static int toggle_noise(struct tui *tui)
{
	int error;

	tui->tree.with_noise = !tui->tree.with_noise;
	error = tree_rows_make(&tui->tree, tui->marks.list);
	if (tui->row >= tui->tree.n) {
		tui->row = tui->tree.n > 0 ? tui->tree.n - 1 : 0;
	}
	tui->in_patch = false;
	return error ? error : show_selected(tui);
}

static int handle_move(struct tui *tui, int key, bool *ret_known)
{
	long page = (long)tui_patch_height() - 1;

	switch (key) {
	case 'j':
	case KEY_DOWN:
		return move_by(tui, 1);
	case 'k':
	case KEY_UP:
		return move_by(tui, -1);
	case KEY_NPAGE:
		return move_by(tui, page);
	case KEY_PPAGE:
		return move_by(tui, -page);
	case 'g':
	case KEY_HOME:
		return move_by(tui, INT32_MIN);
	case 'G':
	case KEY_END:
		return move_by(tui, INT32_MAX);
	default:
		*ret_known = false;
		return 0;
	}
}

/* 0, or -errno. */
static int handle_key(struct tui *tui, int key)
{
	bool known = true;
	int error = handle_move(tui, key, &known);

	if (known) {
		return error;
	}
	switch (key) {
	case ' ':
		if (tui->in_patch) {
			return toggle_hunk(tui);
		}
		toggle_row(tui);
		return 0;
	case '\t':
	case '\n':
	case KEY_ENTER:
		return enter(tui);
	case KEY_ESCAPE:
	case KEY_LEFT:
		tui->in_patch = false;
		return 0;
	case KEY_RIGHT:
		return tui->in_patch ? 0 : enter(tui);
	case 'n':
		go_hunk(tui, true);
		return 0;
	case 'p':
		go_hunk(tui, false);
		return 0;
	case 'o':
		return show_overview(tui);
	case 'a':
		return toggle_noise(tui);
	case 'A':
		return apply_marked(tui);
	case 'e':
		return export_marked(tui);
	case '?':
		tui->has_help = true;
		return 0;
	default:
		return 0;
	}
}

static int loop(struct tui *tui)
{
	for (;;) {
		int key;
		int error;

		tui_draw(tui);
		key = getch();
		if (key == 'q' || key == ERR) {
			return 0;
		}
		tui->message[0] = '\0';
		if (tui->has_help) {
			tui->has_help = false;
			continue;
		}
		error = handle_key(tui, key);
		if (error || tui->is_done) {
			return error;
		}
	}
}

static int prepare(struct tui *tui)
{
	int error = marks_init(&tui->marks, &tui->view->diff.list);

	error = error ? error : tree_rows_make(&tui->tree, tui->marks.list);
	return error ? error : show_overview(tui);
}

static int start_screen(void)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		return -ENOTTY;
	}
	setlocale(LC_CTYPE, "");
	if (!newterm(NULL, stdout, stdin)) {
		return -ENOTTY;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	set_escdelay(50);
	curs_set(0);
	if (has_colors() && !getenv("NO_COLOR")) {
		start_color();
		use_default_colors();
		tui_draw_colors();
	}
	return 0;
}

int tui_run(const struct report *report, const struct report_view *view)
{
	struct trouble trouble = {0}; /* counts only: the screen is in use */
	struct tui tui = {
		.report = report,
		.view = view,
		.format = {.prefix = "", .terminal = true, .trouble = &trouble},
		.told = BUF_INIT,
	};
	int error = prepare(&tui);

	if (!error) {
		error = start_screen();
		if (!error) {
			error = loop(&tui);
			endwin();
			fputs(tui.told.data, stdout);
		}
	}
	buf_release(&tui.told);
	patch_text_release(&tui.patch);
	tree_rows_release(&tui.tree);
	marks_release(&tui.marks);
	return error;
}
