#include <string.h>
#include <yyjson.h>

#include "argv.h"
#include "env.h"
#include "failure.h"
#include "json.h"
#include "manifest.h"
#include "plan.h"
#include "programs.h"
#include "spec.h"
#include "view.h"

static void add_mounts(yyjson_mut_doc *doc, yyjson_mut_val *root,
		       const struct mounts *mounts)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "mounts");

	for (size_t i = 0; i < mounts->count; i++) {
		const struct mount *mount = &mounts->list[i];
		yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);

		json_add_text(doc, object, "kind", plan_kind_name(mount->kind));
		json_add_text(doc, object, "target", mount->target);
		json_add_text(doc, object, "source", mount->source);
		json_add_text(doc, object, "view", mount->view);
		json_add_text(doc, object, "rule", mount->rule);
	}
}

static void add_masks(yyjson_mut_doc *doc, yyjson_mut_val *root,
		      const struct manifest *manifest)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "masks");

	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];

		for (char **mask = view->masks; mask && *mask; mask++) {
			yyjson_mut_val *object =
				yyjson_mut_arr_add_obj(doc, list);

			json_add_text(doc, object, "view", view->name);
			json_add_text(doc, object, "path", *mask);
		}
	}
}

static void add_names(yyjson_mut_doc *doc, yyjson_mut_val *object,
		      const char *key, const struct strv *variables)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, key);

	for (size_t i = 0; i < variables->count; i++) {
		const char *text = variables->list[i];

		yyjson_mut_arr_add_strncpy(doc, list, text, strcspn(text, "="));
	}
}

static void add_environment(yyjson_mut_doc *doc, yyjson_mut_val *root,
			    const struct env *env)
{
	yyjson_mut_val *object =
		yyjson_mut_obj_add_obj(doc, root, "environment");

	add_names(doc, object, "passed", &env->passed);
	add_names(doc, object, "added", &env->added);
	add_names(doc, object, "left_out", &env->dropped);
}

/* The names and values of variables are told above, by name only. */
static void add_call(yyjson_mut_doc *doc, yyjson_mut_val *root,
		     const struct strv *args, const char *bwrap)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "bwrap");

	yyjson_mut_arr_add_strcpy(doc, list, bwrap);
	for (size_t i = 0; i < args->count; i++) {
		if (strcmp(args->list[i], "--setenv") == 0) {
			i += 2;
		} else {
			yyjson_mut_arr_add_strcpy(doc, list, args->list[i]);
		}
	}
}

void plan_print_json(FILE *out, const struct plan *plan)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	AUTO_FREE char *execution =
		text_format("%s/" PLAN_EXECUTION, plan->spec->scratch_dir);
	AUTO_STRV args = {0};
	yyjson_mut_val *command;

	die_if_no_memory(!root);
	yyjson_mut_doc_set_root(doc, root);
	command = yyjson_mut_obj_add_arr(doc, root, "command");
	for (char *const *word = plan->spec->command; *word; word++) {
		yyjson_mut_arr_add_strcpy(doc, command, *word);
	}
	json_add_text(doc, root, "role", spec_role_name(plan->spec->role));
	json_add_text(doc, root, "checkout", plan->spec->checkout);
	json_add_text(doc, root, "directory", plan->spec->cwd);
	json_add_text(doc, root, "execution", execution);
	json_add_text(doc, root, "daemon", plan->programs->daemon);
	add_mounts(doc, root, plan->mounts);
	add_masks(doc, root, plan->manifest);
	add_environment(doc, root, plan->env);
	plan_add_call(plan, &args);
	add_call(doc, root, &args, plan->programs->bwrap);
	json_print(out, doc);
}
