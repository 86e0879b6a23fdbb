#include "config_show.h"

#include <string.h>
#include <yyjson.h>

#include "config.h"
#include "failure.h"
#include "json.h"

static const char *const origin_names[] = {
	[CONFIG_FROM_DEFAULT] = "default",
	[CONFIG_FROM_FILE] = "file",
	[CONFIG_FROM_FLAG] = "flag",
	[CONFIG_FROM_CHECKOUT] = "checkout",
};

static bool is_list(enum config_type type)
{
	return type == CONFIG_PATHS || type == CONFIG_MOUNT ||
	       type == CONFIG_PATTERNS || type == CONFIG_VARIABLES;
}

/* ---------------------------------------------------------------- a person */

static void print_origin(FILE *out, enum config_origin origin, const char *file,
			 int line)
{
	if (file) {
		fprintf(out, "  # %s:%d\n", file, line);
	} else {
		fprintf(out, "  # %s\n", origin_names[origin]);
	}
}

/* Single-quoted where a plain scalar could mean something else. */
static void print_scalar(FILE *out, const char *text)
{
	bool plain = *text && !strpbrk(text, "'\"#{}[],&*?|<>=!%@`:~\n\\ ") &&
		     text[0] != '-';

	if (plain) {
		fputs(text, out);
		return;
	}
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'') {
			fputc('\'', out);
		}
		fputc(*text, out);
	}
	fputc('\'', out);
}

static void indent(FILE *out, int depth)
{
	fprintf(out, "%*s", 2 * depth, "");
}

static void print_item(FILE *out, enum config_type type,
		       const struct config_item *item, int depth)
{
	const char *equals = strchr(item->text, '=');

	indent(out, depth);
	if (type == CONFIG_VARIABLES) {
		fprintf(out, "%.*s: ", (int)(equals - item->text), item->text);
		print_scalar(out, equals + 1);
	} else if (type == CONFIG_MOUNT) {
		fputs("- {path: ", out);
		print_scalar(out, item->text);
		fprintf(out, ", access: %s}", item->write ? "write" : "read");
	} else {
		fputs("- ", out);
		print_scalar(out, item->text);
	}
	print_origin(out, item->origin, item->file, item->line);
}

static void print_value(FILE *out, enum config_key key,
			const struct config_value *value, int depth)
{
	const struct config_rule *rule = &config_rules[key];

	indent(out, depth);
	if (!is_list(rule->type)) {
		bool set = rule->type == CONFIG_BOOL || value->text;

		fprintf(out, "%s%s: ", set ? "" : "# ", config_rule_name(rule));
		if (rule->type == CONFIG_BOOL) {
			fputs(value->flag ? "true" : "false", out);
		} else {
			print_scalar(out, set ? value->text : "");
		}
		print_origin(out, value->origin, value->file, value->line);
		return;
	}
	if (value->n_items == 0) {
		fprintf(out, "# %s:  # default\n", config_rule_name(rule));
		return;
	}
	fprintf(out, "%s:\n", config_rule_name(rule));
	for (size_t i = 0; i < value->n_items; i++) {
		print_item(out, rule->type, &value->items[i], depth + 1);
	}
}

/* How many leading parts two paths share, at most all but the last. */
static size_t shared_length(const char *a, const char *b)
{
	size_t shared = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++) {
		if (a[i] == '.') {
			shared = i + 1;
		}
	}
	return shared;
}

static int depth_of(const char *path, size_t len)
{
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		depth += path[i] == '.';
	}
	return depth;
}

/* Whether anything below the map that `path` opens at `len` is set: else the
 * map would be null. */
static bool any_set(const struct config *config, const char *path, size_t len)
{
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct config_value *value = &config->values[i];

		if (strncmp(config_rules[i].path, path, len) == 0 &&
		    (config_rules[i].type == CONFIG_BOOL || value->text ||
		     value->n_items)) {
			return true;
		}
	}
	return false;
}

