#include "diff.h"

#include <string.h>

#include "collect.h"
#include "hardlinks.h"
#include "moved.h"
#include "noise.h"
#include "rename.h"

#define CHECKOUT_VIEW "work"

const struct manifest_view *diff_checkout_view(const struct manifest *manifest)
{
	const struct manifest_view *view =
		manifest_view(manifest, CHECKOUT_VIEW);

	for (size_t i = 0; i < manifest->n_views && !view; i++) {
		if (manifest->views[i].kind == MANIFEST_OVERLAY) {
			view = &manifest->views[i];
		}
	}
	if (!view && manifest->n_views > 0) {
		view = &manifest->views[0];
	}
	return view;
}

char *diff_relative_path(const struct manifest_view *view, char *path)
{
	size_t len = view->mount_at ? strlen(view->mount_at) : 0;

	if (len > 0 && strncmp(path, view->mount_at, len) == 0 &&
	    (path[len] == '/' || !path[len])) {
		path += len;
	}
	while (strncmp(path, "./", 2) == 0 || *path == '/') {
		path += *path == '/' ? 1 : 2;
	}
	return strcmp(path, ".") == 0 ? path + 1 : path;
}

int diff_view(struct diff *diff, const struct execution *execution,
	      const struct manifest_view *view, unsigned int flags,
	      struct trouble *trouble)
{
	int error = sides_open(&diff->sides, execution, view);

	error = error ? error
		      : collect_changes(&diff->list, &diff->sides,
					flags & DIFF_WHOLE, trouble);
	error = error ? error
		      : hardlinks_collect(&diff->list, &diff->sides, trouble);
	error = error ? error : moved_mark(&diff->list, &diff->sides, trouble);
	error = error ? error : noise_mark(&diff->list, &diff->sides);
	if (!error && flags & DIFF_RENAMES) {
		error = rename_detect(&diff->list, &diff->sides, trouble);
	}
	if (!error && flags & DIFF_WHOLE) {
		error = change_list_keep_linked(&diff->list, &diff->equal);
	}
	change_list_finish(&diff->list);
	return error;
}

void diff_release(struct diff *diff)
{
	sides_close(&diff->sides);
	change_list_release(&diff->list);
	change_list_release(&diff->equal);
}
