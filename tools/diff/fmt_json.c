#include <assert.h>
#include <string.h>
#include <strings.h>
#include <yyjson.h>

#include "blob.h"
#include "content.h"
#include "document.h"
#include "err.h"
#include "format.h"
#include "json_text.h"
#include "remark.h"

/* An image that a browser shows and a person looks at. */
#define MAX_IMAGE_BYTES (2UL * 1024 * 1024)

struct writer {
	yyjson_mut_doc *doc;
	unsigned int flags;
	struct trouble *trouble;
	size_t patches_bytes; /* so far */
};

static void add_counts(yyjson_mut_doc *doc, yyjson_mut_val *object,
		       const char *key, const struct change_counts *counts)
{
	static const char *const letters[] = {"D", "T", "R", "M", "A"};
	yyjson_mut_val *value = yyjson_mut_obj_add_obj(doc, object, key);

	static_assert(ARRAY_SIZE(letters) == CHANGE_N_LETTERS, "");
	for (size_t i = 0; i < CHANGE_N_LETTERS; i++) {
		yyjson_mut_obj_add_uint(doc, value, letters[i],
					counts->letters[i]);
	}
	yyjson_mut_obj_add_uint(doc, value, "total", counts->total);
	yyjson_mut_obj_add_uint(doc, value, "bytes", counts->new_bytes);
}

static void add_kind(yyjson_mut_doc *doc, yyjson_mut_val *object,
		     enum change_kind kind)
{
	char text[2] = {(char)kind, '\0'};

	yyjson_mut_obj_add_strcpy(doc, object, "kind", text);
}

static void add_side(yyjson_mut_doc *doc, yyjson_mut_val *object,
		     const char *key, const struct change_side *side)
{
	yyjson_mut_val *value;

	if (side->kind == KIND_NONE) {
		return;
	}
	value = yyjson_mut_obj_add_obj(doc, object, key);
	add_kind(doc, value, side->kind);
	yyjson_mut_obj_add_uint(doc, value, "mode", side->mode);
	if (side->kind == KIND_FILE) {
		yyjson_mut_obj_add_uint(doc, value, "size",
					side->id.size_bytes);
	}
	yyjson_mut_obj_add_uint(doc, value, "mtime_ns", side->id.mtime_ns);
	yyjson_mut_obj_add_uint(doc, value, "links", side->n_links);
}

/* The media type by the name; NULL for what is no image. Not SVG: that is a
 * document, and its text is in the patch. */
static const char *image_type(const char *path)
{
	static const struct {
		const char *end;
		const char *type;
	} types[] = {
		{".png", "image/png"},    {".jpg", "image/jpeg"},
		{".jpeg", "image/jpeg"},  {".gif", "image/gif"},
		{".webp", "image/webp"},  {".bmp", "image/bmp"},
		{".ico", "image/x-icon"}, {".avif", "image/avif"},
	};
	size_t len = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		size_t end = strlen(types[i].end);

		if (len > end &&
		    strcasecmp(path + len - end, types[i].end) == 0) {
			return types[i].type;
		}
	}
	return NULL;
}

/* "data:image/png;base64,...". `fd` is the side's entry, or an error. */
static void add_image(struct writer *writer, yyjson_mut_val *object,
		      const char *key, const char *type, int fd,
		      const struct change_side *side)
{
	AUTO_BUF data = BUF_INIT;
	AUTO_BUF url = BUF_INIT;

	if (fd < 0 || side->kind != KIND_FILE ||
	    side->id.size_bytes > MAX_IMAGE_BYTES ||
	    writer->patches_bytes > DOCUMENT_MAX_PATCHES_BYTES ||
	    content_load(fd, "", KIND_FILE, &data)) {
		return;
	}
	writer->patches_bytes += data.len;
	buf_addf(&url, "data:%s;base64,", type);
	json_text_base64(&url, data.data, data.len);
	yyjson_mut_obj_add_strncpy(writer->doc, object, key, url.data, url.len);
}

