#include "yaml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <libfyaml.h>

#include "failure.h"

static struct fy_parse_cfg quiet_config(struct fy_diag *diag)
{
	return (struct fy_parse_cfg){
		.flags = FYPCF_QUIET | FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE,
		.diag = diag,
	};
}

/* The first thing that the parser did not like. */
static int report_syntax(const char *path, struct fy_diag *diag)
{
	void *at = NULL;
	struct fy_diag_error *error = fy_diag_errors_iterate(diag, &at);

	if (!error || !error->msg) {
		return failure(EXIT_NOT_SET_UP, "%s:1: no valid YAML", path);
	}
	return failure(EXIT_NOT_SET_UP, "%s:%d: %s", path, error->line,
		       error->msg);
}

/* Aliases would make a short text a long one; tags mean other types. */
static int check_plain(const struct yaml *yaml, struct fy_node *node)
{
	struct fy_node *key;
	struct fy_node *value;
	void *at = NULL;
	size_t len;
	int code = 0;

	if (!node) {
		return 0;
	}
	if (fy_node_is_alias(node) || fy_node_get_tag(node, &len)) {
		return yaml_failure(yaml, node,
				    "aliases and tags are not allowed");
	}
	while (!code && yaml_is_map(node) &&
	       yaml_next_pair(node, &at, &key, &value)) {
		code = check_plain(yaml, key);
		code = code ? code : check_plain(yaml, value);
	}
	while (!code && yaml_is_list(node) &&
	       yaml_next_item(node, &at, &value)) {
		code = check_plain(yaml, value);
	}
	return code;
}

static bool is_null(struct fy_node *node)
{
	const char *text = fy_node_get_scalar0(node);

	return fy_node_get_style(node) == FYNS_PLAIN &&
	       (!text || !*text || strcmp(text, "null") == 0 ||
		strcmp(text, "~") == 0);
}

/* An empty file, or one with comments alone, is no document to libfyaml. */
static bool says_nothing(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		if (*text == '#') {
			const char *newline =
				memchr(text, '\n', (size_t)(end - text));

			text = newline ? newline : end;
		} else if (!strchr(" \n\r", *text)) {
			return false;
		} else {
			text++;
		}
	}
	return true;
}

int yaml_parse(struct yaml *ret_yaml, const char *path, const char *text,
	       size_t len)
{
	const struct fy_diag_cfg diag_config = {.level = FYET_ERROR};
	struct fy_parse_cfg config;
	struct fy_diag *diag;
	int code = 0;

	*ret_yaml = (struct yaml){0};
	if (len > YAML_BYTES_MAX) {
		return failure(EXIT_NOT_SET_UP, "%s:1: larger than %d bytes",
			       path, YAML_BYTES_MAX);
	}
	if (memchr(text, '\0', len)) {
		return failure(EXIT_NOT_SET_UP, "%s:1: a NUL byte in it", path);
	}
	if (says_nothing(text, len)) {
		return 0;
	}
	diag = fy_diag_create(&diag_config);
	die_if_no_memory(!diag);
	fy_diag_set_collect_errors(diag, true);
	config = quiet_config(diag);
	ret_yaml->path = text_copy(path);
	ret_yaml->document = fy_document_build_from_string(&config, text, len);
	if (ret_yaml->document) {
		ret_yaml->root = fy_document_root(ret_yaml->document);
		if (ret_yaml->root && is_null(ret_yaml->root)) {
			ret_yaml->root = NULL;
		}
		code = check_plain(ret_yaml, ret_yaml->root);
	} else {
		code = report_syntax(path, diag);
	}
	fy_diag_destroy(diag);
	return code;
}

void yaml_release(struct yaml *yaml)
{
	fy_document_destroy(yaml->document);
	free(yaml->path);
	*yaml = (struct yaml){0};
}

/* What has no place of its own (nothing, {} and []) stands where its key
 * does. */
