#include <string.h>

#include "blob.h"
#include "format.h"
#include "remark.h"
#include "text.h"

/* Never narrower, however narrow the terminal. */
#define MIN_GRAPH 10
#define MIN_NAME  10

/* The columns that UTF-8 text takes, wide characters counted as one. */
static size_t columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++) {
		columns += (*text & 0xc0) != 0x80;
	}
	return columns;
}

/* One line of the histogram. */
struct row {
	struct buf name;
	struct buf remark; /* for what has no lines to count */
	size_t added;
	size_t deleted;
};

struct table {
	struct row *rows;
	size_t n;
	size_t name_width;
	size_t max_lines;
	size_t added;
	size_t deleted;
};

static void release_table(struct table *table)
{
	for (size_t i = 0; i < table->n; i++) {
		buf_release(&table->rows[i].name);
		buf_release(&table->rows[i].remark);
	}
	free(table->rows);
}

static void free_diff(git_patch **diff)
{
	git_patch_free(*diff);
}

/* Whether only modes or attributes differ, or nothing but the name. */
static bool has_same_content(const struct change *change)
{
	return (change->letter == CHANGE_MODIFIED ||
		change->letter == CHANGE_RENAMED) &&
	       !(change->flags & CHANGE_CONTENT);
}

static int load_sides(struct blob *old_blob, struct blob *new_blob,
		      const struct sides *sides, const struct change *change)
{
	int error = 0;

	if (blob_is_possible(&change->old_side)) {
		error = blob_load_old(old_blob, sides, change);
	}
	if (!error && blob_is_possible(&change->new_side)) {
		error = blob_load_new(new_blob, sides, change);
	}
	return error;
}

static int count_lines(struct row *row, const struct blob *old_blob,
		       const struct blob *new_blob)
{
	AUTO(free_diff) git_patch *diff = NULL;
	int error = blob_diff(&diff, old_blob, new_blob, false);

	if (error) {
		return error;
	}
	if (blob_diff_is_binary(diff)) {
		buf_addf(&row->remark, "Bin %zu -> %zu bytes",
			 old_blob->data.len, new_blob->data.len);
		return 0;
	}
	return git_patch_line_stats(NULL, &row->added, &row->deleted, diff)
		       ? -ENOMEM
		       : 0;
}

/* Adds what the line counts don't tell. */
static void add_remark(struct row *row, const struct change *change)
{
	AUTO_BUF remark = BUF_INIT;

	remark_add(&remark, change);
	if (change->flags & CHANGE_MODE && remark.len == 0) {
		buf_addf(&remark, "mode %04o => %04o", change->old_side.mode,
			 change->new_side.mode);
	}
	if (change->letter == CHANGE_TYPE) {
		buf_addf(&row->remark, "%stype %c => %c",
			 row->remark.len ? ", " : "",
			 (char)change->old_side.kind,
			 (char)change->new_side.kind);
	}
	if (remark.len > 0) {
		buf_addf(&row->remark, "%s%s", row->remark.len ? ", " : "",
			 remark.data);
	}
}

static int fill_row(struct row *row, const struct format *format,
		    const struct sides *sides, const struct change *change)
{
	AUTO_BLOB old_blob = BLOB_INIT;
	AUTO_BLOB new_blob = BLOB_INIT;
	enum change_kind kind = change->new_side.kind;
	int error = 0;

	kind = kind ? kind : change->old_side.kind;
	if (change->old_path) {
		text_add_path(&row->name, format->prefix, change->old_path,
			      kind);
		buf_adds(&row->name, " => ");
	}
	text_add_path(&row->name, format->prefix, change->path, kind);
	if (!has_same_content(change)) {
		error = load_sides(&old_blob, &new_blob, sides, change);
		if (error && error != -ENOMEM) {
			trouble_error(format->trouble, "read", change->path,
				      error);
			buf_adds(&row->remark, "unreadable");
		}
		error = error ? error : count_lines(row, &old_blob, &new_blob);
	}
	add_remark(row, change);
	return error == -ENOMEM ? error : 0;
}