/* The lines of the maps around a key that the key before did not open. */
static void print_maps(FILE *out, const struct config *config, const char *path,
		       const char *before)
{
	size_t at = shared_length(path, before);

	while (strchr(path + at, '.')) {
		size_t len = strcspn(path + at, ".");

		indent(out, depth_of(path, at));
		fprintf(out, "%s%.*s:\n",
			any_set(config, path, at + len + 1) ? "" : "# ",
			(int)len, path + at);
		at += len + 1;
	}
}

void config_show_text(FILE *out, const struct config *config)
{
	const char *before = "";

	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct config_rule *rule = &config_rules[i];

		if (rule->type == CONFIG_NOT_YET) {
			continue;
		}
		print_maps(out, config, rule->path, before);
		print_value(out, (enum config_key)i, &config->values[i],
			    depth_of(rule->path, strlen(rule->path)));
		before = rule->path;
	}
}

/* --------------------------------------------------------------- a program */

static void add_origin(yyjson_mut_doc *doc, yyjson_mut_val *object,
		       enum config_origin origin, const char *file, int line)
{
	yyjson_mut_obj_add_str(doc, object, "origin", origin_names[origin]);
	if (file) {
		yyjson_mut_obj_add_str(doc, object, "file", file);
		yyjson_mut_obj_add_int(doc, object, "line", line);
	}
}

static void add_items(yyjson_mut_doc *doc, yyjson_mut_val *object,
		      enum config_type type, const struct config_value *value)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "value");

	for (size_t i = 0; i < value->n_items; i++) {
		const struct config_item *item = &value->items[i];
		yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);

		yyjson_mut_obj_add_str(doc, entry,
				       type == CONFIG_MOUNT ? "path" : "value",
				       item->text);
		if (type == CONFIG_MOUNT) {
			yyjson_mut_obj_add_str(doc, entry, "access",
					       item->write ? "write" : "read");
		}
		add_origin(doc, entry, item->origin, item->file, item->line);
	}
}

void config_show_json(FILE *out, const struct config *config)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);

	yyjson_mut_doc_set_root(doc, root);
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct config_rule *rule = &config_rules[i];
		const struct config_value *value = &config->values[i];
		yyjson_mut_val *object;

		if (rule->type == CONFIG_NOT_YET) {
			continue;
		}
		object = yyjson_mut_obj_add_obj(doc, root, rule->path);
		if (is_list(rule->type)) {
			add_items(doc, object, rule->type, value);
		} else if (rule->type == CONFIG_BOOL) {
			yyjson_mut_obj_add_bool(doc, object, "value",
						value->flag);
		} else if (value->text) {
			yyjson_mut_obj_add_str(doc, object, "value",
					       value->text);
		} else {
			yyjson_mut_obj_add_null(doc, object, "value");
		}
		add_origin(doc, object, value->origin, value->file,
			   value->line);
	}
	json_print(out, doc);
}

/* -------------------------------------------------------------- the schema */

static yyjson_mut_val *string_schema(yyjson_mut_doc *doc, const char *pattern)
{
	yyjson_mut_val *schema = yyjson_mut_obj(doc);

	yyjson_mut_obj_add_str(doc, schema, "type", "string");
	yyjson_mut_obj_add_str(doc, schema, "pattern", pattern);
	return schema;
}

static yyjson_mut_val *path_schema(yyjson_mut_doc *doc)
{
	return string_schema(doc, "^(/|~(/|$)|[$][{][A-Za-z0-9_]+(:-|[}]))");
}

static yyjson_mut_val *mount_schema(yyjson_mut_doc *doc)
{
	yyjson_mut_val *schema = yyjson_mut_obj(doc);
	yyjson_mut_val *properties;

	yyjson_mut_obj_add_str(doc, schema, "type", "object");
	yyjson_mut_obj_add_bool(doc, schema, "additionalProperties", false);
	yyjson_mut_arr_add_str(
		doc, yyjson_mut_obj_add_arr(doc, schema, "required"), "path");
	properties = yyjson_mut_obj_add_obj(doc, schema, "properties");
	yyjson_mut_obj_add_val(doc, properties, "path", path_schema(doc));
	yyjson_mut_obj_add_val(doc, properties, "access",
			       string_schema(doc, "^(read|write)$"));
	return schema;
}

