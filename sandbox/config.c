#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "err.h"
#include "expand.h"
#include "failure.h"
#include "fdio.h"
#include "hint.h"
#include "sys.h"
#include "yaml.h"

#define VARIABLE_CHARS                                                         \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* One file while it is read. */
struct reader {
	struct config *config;
	const struct yaml *yaml;
	const char *file;
	enum config_origin origin;
};

void config_init(struct config *config)
{
	*config = (struct config){0};
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const char *initial = config_rules[i].initial;

		if (config_rules[i].type == CONFIG_BOOL) {
			config->values[i].flag = strcmp(initial, "true") == 0;
		} else if (initial) {
			config->values[i].text = text_copy(initial);
		}
	}
}

void config_release(struct config *config)
{
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		struct config_value *value = &config->values[i];

		free(value->text);
		for (size_t j = 0; j < value->n_items; j++) {
			free(value->items[j].text);
		}
		free(value->items);
	}
	strv_release(&config->files);
	*config = (struct config){0};
}

/* ------------------------------------------------------------ one value */

/* NULL, or what is wrong with `text`. */
static const char *complaint(const struct config_rule *rule, const char *text)
{
	uint64_t number;

	switch (rule->type) {
	case CONFIG_PATH:
	case CONFIG_PATHS:
	case CONFIG_MOUNT:
		return expand_valid(text) ? NULL
					  : "a path starts with '/', '~/' or "
					    "'${NAME:-PATH}', and has no '..'";
	case CONFIG_PATTERNS:
		return strpbrk(text, "=/ ") ? "a pattern is a variable's name, "
					      "with *, ? and [] in it"
					    : NULL;
	case CONFIG_VARIABLES: {
		size_t len = strspn(text, VARIABLE_CHARS);

		return len > 0 && text[len] == '=' &&
				       !strchr("0123456789", *text)
			       ? NULL
			       : "a variable's name has letters, digits and _";
	}
	case CONFIG_NUMBER:
		return rule->number(text, &number) ? NULL : rule->form;
	case CONFIG_BOOL:
	case CONFIG_NOT_YET:
		break;
	}
	return NULL;
}

/* Whether a value from there changes one that stands: flags may be set before
 * the file is read. */
static bool overrides(const struct reader *reader,
		      const struct config_value *value)
{
	return reader->origin >= value->origin;
}

/* Whether the checkout's value is tighter than what there is. */
static bool tightens(const struct config_rule *rule,
		     const struct config_value *value, const char *text)
{
	uint64_t ours;
	uint64_t theirs;

	if (!value->text || !rule->number(value->text, &ours) ||
	    !rule->number(text, &theirs)) {
		return true;
	}
	return rule->tightens == CONFIG_LOWER ? theirs < ours : theirs > ours;
}

static void mark(struct config_value *value, const struct reader *reader,
		 int line)
{
	value->origin = reader->origin;
	value->file = reader->file;
	value->line = line;
}

static void set_text(const struct reader *reader, enum config_key key,
		     const char *text, int line)
{
	struct config_value *value = &reader->config->values[key];

	if (!overrides(reader, value) ||
	    (reader->origin == CONFIG_FROM_CHECKOUT &&
	     !tightens(&config_rules[key], value, text))) {
		return;
	}
	free(value->text);
	value->text = text_copy(text);
	mark(value, reader, line);
}

static void add_item(const struct reader *reader, enum config_key key,
		     const char *text, bool write, int line)
{
	struct config_value *value = &reader->config->values[key];
	struct config_item *items =
		reallocarray(value->items, value->n_items + 1, sizeof(*items));

	die_if_no_memory(!items);
	value->items = items;
	value->items[value->n_items++] = (struct config_item){
		.text = text_copy(text),
		.write = write,
		.origin = reader->origin,
		.file = reader->file,
		.line = line,
	};
	mark(value, reader, line);
}

/* --------------------------------------------------------------- a file */

static int read_text(const struct reader *reader, enum config_key key,
		     struct fy_node *node)
{
	const struct config_rule *rule = &config_rules[key];
	const char *text;
	const char *wrong;
	int code = yaml_text(reader->yaml, node, rule->path, &text);

	if (code) {
		return code;
	}
	wrong = complaint(rule, text);
	if (wrong) {
		return yaml_failure(reader->yaml, node, "'%s': %s, not '%s'",
				    rule->path, wrong, text);
	}
	set_text(reader, key, text, yaml_line(node));
	return 0;
}

static int read_bool(const struct reader *reader, enum config_key key,
		     struct fy_node *node)
{
	const struct config_rule *rule = &config_rules[key];
	struct config_value *value = &reader->config->values[key];
	bool flag;
	int code = yaml_bool(reader->yaml, node, rule->path, &flag);

	if (code) {
		return code;
	}
	if (flag && reader->origin == CONFIG_FROM_CHECKOUT) {
		return yaml_failure(reader->yaml, node,
				    "'%s': a checkout can only say false",
				    rule->path);
	}
	if (overrides(reader, value)) {
		value->flag = flag;
		mark(value, reader, yaml_line(node));
	}
	return 0;
}

