#include "trouble.h"

#include <errno.h>

#include "buf.h"
#include "err.h"

/* Names in these lines are in single quotes, unless they need C quoting. */
static void add_name(struct buf *line, const char *path)
{
	AUTO_BUF quoted = BUF_INIT;

	buf_add_quoted(&quoted, path);
	if (quoted.data[0] == '"') {
		buf_adds(line, quoted.data);
	} else {
		buf_addf(line, "'%s'", quoted.data);
	}
}

bool trouble_is_vanished(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -ESTALE;
}

void trouble_error(struct trouble *trouble, const char *verb, const char *path,
		   int error)
{
	AUTO_BUF name = BUF_INIT;

	if (trouble_is_vanished(error)) {
		trouble_warn(trouble, "vanished meanwhile", path);
		return;
	}
	trouble->n_errors++;
	if (trouble->out) {
		add_name(&name, path);
		fprintf(trouble->out, "error: can't %s %s: %s\n", verb,
			name.data, err_text(error));
	}
}

void trouble_warn(struct trouble *trouble, const char *what, const char *path)
{
	AUTO_BUF name = BUF_INIT;

	trouble->n_warnings++;
	if (trouble->out && !trouble->no_warnings) {
		add_name(&name, path);
		fprintf(trouble->out, "warning: %s: %s\n", what, name.data);
	}
}
