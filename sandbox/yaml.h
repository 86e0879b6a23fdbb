/*
 * yaml.h - YAML files with the position of every value, for refusals that say
 * where: "config.yaml:12: unknown key 'mount', did you mean 'mounts'?".
 *
 * What is read may be a checkout's, so by anybody: a file has at most
 * YAML_BYTES_MAX bytes, and aliases and tags, with which a short text can mean
 * a long one or something else, are refused. A key that stands twice is an
 * error. libfyaml (<libfyaml.h> is included in yaml.c only) does the rest.
 *
 * Calling sequence: yaml_parse, walk from yaml->root, yaml_release. Nodes and
 * texts are the document's. Functions that print return EXIT_NOT_SET_UP
 * (failure.h). Threads: one.
 */
#ifndef SANDBOX_YAML_H
#define SANDBOX_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"

#define YAML_BYTES_MAX (256 * 1024)

struct fy_document;
struct fy_node;

struct yaml {
	char *path;           /* for messages */
	struct fy_node *root; /* NULL: the file is empty */
	/* private */
	struct fy_document *document;
};

/* `text` must live as long as the document. */
int yaml_parse(struct yaml *ret_yaml, const char *path, const char *text,
	       size_t len) MUST_CHECK;
void yaml_release(struct yaml *yaml);

/* Prints "path:line: reason" and returns EXIT_NOT_SET_UP. */
int yaml_failure(const struct yaml *yaml, struct fy_node *at,
		 const char *format, ...) PRINTF_LIKE(3, 4);

/* Counted from 1. */
int yaml_line(struct fy_node *node);

bool yaml_is_map(struct fy_node *node);
bool yaml_is_list(struct fy_node *node);

/* Checks that a node is a map, or a list; `what` is its name in the line. */
int yaml_check_map(const struct yaml *yaml, struct fy_node *node,
		   const char *what) MUST_CHECK;
int yaml_check_list(const struct yaml *yaml, struct fy_node *node,
		    const char *what) MUST_CHECK;

/* The text of a scalar that is not empty. Numbers are texts as they stand. */
int yaml_text(const struct yaml *yaml, struct fy_node *node, const char *what,
	      const char **ret_text) MUST_CHECK;
/* true or false, unquoted. */
int yaml_bool(const struct yaml *yaml, struct fy_node *node, const char *what,
	      bool *ret_value) MUST_CHECK;

/* Each pair, each item: start with *at NULL; false at the end. */
bool yaml_next_pair(struct fy_node *map, void **at, struct fy_node **ret_key,
		    struct fy_node **ret_value);
bool yaml_next_item(struct fy_node *list, void **at, struct fy_node **ret_item);

#endif
