#include "policy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "given.h"
#include "repo.h"
#include "spec.h"

/* The rules of the configuration, and what this run has to hide of its own. */
static void add_rules(struct policy *policy, const struct spec *spec)
{
	const struct config_value *hide = &spec->config.values[CONFIG_HIDE];
	struct hidden_rule *rule;

	rule = tables_add_hidden(&policy->tables, "legato-scratch",
				 "executions");
	strv_add(&rule->paths, spec->scratch_dir);
	if (hide->n_items == 0) {
		return;
	}
	rule = tables_add_hidden(&policy->tables, "hide", "the configuration");
	for (size_t i = 0; i < hide->n_items; i++) {
		strv_add(&rule->paths, hide->items[i].text);
	}
}

/* A checkout and its repository are shown; what is hidden in them is masked by
 * their view, if they have one. `what` they are called in the line. */
static int find_masks(const struct policy *policy, const struct spec *spec,
		      const char *what, const char *folder, struct strv *masks)
{
	const struct hidden_rule *rule = hidden_around(&policy->hidden, folder);
	struct hidden_hits hits;
	int code = 0;

	if (rule) {
		return failure(EXIT_NOT_SET_UP,
			       "%s '%s' is never seen, by the rule %s", what,
			       folder, rule->name);
	}
	hidden_find_within(&policy->hidden, folder, &hits);
	for (size_t i = 0; i < hits.count; i++) {
		strv_add(masks, hits.list[i].at);
	}
	if (hits.count > 0 && spec->role == ROLE_WORK && !spec->overlay) {
		code = failure(EXIT_NOT_SET_UP,
			       "%s '%s' holds '%s', which is never seen, by "
			       "the rule %s: only a view can mask it, see "
			       "--overlay",
			       what, folder, hits.list[0].at,
			       hits.list[0].rule->name);
	}
	hidden_hits_release(&hits);
	return code;
}

static int check_checkout(struct policy *policy, const struct spec *spec)
{
	int code = find_masks(policy, spec, "checkout", spec->checkout,
			      &policy->masks);

	code = code ? code : repo_find(spec->checkout, &policy->git);
	return code || !policy->git
		       ? code
		       : find_masks(policy, spec, "repository", policy->git,
				    &policy->git_masks);
}

int policy_init(struct policy *ret_policy, const struct spec *spec)
{
	const struct config_value *folder = &spec->config.values[CONFIG_TABLES];
	struct policy *policy = ret_policy;
	AUTO_STRV folders = {0};
	int code;

	*policy = (struct policy){.cwd = getcwd(NULL, 0)};
	policy->expand = (struct expand){
		.home = spec->home,
		.variables = environ,
		.cwd = policy->cwd,
		.moved = true,
	};
	if (folder->text) {
		expand_path(&policy->expand, folder->text, &folders);
	}
	code = tables_load(&policy->tables,
			   folders.count ? folders.list[0] : NULL);
	if (code) {
		return code;
	}
	add_rules(policy, spec);
	code = hidden_init(&policy->hidden, &policy->tables, &policy->expand);
	code = code ? code : check_checkout(policy, spec);
	code = code ? code
		    : seen_init(&policy->seen, spec, &policy->tables,
				&policy->expand, &policy->hidden);
	return code ? code : given_add(&policy->seen, spec, &policy->hidden);
}

void policy_release(struct policy *policy)
{
	seen_release(&policy->seen);
	hidden_release(&policy->hidden);
	tables_release(&policy->tables);
	strv_release(&policy->masks);
	strv_release(&policy->git_masks);
	free(policy->git);
	free(policy->cwd);
	*policy = (struct policy){0};
}