static int line_of_empty(struct fy_node *node)
{
	struct fy_node *parent = node ? fy_node_get_parent(node) : NULL;
	struct fy_node *key;
	struct fy_node *value;
	void *at = NULL;

	while (parent && yaml_is_map(parent) &&
	       yaml_next_pair(parent, &at, &key, &value)) {
		if (value == node) {
			return yaml_line(key);
		}
	}
	return 1;
}

/* A map or a list is where the first scalar in it is. */
int yaml_line(struct fy_node *node)
{
	struct fy_node *key;
	struct fy_node *value;
	const struct fy_mark *mark;
	struct fy_token *token;
	void *at = NULL;

	if (node && yaml_is_map(node) &&
	    yaml_next_pair(node, &at, &key, &value)) {
		return yaml_line(key);
	}
	if (node && yaml_is_list(node) && yaml_next_item(node, &at, &value)) {
		return yaml_line(value);
	}
	token = node ? fy_node_get_scalar_token(node) : NULL;
	mark = token ? fy_token_start_mark(token) : NULL;
	return mark ? mark->line + 1 : line_of_empty(node);
}

int yaml_failure(const struct yaml *yaml, struct fy_node *at,
		 const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0) {
		text = NULL;
		die_no_memory();
	}
	return failure(EXIT_NOT_SET_UP, "%s:%d: %s", yaml->path, yaml_line(at),
		       text);
}

bool yaml_is_map(struct fy_node *node)
{
	return fy_node_get_type(node) == FYNT_MAPPING;
}

bool yaml_is_list(struct fy_node *node)
{
	return fy_node_get_type(node) == FYNT_SEQUENCE;
}

int yaml_check_map(const struct yaml *yaml, struct fy_node *node,
		   const char *what)
{
	return node && yaml_is_map(node)
		       ? 0
		       : yaml_failure(yaml, node, "'%s' must be a map", what);
}

int yaml_check_list(const struct yaml *yaml, struct fy_node *node,
		    const char *what)
{
	return node && yaml_is_list(node)
		       ? 0
		       : yaml_failure(yaml, node, "'%s' must be a list", what);
}

int yaml_text(const struct yaml *yaml, struct fy_node *node, const char *what,
	      const char **ret_text)
{
	const char *text = NULL;

	if (node && fy_node_get_type(node) == FYNT_SCALAR && !is_null(node)) {
		text = fy_node_get_scalar0(node);
	}
	/* "\0" is a NUL to YAML. */
	if (text) {
		size_t len = 0;

		fy_node_get_scalar(node, &len);
		text = strlen(text) == len ? text : NULL;
	}
	if (!text || !*text) {
		return yaml_failure(yaml, node, "'%s' must be a text", what);
	}
	*ret_text = text;
	return 0;
}

int yaml_bool(const struct yaml *yaml, struct fy_node *node, const char *what,
	      bool *ret_value)
{
	const char *text = NULL;

	if (node && fy_node_get_type(node) == FYNT_SCALAR &&
	    fy_node_get_style(node) == FYNS_PLAIN) {
		text = fy_node_get_scalar0(node);
	}
	if (!text ||
	    (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)) {
		return yaml_failure(yaml, node, "'%s' must be true or false",
				    what);
	}
	*ret_value = text[0] == 't';
	return 0;
}

bool yaml_next_pair(struct fy_node *map, void **at, struct fy_node **ret_key,
		    struct fy_node **ret_value)
{
	struct fy_node_pair *pair = fy_node_mapping_iterate(map, at);

	if (!pair) {
		return false;
	}
	*ret_key = fy_node_pair_key(pair);
	*ret_value = fy_node_pair_value(pair);
	return true;
}

bool yaml_next_item(struct fy_node *list, void **at, struct fy_node **ret_item)
{
	*ret_item = fy_node_sequence_iterate(list, at);
	return *ret_item != NULL;
}
