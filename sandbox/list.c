/* ls, show: what executions there are. */
#include <getopt.h>
#include <stdio.h>
#include <time.h>
#include <yyjson.h>

#include "buf.h"
#include "duration.h"
#include "err.h"
#include "failure.h"
#include "json.h"
#include "quota.h"
#include "requests.h"
#include "state.h"
#include "usage.h"

#define ROW "%-20s  %-12s  %-6s  %-8s  %6s  %5s  %s  %s\n"

static void add_views(yyjson_mut_doc *doc, yyjson_mut_val *object,
		      const struct manifest *manifest)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "views");

	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];
		yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);

		json_add_text(doc, item, "name", view->name);
		json_add_text(doc, item, "kind",
			      view->kind == MANIFEST_OVERLAY ? "overlay"
							     : "scratch");
		json_add_text(doc, item, "base", view->base);
		json_add_text(doc, item, "mount_at", view->mount_at);
	}
}

static void add_command(yyjson_mut_doc *doc, yyjson_mut_val *object,
			const struct manifest *manifest)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "command");

	for (char **arg = manifest->command; arg && *arg; arg++) {
		yyjson_mut_arr_add_strcpy(doc, list, *arg);
	}
}

static yyjson_mut_val *entry_to_json(yyjson_mut_doc *doc,
				     const struct entry *entry)
{
	const struct manifest *manifest = &entry->manifest;
	yyjson_mut_val *object = yyjson_mut_obj(doc);

	json_add_text(doc, object, "id", entry->execution.id);
	json_add_text(doc, object, "name", manifest->name);
	json_add_text(doc, object, "state", state_name(entry->state));
	json_add_text(doc, object, "role", manifest->role);
	json_add_text(doc, object, "checkout", manifest->checkout);
	json_add_text(doc, object, "path", entry->execution.path);
	add_command(doc, object, manifest);
	yyjson_mut_obj_add_sint(doc, object, "created_ns",
				manifest->created_ns);
	if (entry->state == STATE_ENDED) {
		yyjson_mut_obj_add_sint(doc, object, "ended_ns",
					manifest->ended_ns);
		yyjson_mut_obj_add_int(doc, object, "exit_code",
				       manifest->exit_code);
	}
	yyjson_mut_obj_add_sint(doc, object, "size_bytes",
				entry_size_bytes(entry));
	quota_add_json(doc, object, entry);
	add_views(doc, object, manifest);
	return object;
}

static void add_command_line(struct buf *line, const struct manifest *manifest)
{
	for (char **arg = manifest->command; arg && *arg; arg++) {
		buf_adds(line, arg == manifest->command ? "" : " ");
		buf_add_quoted(line, *arg);
	}
}

static const char *or_dash(const char *text)
{
	return text ? text : "-";
}

static void print_row(const struct entry *entry)
{
	const struct manifest *manifest = &entry->manifest;
	AUTO_BUF checkout = BUF_INIT;
	AUTO_BUF command = BUF_INIT;
	char age[32] = "-";
	char size[32];

	if (manifest->created_ns) {
		duration_format(age, sizeof(age),
				state_now_ns() - manifest->created_ns);
	}
	size_format(size, sizeof(size), entry_size_bytes(entry));
	buf_add_quoted(&checkout, or_dash(manifest->checkout));
	add_command_line(&command, manifest);
	printf(ROW, entry->execution.id, or_dash(manifest->name),
	       state_name(entry->state), or_dash(manifest->role), age, size,
	       checkout.data, command.data);
}

static int list_rows(const char *scratch_dir, char *const *ids, size_t count)
{
	struct entry entry;

	if (count > 0) {
		printf(ROW, "ID", "NAME", "STATE", "ROLE", "AGE", "SIZE",
		       "CHECKOUT", "COMMAND");
	}
	for (size_t i = 0; i < count; i++) {
		if (entry_open(&entry, scratch_dir, ids[i]) == 0) {
			print_row(&entry);
			entry_release(&entry);
		}
	}
	return 0;
}

static int list_json(const char *scratch_dir, char *const *ids, size_t count)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = yyjson_mut_arr(doc);
	struct entry entry;

	yyjson_mut_doc_set_root(doc, list);
	for (size_t i = 0; i < count; i++) {
		if (entry_open(&entry, scratch_dir, ids[i]) == 0) {
			yyjson_mut_arr_append(list, entry_to_json(doc, &entry));
			entry_release(&entry);
		}
	}
	json_print(stdout, doc);
	return 0;
}

