#include "text.h"

#define UNIT 1024

void text_add_counts(struct buf *buf, const struct change_counts *counts)
{
	const char *separator = "";

	for (size_t i = 0; i < CHANGE_N_LETTERS; i++) {
		if (counts->letters[i]) {
			buf_addf(buf, "%s%c %zu", separator, CHANGE_LETTERS[i],
				 counts->letters[i]);
			separator = ", ";
		}
	}
}

void text_add_size(struct buf *buf, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
	double size = (double)bytes / UNIT;
	size_t unit = 0;

	if (bytes < UNIT) {
		buf_addf(buf, "%u byte%s", (unsigned int)bytes,
			 bytes == 1 ? "" : "s");
		return;
	}
	while (size >= UNIT && unit + 1 < ARRAY_SIZE(units)) {
		size /= UNIT;
		unit++;
	}
	buf_addf(buf, "%.1f %s", size, units[unit]);
}

void text_add_status(struct buf *buf, const struct change *change,
		     int similarity)
{
	enum change_kind new_kind = change->new_side.kind;

	buf_addc(buf, (char)change->letter);
	if (change->letter == CHANGE_RENAMED && similarity >= 0) {
		buf_addf(buf, "%03d", similarity);
	}
	buf_addc(buf, ' ');
	if (change->letter == CHANGE_TYPE) {
		buf_addf(buf, "%c>", (char)change->old_side.kind);
	}
	buf_addc(buf, (char)(new_kind ? new_kind : change->old_side.kind));
}

void text_add_path(struct buf *buf, const char *prefix, const char *path,
		   enum change_kind kind)
{
	AUTO_BUF whole = BUF_INIT;

	buf_adds(&whole, prefix);
	buf_adds(&whole, path);
	if (kind == KIND_DIR) {
		buf_addc(&whole, '/');
	}
	buf_add_quoted(buf, whole.data);
}
