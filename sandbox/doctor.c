#include "doctor.h"

#include <stdio.h>
#include <string.h>
#include <yyjson.h>

#include "failure.h"
#include "json.h"
#include "usage.h"

static const char *const state_names[] = {
	[FINDING_OK] = "ok",
	[FINDING_COSTS] = "costs",
	[FINDING_FAILS] = "fails",
};

static void print_finding(const char *name, const struct finding *finding)
{
	const char *fix = finding->fix.data;

	printf("%-5s  %-11s  %s\n", state_names[finding->state], name,
	       finding->text.data);
	while (*fix) {
		int len = (int)strcspn(fix, "\n");

		printf("%20s-> %.*s\n", "", len, fix);
		fix += len + (fix[len] == '\n');
	}
}

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list,
			const char *name, const struct finding *finding)
{
	yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);

	yyjson_mut_obj_add_str(doc, item, "name", name);
	yyjson_mut_obj_add_str(doc, item, "state", state_names[finding->state]);
	yyjson_mut_obj_add_strcpy(doc, item, "text", finding->text.data);
	yyjson_mut_obj_add_strcpy(doc, item, "fix", finding->fix.data);
}

static int examine(const char *scratch_dir, bool json)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = yyjson_mut_arr(doc);
	int code = 0;

	yyjson_mut_doc_set_root(doc, list);
	for (size_t i = 0; i < doctor_n_probes; i++) {
		struct finding finding = {.text = BUF_INIT, .fix = BUF_INIT};

		doctor_probes[i].probe(&finding, scratch_dir);
		if (json) {
			add_finding(doc, list, doctor_probes[i].name, &finding);
		} else {
			print_finding(doctor_probes[i].name, &finding);
		}
		if (finding.state == FINDING_FAILS) {
			code = EXIT_TROUBLE;
		}
		buf_release(&finding.text);
		buf_release(&finding.fix);
	}
	if (json) {
		json_print(stdout, doc);
	} else {
		yyjson_mut_doc_free(doc);
	}
	return code;
}

int verb_doctor(int argc, char **argv)
{
	struct verb_options options;
	int code =
		verb_options_parse(&options, argc, argv, VERB_TAKES_JSON, 0, 0);

	code = code ? code : examine(options.scratch_dir, options.json);
	free(options.scratch_dir);
	return code;
}