int verb_ls(int argc, char **argv)
{
	struct verb_options options;
	char **ids = NULL;
	size_t count = 0;
	int code =
		verb_options_parse(&options, argc, argv, VERB_TAKES_JSON, 0, 0);
	int error;

	if (code) {
		return code;
	}
	error = execution_ids(options.scratch_dir, &ids, &count);
	if (error) {
		code = failure(EXIT_TROUBLE, "cannot read '%s': %s",
			       options.scratch_dir, err_text(error));
	} else {
		code = (options.json ? list_json : list_rows)(
			options.scratch_dir, ids, count);
	}
	execution_ids_free(ids, count);
	free(options.scratch_dir);
	return code;
}

static void print_field(const char *name, const char *value)
{
	AUTO_BUF quoted = BUF_INIT;

	if (value) {
		buf_add_quoted(&quoted, value);
		printf("%-9s %s\n", name, quoted.data);
	}
}

static void print_time(const char *name, int64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	char text[64];
	struct tm local;

	if (ns && localtime_r(&seconds, &local) &&
	    strftime(text, sizeof(text), "%F %T %z", &local) > 0) {
		print_field(name, text);
	}
}

static void print_command(const struct manifest *manifest)
{
	AUTO_BUF line = BUF_INIT;

	add_command_line(&line, manifest);
	if (line.len > 0) {
		printf("%-9s %s\n", "command", line.data);
	}
}

static void show_text(const struct entry *entry)
{
	const struct manifest *manifest = &entry->manifest;
	char size[32];

	print_field("id", entry->execution.id);
	print_field("name", manifest->name);
	print_field("state", state_name(entry->state));
	print_field("role", manifest->role);
	print_field("checkout", manifest->checkout);
	print_command(manifest);
	print_time("created", manifest->created_ns);
	print_time("ended", manifest->ended_ns);
	if (entry->state == STATE_ENDED) {
		printf("%-9s %d\n", "exit code", manifest->exit_code);
	}
	size_format(size, sizeof(size), entry_size_bytes(entry));
	print_field("size", size);
	print_field("folder", entry->execution.path);
	quota_print(entry);
	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];

		printf("%-9s %s at ", "view", view->name);
		puts(or_dash(view->mount_at));
	}
}

static int stats_failure(int error)
{
	return error == -ENOENT
		       ? failure(EXIT_TROUBLE,
				 "no requests were counted in this execution")
		       : failure(EXIT_TROUBLE, "cannot read the counts: %s",
				 err_text(error));
}

static int show_stats(const struct entry *entry, bool json)
{
	yyjson_mut_val *requests;
	yyjson_mut_doc *doc;
	int error;

	if (!json) {
		error = requests_print(&entry->execution);
		return error ? stats_failure(error) : 0;
	}
	doc = yyjson_mut_doc_new(NULL);
	error = requests_to_json(&entry->execution, doc, &requests);
	if (error) {
		yyjson_mut_doc_free(doc);
		return stats_failure(error);
	}
	yyjson_mut_doc_set_root(doc, requests);
	json_print(stdout, doc);
	return 0;
}

static int show(const struct entry *entry, bool json)
{
	if (entry->manifest_error) {
		warning("cannot read the manifest of '%s': %s",
			entry->execution.id, err_text(entry->manifest_error));
	}
	if (json) {
		yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

		yyjson_mut_doc_set_root(doc, entry_to_json(doc, entry));
		json_print(stdout, doc);
		return 0;
	}
	show_text(entry);
	return 0;
}

int verb_show(int argc, char **argv)
{
	struct verb_options options;
	struct entry entry;
	int code = verb_options_parse(&options, argc, argv,
				      VERB_TAKES_JSON | VERB_TAKES_STATS, 1, 1);

	if (!code) {
		int error =
			entry_open(&entry, options.scratch_dir, argv[optind]);

		if (error) {
			code = entry_failure(argv[optind], error);
		} else {
			code = (options.stats ? show_stats
					      : show)(&entry, options.json);
			entry_release(&entry);
		}
	}
	free(options.scratch_dir);
	return code;
}