static void add_list_schema(yyjson_mut_doc *doc, yyjson_mut_val *schema,
			    yyjson_mut_val *items)
{
	yyjson_mut_obj_add_str(doc, schema, "type", "array");
	yyjson_mut_obj_add_val(doc, schema, "items", items);
}

static void add_number_schema(yyjson_mut_doc *doc, yyjson_mut_val *schema,
			      const struct config_rule *rule)
{
	/* 512 without a unit is a number to YAML. */
	yyjson_mut_val *types = yyjson_mut_obj_add_arr(doc, schema, "type");

	yyjson_mut_arr_add_str(doc, types, "string");
	yyjson_mut_arr_add_str(doc, types, "number");
	yyjson_mut_obj_add_str(doc, schema, "pattern", rule->pattern);
	yyjson_mut_obj_add_int(doc, schema, "minimum", 0);
}

static yyjson_mut_val *rule_schema(yyjson_mut_doc *doc,
				   const struct config_rule *rule)
{
	yyjson_mut_val *schema = yyjson_mut_obj(doc);

	yyjson_mut_obj_add_str(doc, schema, "description", rule->what);
	switch (rule->type) {
	case CONFIG_BOOL:
		yyjson_mut_obj_add_str(doc, schema, "type", "boolean");
		break;
	case CONFIG_PATH:
		yyjson_mut_obj_add_str(doc, schema, "type", "string");
		break;
	case CONFIG_NUMBER:
		add_number_schema(doc, schema, rule);
		break;
	case CONFIG_PATHS:
		add_list_schema(doc, schema, path_schema(doc));
		break;
	case CONFIG_MOUNT:
		add_list_schema(doc, schema, mount_schema(doc));
		break;
	case CONFIG_PATTERNS:
		add_list_schema(doc, schema, string_schema(doc, "^[^=/ ]+$"));
		break;
	case CONFIG_VARIABLES:
		yyjson_mut_obj_add_str(doc, schema, "type", "object");
		yyjson_mut_obj_add_val(
			doc, schema, "propertyNames",
			string_schema(doc, "^[A-Za-z_][A-Za-z0-9_]*$"));
		break;
	case CONFIG_NOT_YET:
		break;
	}
	return schema;
}

/* The "properties" that the key `path` stands in; made where they are not. */
static yyjson_mut_val *properties_of(yyjson_mut_doc *doc, yyjson_mut_val *root,
				     const char *path)
{
	yyjson_mut_val *properties = yyjson_mut_obj_get(root, "properties");

	for (const char *dot; (dot = strchr(path, '.')) != NULL;
	     path = dot + 1) {
		size_t len = (size_t)(dot - path);
		yyjson_mut_val *map =
			yyjson_mut_obj_getn(properties, path, len);

		if (!map) {
			map = yyjson_mut_obj(doc);
			yyjson_mut_obj_add(properties,
					   yyjson_mut_strncpy(doc, path, len),
					   map);
			yyjson_mut_obj_add_str(doc, map, "type", "object");
			yyjson_mut_obj_add_bool(doc, map,
						"additionalProperties", false);
			yyjson_mut_obj_add_obj(doc, map, "properties");
		}
		properties = yyjson_mut_obj_get(map, "properties");
	}
	return properties;
}

void config_show_schema(FILE *out)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_str(doc, root, "$schema",
			       "https://json-schema.org/draft/2020-12/schema");
	yyjson_mut_obj_add_str(doc, root, "title", "legato config.yaml");
	yyjson_mut_obj_add_str(doc, root, "type", "object");
	yyjson_mut_obj_add_bool(doc, root, "additionalProperties", false);
	yyjson_mut_obj_add_obj(doc, root, "properties");
	for (size_t i = 0; i < CONFIG_COUNT; i++) {
		const struct config_rule *rule = &config_rules[i];

		if (rule->type != CONFIG_NOT_YET) {
			yyjson_mut_obj_add_val(
				doc, properties_of(doc, root, rule->path),
				config_rule_name(rule), rule_schema(doc, rule));
		}
	}
	json_print(out, doc);
}