static int read_mount(const struct reader *reader, struct fy_node *node)
{
	struct fy_node *key;
	struct fy_node *value;
	void *at = NULL;
	const char *path = NULL;
	const char *access = "read";
	int code = yaml_check_map(reader->yaml, node, "a mount");

	while (!code && yaml_next_pair(node, &at, &key, &value)) {
		const char *name;

		code = yaml_text(reader->yaml, key, "a key", &name);
		if (!code && strcmp(name, "path") == 0) {
			code = yaml_text(reader->yaml, value, name, &path);
		} else if (!code && strcmp(name, "access") == 0) {
			code = yaml_text(reader->yaml, value, name, &access);
		} else if (!code) {
			code = yaml_failure(reader->yaml, key,
					    "unknown key '%s': a mount has "
					    "path and access",
					    name);
		}
	}
	if (code) {
		return code;
	}
	if (!path) {
		return yaml_failure(reader->yaml, node, "a mount needs a path");
	}
	if (strcmp(access, "read") != 0 && strcmp(access, "write") != 0) {
		return yaml_failure(reader->yaml, node,
				    "access is read or write, not '%s'",
				    access);
	}
	if (!expand_valid(path)) {
		return yaml_failure(
			reader->yaml, node, "'path': %s, not '%s'",
			complaint(&config_rules[CONFIG_MOUNTS], path), path);
	}
	add_item(reader, CONFIG_MOUNTS, path, access[0] == 'w',
		 yaml_line(node));
	return 0;
}

static int read_list(const struct reader *reader, enum config_key key,
		     struct fy_node *node)
{
	const struct config_rule *rule = &config_rules[key];
	struct fy_node *item;
	void *at = NULL;
	int code = yaml_check_list(reader->yaml, node, rule->path);

	while (!code && yaml_next_item(node, &at, &item)) {
		const char *text;
		const char *wrong;

		if (rule->type == CONFIG_MOUNT) {
			code = read_mount(reader, item);
			continue;
		}
		code = yaml_text(reader->yaml, item, rule->path, &text);
		wrong = code ? NULL : complaint(rule, text);
		if (wrong) {
			return yaml_failure(reader->yaml, item,
					    "'%s': %s, not '%s'", rule->path,
					    wrong, text);
		}
		if (!code) {
			add_item(reader, key, text, false, yaml_line(item));
		}
	}
	return code;
}

static int read_variables(const struct reader *reader, enum config_key key,
			  struct fy_node *node)
{
	const struct config_rule *rule = &config_rules[key];
	struct fy_node *name_node;
	struct fy_node *node_value;
	void *at = NULL;
	int code = yaml_check_map(reader->yaml, node, rule->path);

	while (!code && yaml_next_pair(node, &at, &name_node, &node_value)) {
		AUTO_FREE char *variable = NULL;
		const char *name;
		const char *text;

		code = yaml_text(reader->yaml, name_node, rule->path, &name);
		code = code ? code
			    : yaml_text(reader->yaml, node_value, name, &text);
		if (code) {
			return code;
		}
		variable = text_format("%s=%s", name, text);
		if (complaint(rule, variable)) {
			return yaml_failure(reader->yaml, name_node,
					    "'%s': %s, not '%s'", rule->path,
					    complaint(rule, variable), name);
		}
		add_item(reader, key, variable, false, yaml_line(name_node));
	}
	return code;
}

static int read_value(const struct reader *reader, enum config_key key,
		      struct fy_node *key_node, struct fy_node *node)
{
	const struct config_rule *rule = &config_rules[key];

	if (reader->origin == CONFIG_FROM_CHECKOUT &&
	    rule->tightens == CONFIG_NEVER) {
		return yaml_failure(reader->yaml, key_node,
				    "'%s' cannot be set by a checkout",
				    rule->path);
	}
	switch (rule->type) {
	case CONFIG_BOOL:
		return read_bool(reader, key, node);
	case CONFIG_PATH:
	case CONFIG_NUMBER:
		return read_text(reader, key, node);
	case CONFIG_PATHS:
	case CONFIG_MOUNT:
	case CONFIG_PATTERNS:
		return read_list(reader, key, node);
	case CONFIG_VARIABLES:
		return read_variables(reader, key, node);
	case CONFIG_NOT_YET:
		break;
	}
	return yaml_failure(reader->yaml, key_node, "'%s' is not built yet",
			    rule->path);
}

/* The names that may stand below `prefix` ("" or "agents."), each once. */
static void names_below(const char *prefix, struct strv *names)
{
	size_t len = strlen(prefix);

	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const char *path = config_rules[i].path;

		if (strncmp(path, prefix, len) == 0) {
			strv_addf(names, "%.*s", (int)strcspn(path + len, "."),
				  path + len);
		}
	}
}

