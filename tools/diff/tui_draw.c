#include "tui.h"

#include <curses.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include "text.h"
#include "visible.h"

/* Narrower than this there is room for one side only. */
#define MIN_BOTH   90
#define TREE_SHARE 3 /* the tree gets one of so many */
#define TAB_WIDTH  8

enum pair {
	PAIR_ADDED = 1,
	PAIR_DELETED,
	PAIR_HUNK,
	PAIR_ODD,
	PAIR_BAR,
};

/* A place on the screen that text is put into, and cut off at its end. */
struct cell {
	int y;
	int x;
	int end;
};

static void put_char(struct cell *cell, const char *text, size_t len)
{
	wchar_t wide = L'?';
	mbstate_t state = {0};
	int width = 1;

	if (mbrtowc(&wide, text, len, &state) != len) {
		wide = L'?';
	}
	width = wcwidth(wide);
	if (width < 0) {
		wide = L'?';
		width = 1;
	}
	if (cell->x + width <= cell->end) {
		mvaddnwstr(cell->y, cell->x, &wide, 1);
	}
	cell->x += width;
}

/* Only visible characters come in (visible_add), and tabs. */
static void put(struct cell *cell, const char *text, size_t len)
{
	int start = cell->x;

	for (size_t at = 0; at < len && cell->x < cell->end;) {
		unsigned char first = (unsigned char)text[at];
		size_t step = first < 0xc0   ? 1
			      : first < 0xe0 ? 2
			      : first < 0xf0 ? 3
					     : 4;

		if (step > len - at) {
			step = 1;
		}
		if (text[at] == '\t') {
			do {
				put_char(cell, " ", 1);
			} while ((cell->x - start) % TAB_WIDTH);
		} else {
			put_char(cell, text + at, step);
		}
		at += step;
	}
}

static void puts_at(struct cell *cell, const char *text)
{
	put(cell, text, strlen(text));
}

static void fill(struct cell *cell)
{
	while (cell->x < cell->end) {
		mvaddch(cell->y, cell->x++, ' ');
	}
}

static size_t body_height(void)
{
	return LINES > 2 ? (size_t)LINES - 2 : 1;
}

size_t tui_patch_height(void)
{
	return body_height();
}

static int tree_width(const struct tui *tui)
{
	if (COLS >= MIN_BOTH) {
		return COLS / TREE_SHARE;
	}
	return tui->in_patch || tui->has_overview ? 0 : COLS;
}

/* '*' marked, '+' some of it, ' ' not. */
static char mark_of(const struct tui *tui, const struct tree_row *row)
{
	size_t counts[MARKS_ALL + 1] = {0};

	for (size_t i = row->first; i < row->first + row->n; i++) {
		if (tui->tree.with_noise || !tui->marks.list->items[i].noise) {
			counts[marks_state(&tui->marks, i)]++;
		}
	}
	if (counts[MARKS_SOME] == 0 && counts[MARKS_NONE] == 0) {
		return '*';
	}
	return counts[MARKS_SOME] + counts[MARKS_ALL] > 0 ? '+' : ' ';
}

static void draw_row(const struct tui *tui, size_t index, struct cell *cell)
{
	const struct tree_row *row = &tui->tree.rows[index];
	const struct change *change = &tui->marks.list->items[row->first];
	const char *name = row->path + row->len;
	AUTO_BUF line = BUF_INIT;

	while (name > row->path && name[-1] != '/') {
		name--;
	}
	buf_addf(&line, "%c ", mark_of(tui, row));
	for (size_t i = 0; i < row->depth; i++) {
		buf_adds(&line, "  ");
	}
	if (row->is_dir) {
		buf_adds(&line, row->is_closed ? "> " : "v ");
	} else {
		buf_addf(&line, "%c ", (char)change->letter);
	}
	visible_add(&line, name, (size_t)(row->path + row->len - name));
	buf_adds(&line, row->is_dir ? "/" : "");
	if (change->noise && !row->is_dir) {
		buf_addf(&line, " (%s)", fold_name(change->noise));
	}
	if (index == tui->row) {
		attron(tui->in_patch ? A_BOLD : A_REVERSE);
	}
	puts_at(cell, line.data);
	fill(cell);
	attrset(A_NORMAL);
}

static void draw_tree(struct tui *tui, int width)
{
	size_t height = body_height();

	if (tui->row < tui->top_row) {
		tui->top_row = tui->row;
	} else if (tui->row >= tui->top_row + height) {
		tui->top_row = tui->row - height + 1;
	}
	for (size_t i = 0; i < height; i++) {
		struct cell cell = {.y = (int)i + 1, .end = width};

		if (tui->top_row + i < tui->tree.n) {
			draw_row(tui, tui->top_row + i, &cell);
		}
	}
}

