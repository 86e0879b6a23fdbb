/*
 * json.h - what every `--json` here needs of yyjson.
 *
 * Strings are bytes: what is not UTF-8 is written as it is.
 */
#ifndef SANDBOX_JSON_H
#define SANDBOX_JSON_H

#include <stdio.h>
#include <yyjson.h>

/* A copy of the text; NULL becomes null. */
void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
		   const char *value);

/* Prints the document and frees it. Ends the program where there is no memory
 * for it. */
void json_print(FILE *out, yyjson_mut_doc *doc);

#endif