static void add_images(struct writer *writer, yyjson_mut_val *object,
		       const struct sides *sides, const struct change *change)
{
	const char *type = image_type(change->path);
	AUTO_FD old_fd = -1;
	AUTO_FD new_fd = -1;

	if (!(writer->flags & DOCUMENT_IMAGES) || !type) {
		return;
	}
	old_fd = content_open_old(sides, change);
	new_fd = content_open_new(sides, change);
	add_image(writer, object, "old_image", type, old_fd, &change->old_side);
	add_image(writer, object, "new_image", type, new_fd, &change->new_side);
}

static bool is_too_big(const struct change_side *side)
{
	return side->kind == KIND_FILE &&
	       side->id.size_bytes > DOCUMENT_MAX_PATCH_BYTES;
}

static int add_patch(struct writer *writer, yyjson_mut_val *object,
		     const struct diff *diff, const struct change *change)
{
	AUTO_FREE char *text = NULL;
	size_t len = 0;
	struct format format = {.trouble = writer->trouble, .prefix = ""};
	int error;

	if (is_too_big(&change->old_side) || is_too_big(&change->new_side) ||
	    writer->patches_bytes > DOCUMENT_MAX_PATCHES_BYTES) {
		yyjson_mut_obj_add_true(writer->doc, object, "patch_left_out");
		return 0;
	}
	format.out = open_memstream(&text, &len);
	if (!format.out) {
		return -ENOMEM;
	}
	error = format_patch_of(&format, diff, change);
	if (fclose(format.out)) {
		return -ENOMEM;
	}
	if (!error && len > 0) {
		json_text_add(writer->doc, object, "patch", text, len);
		writer->patches_bytes += len;
	}
	return error;
}

static int add_change(struct writer *writer, yyjson_mut_val *array,
		      const struct diff *diff, const struct change *change)
{
	yyjson_mut_doc *doc = writer->doc;
	yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
	char letter[2] = {(char)change->letter, '\0'};
	AUTO_BUF remark = BUF_INIT;

	yyjson_mut_obj_add_strcpy(doc, object, "letter", letter);
	json_text_adds(doc, object, "path", change->path);
	json_text_adds(doc, object, "old_path", change->old_path);
	add_kind(doc, object,
		 change->new_side.kind ? change->new_side.kind
				       : change->old_side.kind);
	add_side(doc, object, "old", &change->old_side);
	add_side(doc, object, "new", &change->new_side);
	yyjson_mut_obj_add_bool(doc, object, "content",
				change->flags & CHANGE_CONTENT);
	yyjson_mut_obj_add_bool(doc, object, "mode",
				change->flags & CHANGE_MODE);
	yyjson_mut_obj_add_bool(doc, object, "xattr",
				change->flags & CHANGE_XATTR);
	if (change->noise) {
		yyjson_mut_obj_add_str(doc, object, "folded",
				       fold_name(change->noise));
	}
	if (change->is_moved) {
		yyjson_mut_obj_add_true(doc, object, "base_moved");
	}
	remark_add(&remark, change);
	if (remark.len > 0) {
		json_text_add(doc, object, "remark", remark.data, remark.len);
	}
	if (!(writer->flags & DOCUMENT_PATCHES) ||
	    (change->noise && !(writer->flags & DOCUMENT_ALL))) {
		return 0;
	}
	add_images(writer, object, &diff->sides, change);
	return add_patch(writer, object, diff, change);
}

static void add_odd(yyjson_mut_doc *doc, yyjson_mut_val *object,
		    const struct odd_list *list)
{
	yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "odd");

	for (size_t i = 0; i < list->n; i++) {
		yyjson_mut_val *odd = yyjson_mut_arr_add_obj(doc, array);

		yyjson_mut_obj_add_str(doc, odd, "kind",
				       odd_kind_name(list->items[i].kind));
		json_text_adds(doc, odd, "path", list->items[i].path);
		json_text_adds(doc, odd, "why", list->items[i].why);
	}
}

