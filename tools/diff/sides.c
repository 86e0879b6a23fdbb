#include "sides.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

/* Opens `folder` of the view; -ENOENT where it has none. */
static int open_folder(struct layer *layer, const struct execution *execution,
		       const char *view, const char *folder)
{
	AUTO_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", EXECUTION_VIEWS_DIR, view, folder) <
	    0) {
		path = NULL;
		return -ENOMEM;
	}
	return layer_open(layer, execution->dir_fd, path);
}

static int read_applied(struct sides *sides, const struct execution *execution,
			const struct manifest_view *view)
{
	struct layer folder = {.root_fd = -1};
	int error = open_folder(&folder, execution, view->name, ".");

	error = error ? error : applied_read(&sides->applied, folder.root_fd);
	layer_close(&folder);
	return error;
}

int sides_open(struct sides *sides, const struct execution *execution,
	       const struct manifest_view *view)
{
	int error = layer_open(&sides->base, AT_FDCWD, view->base);

	sides->view = view;
	if (!error) {
		error = open_folder(&sides->upper, execution, view->name,
				    "upper");
	}
	if (!error) {
		error = open_folder(&sides->links, execution, view->name,
				    "links");
		/* A view of another daemon, or of an older version. */
		error = error == -ENOENT ? 0 : error;
	}
	error = error ? error : read_applied(sides, execution, view);
	error = error ? error : mask_set_init(&sides->masks, view->masks);
	error = error ? error
		      : mask_links_add(&sides->masked_links, &sides->masks,
				       &sides->base);
	if (error) {
		sides_close(sides);
	}
	return error;
}

bool sides_hide(const struct sides *sides, const char *dir, const char *name,
		const struct stat *st)
{
	return mask_set_has(&sides->masks, dir, name) ||
	       (S_ISREG(st->st_mode) && st->st_nlink > 1 &&
		mask_links_have(&sides->masked_links, st->st_dev, st->st_ino));
}

void sides_close(struct sides *sides)
{
	applied_release(&sides->applied);
	layer_close(&sides->base);
	layer_close(&sides->upper);
	layer_close(&sides->links);
	applied_release(&sides->applied);
	mask_set_release(&sides->masks);
	mask_links_release(&sides->masked_links);
}
