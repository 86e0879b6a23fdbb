#include "why.h"

#include <string.h>
#include <sys/stat.h>
#include <yyjson.h>

#include "failure.h"
#include "json.h"
#include "manifest.h"
#include "mounts.h"
#include "path.h"
#include "policy.h"
#include "spec.h"

struct answer {
	char *path;
	const char *state; /* "read-write", "read-only", "masked", "absent" */
	const char *rule;  /* the entry's or the rule's name, or NULL */
	const char *why;   /* the rule's reason, or NULL */
	const char *note;
	const struct mount *mount; /* that it lies in, or NULL */
};

static void answer_release(struct answer *answer)
{
	free(answer->path);
}

static bool is_masked(const struct manifest_view *view, const char *beneath)
{
	for (char **mask = view->masks; mask && *mask; mask++) {
		if (path_is_within(beneath, *mask)) {
			return true;
		}
	}
	return false;
}

/* Whether it is only there to mount something in. */
static bool leads_to_mount(const struct mounts *mounts, const char *path)
{
	for (size_t i = 0; i < mounts->count; i++) {
		if (path_is_within(mounts->list[i].target, path)) {
			return true;
		}
	}
	return false;
}

static void say(struct answer *answer, const char *state, const char *note)
{
	answer->state = state;
	answer->note = note;
}

static const char *access_of(const struct mount *mount)
{
	return mount->kind == MOUNT_RO_BIND ? "read-only" : "read-write";
}

/* A place in a view, or in a real folder: `real` is what is beneath. */
static void explain_overlay(struct answer *answer,
			    const struct manifest_view *view)
{
	const char *beneath = path_beneath(answer->path, answer->mount->target);

	if (is_masked(view, beneath)) {
		say(answer, "masked", "its view has no such name");
	} else {
		say(answer, access_of(answer->mount),
		    answer->mount->kind == MOUNT_RO_BIND
			    ? "through a view that masks"
			    : "in a throwaway layer");
	}
}

static void explain_scratch(struct answer *answer, const struct mounts *mounts)
{
	if (leads_to_mount(mounts, answer->path)) {
		say(answer, "read-write", "a folder of the sandbox's own");
	} else {
		say(answer, "absent",
		    "the folder around it is the sandbox's own, and empty");
	}
}

static void explain_real(struct answer *answer)
{
	AUTO_FREE char *real =
		text_format("%s/%s", answer->mount->source,
			    path_beneath(answer->path, answer->mount->target));
	size_t len = strlen(real);
	struct stat st;

	if (real[len - 1] == '/') {
		real[len - 1] = '\0';
	}
	answer->rule = answer->mount->rule;
	if (lstat(real, &st) < 0) {
		say(answer, "absent", "there is no such file");
	} else {
		say(answer, access_of(answer->mount), "the real one");
	}
}

static void explain(struct answer *answer, const struct policy *policy,
		    const struct manifest *manifest,
		    const struct mounts *mounts)
{
	const struct hidden_rule *rule =
		hidden_around(&policy->hidden, answer->path);
	const struct mount *mount =
		mounts_around(mounts, mounts->count, answer->path);
	const struct manifest_view *view =
		mount && mount->view ? manifest_view(manifest, mount->view)
				     : NULL;

	answer->mount = mount;
	if (!mount) {
		say(answer,
		    leads_to_mount(mounts, answer->path) ? "read-only"
							 : "absent",
		    leads_to_mount(mounts, answer->path)
			    ? "a folder of the sandbox's own"
			    : "nothing shows it");
	} else if (mount->kind == MOUNT_COVER_FILE ||
		   mount->kind == MOUNT_COVER_DIR) {
		say(answer, "masked", "covered: it can't be opened");
	} else if (mount->kind == MOUNT_PROC || mount->kind == MOUNT_DEV) {
		say(answer, "read-write", "the sandbox's own");
	} else if (!view) {
		explain_real(answer);
	} else if (view->kind == MANIFEST_OVERLAY) {
		explain_overlay(answer, view);
	} else {
		explain_scratch(answer, mounts);
	}
	if (rule && strncmp(answer->state, "read", 4) != 0) {
		answer->state = "masked";
		answer->rule = rule->name;
		answer->why = rule->why;
	}
}

static void print_text(FILE *out, const struct answer *answer)
{
	fprintf(out, "%s: %s", answer->path, answer->state);
	if (answer->why) {
		fprintf(out, ", by the rule %s (%s)\n", answer->rule,
			answer->why);
		return;
	}
	if (answer->rule) {
		fprintf(out, ", by the entry %s", answer->rule);
	}
	fprintf(out, " (%s)\n", answer->note);
}

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *list,
		     const struct answer *answer)
{
	yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);

	json_add_text(doc, object, "path", answer->path);
	json_add_text(doc, object, "state", answer->state);
	json_add_text(doc, object, "rule", answer->rule);
	json_add_text(doc, object, "why",
		      answer->why ? answer->why : answer->note);
	json_add_text(doc, object, "mount",
		      answer->mount ? answer->mount->target : NULL);
	json_add_text(doc, object, "view",
		      answer->mount ? answer->mount->view : NULL);
}

static char *absolute(const struct policy *policy, const char *path)
{
	AUTO_FREE char *joined =
		path[0] == '/'
			? text_copy(path)
			: text_format("%s/%s", policy->cwd ? policy->cwd : "",
				      path);

	return expand_tidy(joined);
}

void why_print(FILE *out, const struct spec *spec, const struct policy *policy,
	       const struct manifest *manifest, const struct mounts *mounts,
	       bool json)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *list = yyjson_mut_arr(doc);

	die_if_no_memory(!list);
	yyjson_mut_doc_set_root(doc, list);
	for (char *const *word = spec->command; *word; word++) {
		AUTO(answer_release)
		struct answer answer = {
			.path = absolute(policy, *word),
		};

		explain(&answer, policy, manifest, mounts);
		if (json) {
			add_json(doc, list, &answer);
		} else {
			print_text(out, &answer);
		}
	}
	if (json) {
		json_print(out, doc);
	} else {
		yyjson_mut_doc_free(doc);
	}
}