static void add_commits(yyjson_mut_doc *doc, yyjson_mut_val *object,
			const struct story *story)
{
	static const char *const states[] = {
		[STORY_REACHED] = "reached",
		[STORY_STASHED] = "stashed",
		[STORY_DROPPED] = "dropped",
	};
	yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "commits");

	for (size_t i = 0; i < story->n_commits; i++) {
		const struct story_commit *commit = &story->commits[i];
		yyjson_mut_val *value = yyjson_mut_arr_add_obj(doc, array);

		yyjson_mut_obj_add_strcpy(doc, value, "id", commit->id);
		json_text_adds(doc, value, "subject", commit->subject);
		json_text_adds(doc, value, "author", commit->author);
		yyjson_mut_obj_add_int(doc, value, "time", commit->time);
		yyjson_mut_obj_add_str(doc, value, "state",
				       states[commit->state]);
	}
}

static void add_refs(yyjson_mut_doc *doc, yyjson_mut_val *object,
		     const struct story *story)
{
	yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "refs");

	for (size_t i = 0; i < story->n_refs; i++) {
		const struct story_ref *ref = &story->refs[i];
		yyjson_mut_val *value = yyjson_mut_arr_add_obj(doc, array);

		json_text_adds(doc, value, "name", ref->name);
		json_text_adds(doc, value, "old", ref->old_value);
		json_text_adds(doc, value, "new", ref->new_value);
		json_text_adds(doc, value, "subject", ref->new_subject);
	}
}

static void add_story(yyjson_mut_doc *doc, yyjson_mut_val *array,
		      const struct story *story)
{
	yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
	yyjson_mut_val *value;

	json_text_adds(doc, object, "dir", story->dir);
	yyjson_mut_obj_add_bool(doc, object, "new", story->is_new);
	yyjson_mut_obj_add_bool(doc, object, "gone", story->is_gone);
	add_commits(doc, object, story);
	add_refs(doc, object, story);
	value = yyjson_mut_obj_add_obj(doc, object, "index");
	yyjson_mut_obj_add_bool(doc, value, "changed", story->index_changed);
	yyjson_mut_obj_add_int(doc, value, "before", story->index_before);
	yyjson_mut_obj_add_int(doc, value, "after", story->index_after);
	value = yyjson_mut_obj_add_obj(doc, object, "stash");
	yyjson_mut_obj_add_uint(doc, value, "before", story->stash_before);
	yyjson_mut_obj_add_uint(doc, value, "after", story->stash_after);
	value = yyjson_mut_obj_add_arr(doc, value, "added");
	for (size_t i = 0; i < story->n_stashed; i++) {
		yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, value);

		json_text_adds(doc, entry, "subject", story->stashed[i]);
	}
	yyjson_mut_obj_add_bool(doc, object, "config_changed",
				story->config_changed);
	json_text_add(doc, object, "config", story->config.data,
		      story->config.len);
	json_text_adds(doc, object, "unfinished", story->unfinished);
	add_counts(doc, object, "hooks", &story->hooks);
	add_counts(doc, object, "objects", &story->objects);
	add_counts(doc, object, "packs", &story->packs);
	add_counts(doc, object, "all", &story->all);
}

static void add_folded(yyjson_mut_doc *doc, yyjson_mut_val *object,
		       const struct fold *fold)
{
	yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, object, "folded");

	for (size_t i = 0; i < fold->n; i++) {
		const struct fold_group *group = &fold->groups[i];
		yyjson_mut_val *value = yyjson_mut_arr_add_obj(doc, array);

		yyjson_mut_obj_add_str(doc, value, "why",
				       fold_name(group->noise));
		json_text_adds(doc, value, "path", group->path);
		add_counts(doc, value, "counts", &group->counts);
	}
}

