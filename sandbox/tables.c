#include "tables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "err.h"
#include "expand.h"
#include "failure.h"
#include "fdio.h"
#include "programs.h"
#include "sys.h"
#include "yaml.h"

static const char *const kind_names[] = {
	[SEEN_SYSTEM] = "system",
	[SEEN_AGENT] = "agent",
	[SEEN_TOOLCHAIN] = "toolchain",
	[SEEN_CACHE] = "cache",
};

static void seen_release(struct seen_entry *entry)
{
	free(entry->name);
	strv_release(&entry->read);
	strv_release(&entry->write);
}

static void hidden_release(struct hidden_rule *rule)
{
	free(rule->name);
	free(rule->why);
	strv_release(&rule->paths);
	strv_release(&rule->except);
}

void tables_release(struct tables *tables)
{
	for (size_t i = 0; i < tables->n_seen; i++) {
		seen_release(&tables->seen[i]);
	}
	for (size_t i = 0; i < tables->n_hidden; i++) {
		hidden_release(&tables->hidden[i]);
	}
	free(tables->seen);
	free(tables->hidden);
	*tables = (struct tables){0};
}

struct hidden_rule *tables_add_hidden(struct tables *tables, const char *name,
				      const char *why)
{
	struct hidden_rule *rules = reallocarray(
		tables->hidden, tables->n_hidden + 1, sizeof(*rules));

	die_if_no_memory(!rules);
	tables->hidden = rules;
	rules[tables->n_hidden] = (struct hidden_rule){
		.name = text_copy(name),
		.why = text_copy(why),
	};
	return &rules[tables->n_hidden++];
}

/* ------------------------------------------------------------------ reading */

static int read_paths(const struct yaml *yaml, struct fy_node *node,
		      const char *what, struct strv *paths)
{
	struct fy_node *item;
	void *at = NULL;
	int code = yaml_check_list(yaml, node, what);

	while (!code && yaml_next_item(node, &at, &item)) {
		const char *text;

		code = yaml_text(yaml, item, what, &text);
		if (!code && !expand_valid(text)) {
			code = yaml_failure(yaml, item, "'%s' is no path",
					    text);
		} else if (!code) {
			strv_add(paths, text);
		}
	}
	return code;
}

static int read_copy(const struct yaml *yaml, struct fy_node *node,
		     const char *what, char **ret_text)
{
	const char *text;
	int code = yaml_text(yaml, node, what, &text);

	if (!code) {
		free(*ret_text);
		*ret_text = text_copy(text);
	}
	return code;
}

static int read_kind(const struct yaml *yaml, struct fy_node *node,
		     enum seen_kind *ret_kind)
{
	const char *text;
	int code = yaml_text(yaml, node, "kind", &text);

	for (size_t i = 0; !code && i < ARRAY_SIZE(kind_names); i++) {
		if (strcmp(text, kind_names[i]) == 0) {
			*ret_kind = (enum seen_kind)i;
			return 0;
		}
	}
	return code ? code : yaml_failure(yaml, node, "no kind '%s'", text);
}

static int read_seen(const struct yaml *yaml, const char *key,
		     struct fy_node *node, void *to)
{
	struct seen_entry *entry = to;
	char *what = NULL;
	int code;

	if (strcmp(key, "name") == 0) {
		return read_copy(yaml, node, key, &entry->name);
	}
	if (strcmp(key, "kind") == 0) {
		return read_kind(yaml, node, &entry->kind);
	}
	if (strcmp(key, "read") == 0) {
		return read_paths(yaml, node, key, &entry->read);
	}
	if (strcmp(key, "write") == 0) {
		return read_paths(yaml, node, key, &entry->write);
	}
	if (strcmp(key, "what") == 0) {
		code = read_copy(yaml, node, key, &what);
		free(what);
		return code;
	}
	return yaml_failure(yaml, node, "unknown key '%s'", key);
}

static int read_hidden(const struct yaml *yaml, const char *key,
		       struct fy_node *node, void *to)
{
	struct hidden_rule *rule = to;

	if (strcmp(key, "name") == 0) {
		return read_copy(yaml, node, key, &rule->name);
	}
	if (strcmp(key, "why") == 0) {
		return read_copy(yaml, node, key, &rule->why);
	}
	if (strcmp(key, "paths") == 0) {
		return read_paths(yaml, node, key, &rule->paths);
	}
	if (strcmp(key, "except") == 0) {
		return read_paths(yaml, node, key, &rule->except);
	}
	if (strcmp(key, "asked") == 0) {
		return yaml_bool(yaml, node, key, &rule->asked);
	}
	return yaml_failure(yaml, node, "unknown key '%s'", key);
}

typedef int (*read_key_fn)(const struct yaml *yaml, const char *key,
			   struct fy_node *node, void *to);

/* One map of the list, key by key. */
static int read_entry(const struct yaml *yaml, struct fy_node *map,
		      read_key_fn read_key, void *to)
{
	struct fy_node *key_node;
	struct fy_node *node;
	void *at = NULL;
	int code = yaml_check_map(yaml, map, "an entry");

	while (!code && yaml_next_pair(map, &at, &key_node, &node)) {
		const char *key;

		code = yaml_text(yaml, key_node, "a key", &key);
		code = code ? code : read_key(yaml, key, node, to);
	}
	return code;
}

static int read_seen_table(struct tables *tables, const struct yaml *yaml)
{
	struct fy_node *item;
	void *at = NULL;
	int code = yaml_check_list(yaml, yaml->root, "the table");

	while (!code && yaml_next_item(yaml->root, &at, &item)) {
		struct seen_entry *list = reallocarray(
			tables->seen, tables->n_seen + 1, sizeof(*list));

		die_if_no_memory(!list);
		tables->seen = list;
		list[tables->n_seen] = (struct seen_entry){0};
		code = read_entry(yaml, item, read_seen,
				  &list[tables->n_seen++]);
		if (!code && !list[tables->n_seen - 1].name) {
			code = yaml_failure(yaml, item,
					    "an entry needs a name");
		}
	}
	return code;
}

static int read_hidden_table(struct tables *tables, const struct yaml *yaml)
{
	struct fy_node *item;
	void *at = NULL;
	int code = yaml_check_list(yaml, yaml->root, "the table");

	while (!code && yaml_next_item(yaml->root, &at, &item)) {
		struct hidden_rule *rule = tables_add_hidden(tables, "", "");

		code = read_entry(yaml, item, read_hidden, rule);
		if (!code && !*rule->name) {
			code = yaml_failure(yaml, item, "a rule needs a name");
		}
	}
	return code;
}

static int load(struct tables *tables, const char *folder, const char *file,
		int (*read)(struct tables *tables, const struct yaml *yaml))
{
	AUTO_FREE char *path = text_format("%s/%s", folder, file);
	AUTO_FD fd = sys_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	AUTO_BUF text = BUF_INIT;
	struct yaml yaml;
	int error = fd < 0 ? fd : fdio_read_all(fd, &text, YAML_BYTES_MAX);
	int code;

	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot read '%s': %s", path,
			       err_text(error));
	}
	code = yaml_parse(&yaml, path, text.data, text.len);
	code = code ? code : read(tables, &yaml);
	yaml_release(&yaml);
	return code;
}

int tables_load(struct tables *ret_tables, const char *folder)
{
	AUTO_FREE char *installed = folder ? NULL : programs_data_folder();
	int code;

	*ret_tables = (struct tables){0};
	folder = folder ? folder : installed;
	code = load(ret_tables, folder, "hidden.yaml", read_hidden_table);
	return code ? code
		    : load(ret_tables, folder, "seen.yaml", read_seen_table);
}
