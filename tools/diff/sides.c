#include "sides.h"

#include <fcntl.h>
#include <stdio.h>

int sides_open(struct sides *sides, const struct execution *execution,
	       const struct manifest_view *view)
{
	AUTO_FREE char *upper = NULL;
	int error;

	if (asprintf(&upper, "%s/%s/upper", EXECUTION_VIEWS_DIR, view->name) <
	    0) {
		upper = NULL;
		return -ENOMEM;
	}
	sides->view = view;
	error = layer_open(&sides->base, AT_FDCWD, view->base);
	if (error) {
		return error;
	}
	error = layer_open(&sides->upper, execution->dir_fd, upper);
	if (error) {
		layer_close(&sides->base);
	}
	return error;
}

void sides_close(struct sides *sides)
{
	layer_close(&sides->base);
	layer_close(&sides->upper);
}
