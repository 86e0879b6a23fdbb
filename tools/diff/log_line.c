#include "log_line.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "err.h"
#include "journal_words.h"
#include "json_text.h"
#include "log_select.h"
#include "text.h"

#define SECOND_NS    INT64_C(1000000000)
#define PATHS_COLUMN 44 /* processes stand behind it, where paths are short */

const char *log_color(char letter, bool color)
{
	if (!color) {
		return "";
	}
	switch (letter) {
	case 'A':
		return "\033[32m";
	case 'D':
	case '!':
		return "\033[31m";
	case 'R':
		return "\033[36m";
	default:
		return "";
	}
}

const char *log_color_end(bool color)
{
	return color ? "\033[m" : "";
}

static void add_place_and_path(struct buf *buf, const struct manifest *manifest,
			       const char *view, const char *path)
{
	AUTO_BUF whole = BUF_INIT;

	log_add_place(&whole, manifest, view);
	buf_adds(&whole, path);
	buf_add_quoted(buf, whole.len ? whole.data : ".");
}

void log_add_paths(struct buf *buf, const struct manifest *manifest,
		   const struct journal_record *record)
{
	const char *between = record->op == JOURNAL_EXCHANGE     ? " <-> "
			      : record->op == JOURNAL_COPY_RANGE ? " <- "
								 : " -> ";

	add_place_and_path(buf, manifest, record->view, record->path);
	if (!record->path2) {
		return;
	}
	if (journal_op_has_second_path(record->op)) {
		buf_adds(buf, between);
		add_place_and_path(buf, manifest, record->view, record->path2);
	} else {
		buf_addc(buf, ' ');
		buf_add_quoted(buf, record->path2);
	}
}

/* What else is worth a word: how much, which mode. */
static void add_details(struct buf *buf, const struct journal_record *record)
{
	const char *before = "  ";

	if (record->bytes > 0) {
		buf_adds(buf, before);
		text_add_size(buf, (uint64_t)record->bytes);
		before = ", ";
	}
	if (record->count > 1) {
		buf_addf(buf, "%s%" PRIu64 " calls", before, record->count);
		before = ", ";
	}
	if (record->op == JOURNAL_CHMOD && record->mode_after >= 0) {
		buf_addf(buf, "%s", before);
		if (record->mode_before >= 0) {
			buf_addf(buf, "%04o -> ", record->mode_before & 07777);
		}
		buf_addf(buf, "%04o", record->mode_after & 07777);
	}
	if ((record->op == JOURNAL_TRUNCATE ||
	     record->op == JOURNAL_FALLOCATE) &&
	    record->size_after >= 0) {
		buf_addf(buf, "%sto ", before);
		text_add_size(buf, (uint64_t)record->size_after);
	}
}

static void add_time(struct log_lines *lines, struct buf *buf, int64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / SECOND_NS);
	struct tm tm;
	int day;

	localtime_r(&seconds, &tm);
	day = tm.tm_year * 1000 + tm.tm_yday + 1;
	if (day != lines->day) {
		buf_addf(buf, "-- %04d-%02d-%02d\n", tm.tm_year + 1900,
			 tm.tm_mon + 1, tm.tm_mday);
		lines->day = day;
	}
	buf_addf(buf, "%02d:%02d:%02d.%03d ", tm.tm_hour, tm.tm_min, tm.tm_sec,
		 (int)(wall_ns % SECOND_NS / 1000000));
}

void log_line_text(struct log_lines *lines, const struct journal_record *record)
{
	char letter = journal_op_letter(record->op);
	const char *name = journal_op_name(record->op);
	AUTO_BUF line = BUF_INIT;
	size_t start;

	add_time(lines, &line, record->wall_ns);
	buf_addf(&line, "%s%c %-11s ", log_color(letter, lines->color), letter,
		 name ? name : "?");
	start = line.len;
	log_add_paths(&line, lines->manifest, record);
	buf_adds(&line, log_color_end(lines->color));
	add_details(&line, record);
	if (record->nameless) {
		buf_adds(&line, "  (without a name)");
	}
	if (record->state == JOURNAL_BEGUN) {
		buf_adds(&line, "  unfinished");
	} else if (record->result) {
		buf_addf(&line, "  = %s", err_name(record->result));
	}
	do {
		buf_addc(&line, ' ');
	} while (line.len < start + PATHS_COLUMN);
	buf_addc(&line, ' ');
	history_add_label(&line, lines->history, record->process);
	if (record->by_opener) {
		buf_adds(&line, " opened it");
	}
	buf_addc(&line, '\n');
	fwrite(line.data, 1, line.len, lines->out);
}

