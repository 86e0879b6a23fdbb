/*
 * config_show.h - the configuration for a person, for a program, and the
 * schema of its file. Pure but for the stream.
 */
#ifndef SANDBOX_CONFIG_SHOW_H
#define SANDBOX_CONFIG_SHOW_H

#include <stdio.h>

struct config;

/* YAML that can be a configuration file, with the origin of each value as a
 * comment. */
void config_show_text(FILE *out, const struct config *config);
/* {"key": {"value": ..., "origin": "file", "file": ..., "line": ...}} */
void config_show_json(FILE *out, const struct config *config);
/* The JSON schema of a configuration file, from the table of keys. */
void config_show_schema(FILE *out);

#endif
