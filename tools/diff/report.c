#include "report.h"

#include <string.h>

#include "filter.h"

/* The caller frees the array only. */
static char **relative_paths(const struct report_wish *wish,
			     const struct manifest_view *view)
{
	char **paths = calloc(wish->n_paths + 1, sizeof(*paths));

	for (size_t i = 0; paths && i < wish->n_paths; i++) {
		paths[i] = diff_relative_path(view, wish->paths[i]);
	}
	return paths;
}

static int keep_paths(struct report_view *view, const struct report_wish *wish)
{
	AUTO_FREE char **paths = relative_paths(wish, view->view);
	struct filter filter = {
		.paths = paths,
		.n_paths = wish->n_paths,
		.all = true,
	};
	struct filter_folded folded;

	if (!paths) {
		return -ENOMEM;
	}
	if (wish->n_paths > 0) {
		filter_apply(&view->diff.list, &filter, &folded);
	}
	return 0;
}

int report_view_make(struct report_view *ret_view,
		     const struct execution *execution,
		     const struct manifest_view *manifest_view,
		     const struct report_wish *wish, struct trouble *trouble)
{
	int error;

	*ret_view = (struct report_view){
		.view = manifest_view,
		.diff = DIFF_INIT,
	};
	ret_view->error = diff_view(&ret_view->diff, execution, manifest_view,
				    wish->renames ? DIFF_RENAMES : 0, trouble);
	if (ret_view->error) {
		return ret_view->error == -ENOMEM ? -ENOMEM : 0;
	}
	error = keep_paths(ret_view, wish);
	error = error ? error
		      : odd_find(&ret_view->odd, &ret_view->diff, trouble);
	error = error ? error
		      : git_story_tell(&ret_view->stories, &ret_view->diff);
	return error ? error
		     : fold_collect(&ret_view->fold, &ret_view->diff.list);
}

int report_make(struct report *report, const struct execution *execution,
		const struct manifest *manifest, const struct report_wish *wish,
		struct trouble *trouble)
{
	int error = 0;

	report->execution = execution;
	report->manifest = manifest;
	report->checkout = diff_checkout_view(manifest);
	report->views = calloc(manifest->n_views + 1, sizeof(*report->views));
	if (!report->views) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < manifest->n_views && !error; i++) {
		const struct manifest_view *view = &manifest->views[i];

		if (!wish->only || wish->only == view) {
			error = report_view_make(&report->views[report->n++],
						 execution, view, wish,
						 trouble);
		}
	}
	return error;
}

void report_view_release(struct report_view *view)
{
	fold_release(&view->fold);
	git_story_list_release(&view->stories);
	odd_list_release(&view->odd);
	diff_release(&view->diff);
}

void report_release(struct report *report)
{
	for (size_t i = 0; i < report->n; i++) {
		report_view_release(&report->views[i]);
	}
	free(report->views);
	*report = (struct report){0};
}