static int add_view(struct writer *writer, yyjson_mut_val *array,
		    const struct report *report, const struct report_view *view)
{
	yyjson_mut_doc *doc = writer->doc;
	yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
	const struct manifest_view *facts = view->view;
	yyjson_mut_val *stories;
	yyjson_mut_val *changes;
	int error = 0;

	json_text_adds(doc, object, "name", facts->name);
	yyjson_mut_obj_add_str(doc, object, "kind",
			       facts->kind == MANIFEST_OVERLAY ? "overlay"
							       : "scratch");
	json_text_adds(doc, object, "base", facts->base);
	json_text_adds(doc, object, "mount_at", facts->mount_at);
	yyjson_mut_obj_add_bool(doc, object, "checkout",
				facts == report->checkout);
	if (view->error) {
		yyjson_mut_obj_add_str(doc, object, "error",
				       err_text(view->error));
	}
	add_counts(doc, object, "counts", &view->fold.totals[NOISE_NONE]);
	add_odd(doc, object, &view->odd);
	stories = yyjson_mut_obj_add_arr(doc, object, "git");
	for (size_t i = 0; i < view->stories.n; i++) {
		add_story(doc, stories, &view->stories.items[i]);
	}
	add_folded(doc, object, &view->fold);
	changes = yyjson_mut_obj_add_arr(doc, object, "changes");
	for (size_t i = 0; i < view->diff.list.n && !error; i++) {
		error = add_change(writer, changes, &view->diff,
				   &view->diff.list.items[i]);
	}
	return error;
}

static void add_execution(yyjson_mut_doc *doc, yyjson_mut_val *root,
			  const struct manifest *manifest)
{
	yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "execution");
	yyjson_mut_val *command =
		yyjson_mut_obj_add_arr(doc, object, "command");

	json_text_adds(doc, object, "id", manifest->id);
	json_text_adds(doc, object, "name", manifest->name);
	json_text_adds(doc, object, "role", manifest->role);
	json_text_adds(doc, object, "checkout", manifest->checkout);
	yyjson_mut_obj_add_int(doc, object, "created_ns", manifest->created_ns);
	if (manifest->ended_ns) {
		yyjson_mut_obj_add_int(doc, object, "ended_ns",
				       manifest->ended_ns);
		yyjson_mut_obj_add_int(doc, object, "exit_code",
				       manifest->exit_code);
	}
	for (char **word = manifest->command; word && *word; word++) {
		yyjson_mut_val *value = yyjson_mut_arr_add_obj(doc, command);

		json_text_adds(doc, value, "word", *word);
	}
}

static int fill(struct writer *writer, const struct report *report)
{
	yyjson_mut_doc *doc = writer->doc;
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	yyjson_mut_val *views;
	int error = 0;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_str(doc, root, "format", "legato-diff");
	yyjson_mut_obj_add_int(doc, root, "version", DOCUMENT_VERSION);
	add_execution(doc, root, report->manifest);
	views = yyjson_mut_obj_add_arr(doc, root, "views");
	for (size_t i = 0; i < report->n && !error; i++) {
		error = add_view(writer, views, report, &report->views[i]);
	}
	yyjson_mut_obj_add_uint(doc, root, "errors", writer->trouble->n_errors);
	return error;
}

int document_json_text(char **ret_text, size_t *ret_len,
		       const struct report *report, unsigned int flags,
		       struct trouble *trouble)
{
	struct writer writer = {
		.doc = yyjson_mut_doc_new(NULL),
		.flags = flags,
		.trouble = trouble,
	};
	char *text = NULL;
	int error = writer.doc ? fill(&writer, report) : -ENOMEM;

	if (!error) {
		text = yyjson_mut_write(writer.doc,
					flags & DOCUMENT_PRETTY
						? YYJSON_WRITE_PRETTY_TWO_SPACES
						: 0,
					ret_len);
		error = text ? 0 : -ENOMEM;
	}
	yyjson_mut_doc_free(writer.doc);
	if (!error) {
		*ret_text = text;
	}
	return error;
}

int document_write_json(FILE *out, const struct report *report,
			unsigned int flags, struct trouble *trouble)
{
	AUTO_FREE char *text = NULL;
	size_t len;
	int error = document_json_text(&text, &len, report, flags, trouble);

	if (!error) {
		fwrite(text, 1, len, out);
		fputc('\n', out);
	}
	return error;
}