static int unknown_key(const struct reader *reader, struct fy_node *key_node,
		       const char *prefix, const char *name)
{
	AUTO_STRV names = {0};
	const char *near;

	names_below(prefix, &names);
	near = hint_nearest(name, &names);
	return near ? yaml_failure(reader->yaml, key_node,
				   "unknown key '%s%s', did you mean '%s'?",
				   prefix, name, near)
		    : yaml_failure(reader->yaml, key_node, "unknown key '%s%s'",
				   prefix, name);
}

static int read_map(const struct reader *reader, struct fy_node *map,
		    const char *prefix)
{
	struct fy_node *key_node;
	struct fy_node *node;
	void *at = NULL;
	int code = yaml_check_map(reader->yaml, map,
				  *prefix ? prefix : "the configuration");

	while (!code && yaml_next_pair(map, &at, &key_node, &node)) {
		AUTO_FREE char *path = NULL;
		AUTO_FREE char *below = NULL;
		AUTO_STRV deeper = {0};
		const char *name;
		size_t i = 0;

		code = yaml_text(reader->yaml, key_node, "a key", &name);
		if (code) {
			return code;
		}
		path = text_format("%s%s", prefix, name);
		below = text_format("%s.", path);
		names_below(below, &deeper);
		while (i < CONFIG_COUNT &&
		       strcmp(config_rules[i].path, path) != 0) {
			i++;
		}
		if (strchr(name, '.')) {
			code = unknown_key(reader, key_node, prefix, name);
		} else if (i < CONFIG_COUNT) {
			code = read_value(reader, (enum config_key)i, key_node,
					  node);
		} else if (deeper.count > 0) {
			code = read_map(reader, node, below);
		} else {
			code = unknown_key(reader, key_node, prefix, name);
		}
	}
	return code;
}

int config_parse(struct config *config, const char *path, const char *text,
		 size_t len, enum config_origin origin)
{
	struct yaml yaml;
	int code = yaml_parse(&yaml, path, text, len);
	struct reader reader = {
		.config = config,
		.yaml = &yaml,
		.origin = origin,
	};

	if (!code && yaml.root) {
		strv_add(&config->files, path);
		reader.file = config->files.list[config->files.count - 1];
		code = read_map(&reader, yaml.root, "");
	}
	yaml_release(&yaml);
	return code;
}

/* ---------------------------------------------------------- finding files */

char *config_default_path(const char *home)
{
	const char *folder = getenv("XDG_CONFIG_HOME");

	return folder && folder[0] == '/'
		       ? text_format("%s/legato/config.yaml", folder)
		       : text_format("%s/.config/legato/config.yaml", home);
}

/* `flags` for the open. -ENOENT, -ELOOP, -EFBIG, ... */
static int read_file(const char *path, int flags, struct buf *text)
{
	/* A FIFO must not hold the launcher up. */
	AUTO_FD fd = sys_openat(AT_FDCWD, path,
				O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags, 0);
	struct stat st;
	int error;

	if (fd < 0) {
		return fd;
	}
	error = sys_fstat(fd, &st);
	if (!error && !S_ISREG(st.st_mode)) {
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	return error ? error : fdio_read_all(fd, text, YAML_BYTES_MAX + 1);
}

static int load(struct config *config, const char *path, int flags,
		bool must_exist, enum config_origin origin)
{
	AUTO_BUF text = BUF_INIT;
	int error = read_file(path, flags, &text);

	if (error == -ENOENT && !must_exist) {
		return 0;
	}
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot read the configuration '%s': %s", path,
			       err_text(error));
	}
	return config_parse(config, path, text.data, text.len, origin);
}

int config_load_file(struct config *config, const char *option,
		     const char *home)
{
	AUTO_FREE char *path =
		option ? text_copy(option) : config_default_path(home);

	return load(config, path, 0, option != NULL, CONFIG_FROM_FILE);
}

int config_load_checkout(struct config *config, const char *checkout)
{
	AUTO_FREE char *path =
		text_format("%s/" CONFIG_CHECKOUT_FILE, checkout);

	/* A link could name any file, whose lines a refusal would quote. */
	return load(config, path, O_NOFOLLOW, false, CONFIG_FROM_CHECKOUT);
}

/* ---------------------------------------------------------------- flags */

int config_set_flag(struct config *config, enum config_key key,
		    const char *flag, const char *text, bool write)
{
	const struct config_rule *rule = &config_rules[key];
	const struct reader reader = {
		.config = config,
		.origin = CONFIG_FROM_FLAG,
	};
	const char *wrong = complaint(rule, text);

	if (rule->type == CONFIG_BOOL && strcmp(text, "true") != 0 &&
	    strcmp(text, "false") != 0) {
		wrong = "it is true or false";
	}
	if (wrong) {
		return failure(EXIT_USAGE, "bad value of '%s': %s, not '%s'",
			       flag, wrong, text);
	}
	if (rule->type == CONFIG_BOOL) {
		config->values[key].flag = text[0] == 't';
		mark(&config->values[key], &reader, 0);
	} else if (rule->type == CONFIG_PATH || rule->type == CONFIG_NUMBER) {
		set_text(&reader, key, text, 0);
	} else {
		add_item(&reader, key, text, write, 0);
	}
	return 0;
}
