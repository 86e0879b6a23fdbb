#include "err.h"

#include <stdlib.h>
#include <string.h>

const char *err_name(int err)
{
	const char *name = strerrorname_np(abs(err));

	return name ? name : "E?";
}

const char *err_text(int err)
{
	const char *text = strerrordesc_np(abs(err));

	return text ? text : "unknown error";
}