static void add_known(yyjson_mut_doc *doc, yyjson_mut_val *object,
		      const char *key, int64_t value, int64_t unknown)
{
	if (value != unknown) {
		yyjson_mut_obj_add_sint(doc, object, key, value);
	}
}

static void add_process(struct log_lines *lines, yyjson_mut_doc *doc,
			yyjson_mut_val *object, uint64_t number)
{
	const struct journal_process *process =
		history_process(lines->history, number);
	yyjson_mut_val *by;
	AUTO_BUF command = BUF_INIT;

	if (!process) {
		return;
	}
	by = yyjson_mut_obj_add_obj(doc, object, "process");
	yyjson_mut_obj_add_uint(doc, by, "number", process->number);
	if (process->parent) {
		yyjson_mut_obj_add_uint(doc, by, "parent", process->parent);
	}
	yyjson_mut_obj_add_int(doc, by, "pid", process->pid);
	yyjson_mut_obj_add_int(doc, by, "ppid", process->ppid);
	yyjson_mut_obj_add_uint(doc, by, "uid", process->uid);
	json_text_adds(doc, by, "exe", process->exe);
	json_text_adds(doc, by, "cwd", process->cwd);
	journal_add_command(&command, process->command, process->command_size);
	json_text_add(doc, by, "command", command.data, command.len);
}

static void add_record(struct log_lines *lines, yyjson_mut_doc *doc,
		       yyjson_mut_val *object,
		       const struct journal_record *record)
{
	yyjson_mut_obj_add_uint(doc, object, "sequence", record->sequence);
	yyjson_mut_obj_add_sint(doc, object, "time_ns", record->wall_ns);
	yyjson_mut_obj_add_sint(doc, object, "last_time_ns",
				record->last_wall_ns);
	yyjson_mut_obj_add_str(doc, object, "operation",
			       journal_op_name(record->op));
	json_text_adds(doc, object, "view", record->view);
	json_text_adds(doc, object, "path", record->path);
	json_text_adds(doc, object,
		       journal_op_has_second_path(record->op) ? "path2"
							      : "attribute",
		       record->path2);
	yyjson_mut_obj_add_str(doc, object, "state",
			       record->state == JOURNAL_BEGUN ? "unfinished"
							      : "done");
	yyjson_mut_obj_add_int(doc, object, "result", record->result);
	if (record->result) {
		yyjson_mut_obj_add_str(doc, object, "error",
				       err_name(record->result));
	}
	yyjson_mut_obj_add_uint(doc, object, "count", record->count);
	add_known(doc, object, "bytes", record->bytes, -1);
	add_known(doc, object, "offset", record->offset, -1);
	add_known(doc, object, "size_before", record->size_before, -1);
	add_known(doc, object, "size_after", record->size_after, -1);
	add_known(doc, object, "mode_before", record->mode_before, -1);
	add_known(doc, object, "mode_after", record->mode_after, -1);
	if (record->ino) {
		yyjson_mut_obj_add_uint(doc, object, "ino", record->ino);
	}
	yyjson_mut_obj_add_bool(doc, object, "nameless", record->nameless);
	yyjson_mut_obj_add_bool(doc, object, "by_opener", record->by_opener);
	add_process(lines, doc, object, record->process);
}

int log_line_json(struct log_lines *lines, const struct journal_record *record)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *object = doc ? yyjson_mut_obj(doc) : NULL;
	AUTO_FREE char *text = NULL;
	size_t len = 0;

	if (object) {
		yyjson_mut_doc_set_root(doc, object);
		add_record(lines, doc, object, record);
		text = yyjson_mut_write(doc, 0, &len);
	}
	yyjson_mut_doc_free(doc);
	if (!text) {
		return -ENOMEM;
	}
	fwrite(text, 1, len, lines->out);
	return fputc('\n', lines->out) == EOF ? -EIO : 0;
}
