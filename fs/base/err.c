#include "err.h"

#include <limits.h>
#include <string.h>

/* abs() of INT_MIN is undefined. */
static int magnitude(int err)
{
	return err < 0 && err != INT_MIN ? -err : err;
}

const char *err_name(int err)
{
	const char *name = strerrorname_np(magnitude(err));

	return name ? name : "E?";
}

const char *err_text(int err)
{
	const char *text = strerrordesc_np(magnitude(err));

	return text ? text : "unknown error";
}
