#include "blob.h"
#include "format.h"
#include "text.h"

static void add_name(struct buf *line, const struct format *format,
		     const char *path, const struct change *change)
{
	enum change_kind kind = change->new_side.kind;

	kind = kind ? kind : change->old_side.kind;
	if (!format->nul_terminated) {
		buf_addc(line, '\t');
		text_add_path(line, format->prefix, path, kind);
		return;
	}
	buf_addc(line, '\0');
	buf_adds(line, format->prefix);
	buf_adds(line, path);
	if (kind == KIND_DIR) {
		buf_addc(line, '/');
	}
}

int format_name_status(const struct format *format, const struct diff *diff)
{
	for (size_t i = 0; i < diff->list.n; i++) {
		const struct change *change = &diff->list.items[i];
		AUTO_BUF line = BUF_INIT;

		text_add_status(&line, change,
				blob_similarity(&diff->sides, change));
		if (change->old_path) {
			add_name(&line, format, change->old_path, change);
		}
		add_name(&line, format, change->path, change);
		buf_addc(&line, format->nul_terminated ? '\0' : '\n');
		if (buf_error(&line)) {
			return -ENOMEM;
		}
		fwrite(line.data, 1, line.len, format->out);
	}
	return 0;
}
