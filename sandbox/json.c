#include "json.h"

#include "compiler.h"
#include "failure.h"

void json_add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
		   const char *value)
{
	if (value) {
		yyjson_mut_obj_add_strcpy(doc, object, key, value);
	} else {
		yyjson_mut_obj_add_null(doc, object, key);
	}
}

void json_print(FILE *out, yyjson_mut_doc *doc)
{
	AUTO_FREE char *text = yyjson_mut_write(
		doc, YYJSON_WRITE_PRETTY | YYJSON_WRITE_ALLOW_INVALID_UNICODE,
		NULL);

	die_if_no_memory(!text);
	fprintf(out, "%s\n", text);
	yyjson_mut_doc_free(doc);
}
