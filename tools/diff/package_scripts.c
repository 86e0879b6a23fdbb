#include "package_scripts.h"

#include <string.h>
#include <yyjson.h>

#include "content.h"
#include "visible.h"

#define FILE_NAME "package.json"

/* One with more is none that a person wrote. */
#define MAX_BYTES (4UL * 1024 * 1024)

#define MAX_NAMES 8

bool package_scripts_is_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash ? slash + 1 : path, FILE_NAME) == 0 &&
	       !strstr(path, "node_modules/");
}

static void free_doc(yyjson_doc **doc)
{
	yyjson_doc_free(*doc);
}

/* NULL where it can't be had or isn't JSON. `fd` is a side's entry. */
static yyjson_doc *parse(int fd, const struct change_side *side)
{
	AUTO_BUF text = BUF_INIT;

	if (fd < 0 || side->kind != KIND_FILE ||
	    side->id.size_bytes > MAX_BYTES ||
	    content_load(fd, "", KIND_FILE, &text)) {
		return NULL;
	}
	return yyjson_read(text.data, text.len, 0);
}

static yyjson_val *scripts_of(const yyjson_doc *doc)
{
	return yyjson_obj_get(yyjson_doc_get_root((yyjson_doc *)doc),
			      "scripts");
}

/* Adds the names of scripts in `of` that are not the same in `other`. */
static void add_differing(struct buf *buf, size_t *count, yyjson_val *of,
			  yyjson_val *other, bool only_missing)
{
	yyjson_val *name;
	yyjson_obj_iter iter = yyjson_obj_iter_with(of);

	while ((name = yyjson_obj_iter_next(&iter))) {
		yyjson_val *here = yyjson_obj_iter_get_val(name);
		yyjson_val *there = yyjson_obj_getn(other, yyjson_get_str(name),
						    yyjson_get_len(name));

		if (there && (only_missing || yyjson_equals(here, there))) {
			continue;
		}
		if (++*count > MAX_NAMES) {
			continue;
		}
		buf_adds(buf, *count == 1 ? "scripts changed: " : ", ");
		visible_add(buf, yyjson_get_str(name), yyjson_get_len(name));
	}
}

int package_scripts_compare(struct buf *buf, const struct sides *sides,
			    const struct change *change)
{
	AUTO_FD old_fd = change->old_side.kind == KIND_FILE
				 ? content_open_old(sides, change)
				 : -1;
	AUTO_FD new_fd = content_open_new(sides, change);
	AUTO(free_doc) yyjson_doc *old_doc = parse(old_fd, &change->old_side);
	AUTO(free_doc) yyjson_doc *new_doc = parse(new_fd, &change->new_side);
	size_t count = 0;

	add_differing(buf, &count, scripts_of(new_doc), scripts_of(old_doc),
		      false);
	add_differing(buf, &count, scripts_of(old_doc), scripts_of(new_doc),
		      true);
	if (count > MAX_NAMES) {
		buf_addf(buf, " and %zu more", count - MAX_NAMES);
	}
	return buf_error(buf);
}