static chtype attributes_of(const struct tui *tui,
			    const struct patch_line *line)
{
	char first = line->len > 0 ? line->text[0] : ' ';

	if (tui->has_overview) {
		return memchr(line->text, '!', line->len < 4 ? line->len : 4)
			       ? COLOR_PAIR(PAIR_ODD) | A_BOLD
			       : A_NORMAL;
	}
	return first == '+'   ? COLOR_PAIR(PAIR_ADDED)
	       : first == '-' ? COLOR_PAIR(PAIR_DELETED)
	       : first == '@' ? COLOR_PAIR(PAIR_HUNK)
			      : A_NORMAL;
}

static void draw_patch(const struct tui *tui, int left)
{
	size_t change = tui_selected(tui);
	size_t at = patch_text_hunk_at(&tui->patch, tui->top_line);

	for (size_t i = 0; i < body_height(); i++) {
		size_t number = tui->top_line + i;
		struct cell cell = {.y = (int)i + 1, .x = left, .end = COLS};
		const struct patch_line *line;
		size_t hunk;

		if (number >= tui->patch.n) {
			break;
		}
		line = &tui->patch.lines[number];
		hunk = patch_text_hunk_at(&tui->patch, number);
		if (!tui->has_overview && hunk < tui->patch.n_hunks) {
			bool marked = marks_has_hunk(&tui->marks, change, hunk);

			puts_at(&cell, marked ? "*" : " ");
			puts_at(&cell, tui->in_patch && hunk == at ? "|" : " ");
		} else {
			puts_at(&cell, "  ");
		}
		attron((int)attributes_of(tui, line));
		put(&cell, line->text, line->len);
		attrset(A_NORMAL);
	}
}

static void draw_bars(const struct tui *tui)
{
	AUTO_BUF top = BUF_INIT;
	struct cell head = {.y = 0, .end = COLS};
	struct cell foot = {.y = LINES - 1, .end = COLS};

	buf_addf(&top, " %s  ", tui->report->manifest->id);
	text_add_counts(&top, &tui->view->fold.totals[NOISE_NONE]);
	buf_addf(&top, "  %zu odd  %zu marked", tui->view->odd.n,
		 marks_count(&tui->marks));
	attron(has_colors() ? COLOR_PAIR(PAIR_BAR) | A_BOLD : A_REVERSE);
	puts_at(&head, top.data);
	fill(&head);
	puts_at(&foot,
		tui->message[0] ? tui->message
		: tui->in_patch
			? " space: mark hunk  n p: hunks  Tab: back  "
			  "A: apply  e: export  ?: help  q: quit"
			: " space: mark  Tab: into the patch  o: overview"
			  "  A: apply  e: export  ?: help  q: quit");
	fill(&foot);
	attrset(A_NORMAL);
}

static void draw_help(void)
{
	static const char *const lines[] = {
		" j k, arrows   up and down          ",
		" PgUp PgDn     by pages             ",
		" g G           to the beginning, end",
		" Tab, Enter    patch, and back;     ",
		"               folders open, close  ",
		" space         mark, or not         ",
		" n p           next, previous hunk  ",
		" o             overview             ",
		" a             with what is folded  ",
		" A             take the marked over ",
		" e             export the marked    ",
		" q             quit                 ",
	};

	attron(A_REVERSE);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		struct cell cell = {.y = (int)i + 2, .x = 4, .end = COLS};

		puts_at(&cell, lines[i]);
	}
	attrset(A_NORMAL);
}

void tui_draw_colors(void)
{
	init_pair(PAIR_ADDED, COLOR_GREEN, -1);
	init_pair(PAIR_DELETED, COLOR_RED, -1);
	init_pair(PAIR_HUNK, COLOR_CYAN, -1);
	init_pair(PAIR_ODD, COLOR_YELLOW, -1);
	init_pair(PAIR_BAR, COLOR_WHITE, COLOR_BLUE);
}

void tui_draw(struct tui *tui)
{
	int width = tree_width(tui);

	erase();
	if (width > 0) {
		draw_tree(tui, width < COLS ? width - 1 : width);
	}
	if (width < COLS) {
		for (int y = 1; width > 0 && y < LINES - 1; y++) {
			mvaddch(y, width - 1, ACS_VLINE);
		}
		draw_patch(tui, width);
	}
	draw_bars(tui);
	if (tui->has_help) {
		draw_help();
	}
	refresh();
}