static int fill_table(struct table *table, const struct format *format,
		      const struct diff *diff)
{
	table->rows = calloc(diff->list.n + 1, sizeof(*table->rows));
	if (!table->rows) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < diff->list.n; i++) {
		struct row *row = &table->rows[table->n++];
		int error;

		row->name = (struct buf)BUF_INIT;
		row->remark = (struct buf)BUF_INIT;
		error = fill_row(row, format, &diff->sides,
				 &diff->list.items[i]);
		if (error) {
			return error;
		}
		table->added += row->added;
		table->deleted += row->deleted;
		if (row->added + row->deleted > table->max_lines) {
			table->max_lines = row->added + row->deleted;
		}
		if (columns_of(row->name.data) > table->name_width) {
			table->name_width = columns_of(row->name.data);
		}
	}
	return 0;
}

/* `count` of `max` lines as a share of `width` columns; at least one for
 * any, as git does. */
static size_t scale(size_t count, size_t max, size_t width)
{
	return max <= width ? count
	       : count == 0 ? 0
			    : 1 + count * (width - 1) / max;
}

static void add_bar(struct buf *line, const struct format *format, char mark,
		    size_t length)
{
	const char *color = mark == '+' ? "\033[32m" : "\033[31m";

	if (length == 0) {
		return;
	}
	buf_adds(line, format->color ? color : "");
	for (size_t i = 0; i < length; i++) {
		buf_addc(line, mark);
	}
	buf_adds(line, format->color ? "\033[m" : "");
}

static int digits_of(size_t number)
{
	return snprintf(NULL, 0, "%zu", number);
}

/* A name that is too long loses its beginning, as in git's. */
static void add_name(struct buf *line, const struct row *row, size_t width)
{
	const char *name = row->name.data;
	size_t columns = columns_of(name);

	buf_addc(line, ' ');
	if (columns > width) {
		buf_adds(line, "...");
		for (columns += strlen("..."); columns > width; columns--) {
			/* whole characters */
			do {
				name++;
			} while ((*name & 0xc0) == 0x80);
		}
	}
	buf_adds(line, name);
	for (; columns < width; columns++) {
		buf_addc(line, ' ');
	}
	buf_adds(line, " | ");
}

static void write_row(const struct format *format, const struct table *table,
		      const struct row *row, size_t name_width,
		      size_t graph_width)
{
	AUTO_BUF line = BUF_INIT;
	size_t lines = row->added + row->deleted;
	size_t bar = scale(lines, table->max_lines, graph_width);
	size_t plus = lines ? bar * row->added / lines : 0;

	if (row->added && plus == 0) {
		plus = 1;
	} else if (row->deleted && plus == bar && bar > 1) {
		plus = bar - 1;
	}
	add_name(&line, row, name_width);
	if (lines > 0 || row->remark.len == 0) {
		buf_addf(&line, "%*zu ", digits_of(table->max_lines), lines);
		add_bar(&line, format, '+', plus);
		add_bar(&line, format, '-', bar - plus);
	}
	if (row->remark.len > 0) {
		buf_addf(&line, "%s%s%s", lines ? " (" : "", row->remark.data,
			 lines ? ")" : "");
	}
	while (line.len > 0 && line.data[line.len - 1] == ' ') {
		buf_truncate(&line, line.len - 1);
	}
	fprintf(format->out, "%s\n", line.data);
}

static void write_total(const struct format *format, const struct table *table)
{
	fprintf(format->out, " %zu file%s changed", table->n,
		table->n == 1 ? "" : "s");
	if (table->added || !table->deleted) {
		fprintf(format->out, ", %zu insertion%s(+)", table->added,
			table->added == 1 ? "" : "s");
	}
	if (table->deleted || !table->added) {
		fprintf(format->out, ", %zu deletion%s(-)", table->deleted,
			table->deleted == 1 ? "" : "s");
	}
	fputc('\n', format->out);
}

int format_stat(const struct format *format, const struct diff *diff)
{
	AUTO(release_table) struct table table = {0};
	size_t used;
	size_t name_width;
	size_t graph_width = MIN_GRAPH;
	int error = fill_table(&table, format, diff);

	if (error || table.n == 0) {
		return error;
	}
	/* " name | 12 +++---" */
	used = (size_t)digits_of(table.max_lines) + strlen("  |  ");
	name_width = table.name_width;
	if (used + name_width + MIN_GRAPH > format->width) {
		name_width = format->width > used + MIN_GRAPH + MIN_NAME
				     ? format->width - used - MIN_GRAPH
				     : MIN_NAME;
	}
	if (used + name_width + MIN_GRAPH < format->width) {
		graph_width = format->width - used - name_width;
	}
	for (size_t i = 0; i < table.n; i++) {
		write_row(format, &table, &table.rows[i], name_width,
			  graph_width);
	}
	write_total(format, &table);
	return 0;
}
