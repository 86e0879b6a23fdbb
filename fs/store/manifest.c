#include "manifest.h"

#include <fcntl.h>
#include <string.h>
#include <yyjson.h>

#include "fdio.h"
#include "path.h"
#include "sys.h"

/* Far above any real one; a broken file must not eat memory. */
#define MANIFEST_MAX_BYTES (16 * 1024 * 1024)

static const char *const kind_names[] = {"overlay", "scratch"};

void manifest_init(struct manifest *manifest)
{
	*manifest = (struct manifest){.quota = QUOTA_LIMITS_NONE};
}

static void strings_free(char **strings)
{
	for (char **string = strings; string && *string; string++) {
		free(*string);
	}
	free(strings);
}

static void view_release(struct manifest_view *view)
{
	free(view->name);
	free(view->base);
	free(view->mount_at);
	strings_free(view->masks);
}

void manifest_release(struct manifest *manifest)
{
	free(manifest->id);
	free(manifest->name);
	free(manifest->role);
	free(manifest->checkout);
	strings_free(manifest->command);
	for (size_t i = 0; i < manifest->n_views; i++) {
		view_release(&manifest->views[i]);
	}
	free(manifest->views);
	manifest_init(manifest);
}

int manifest_add_view(struct manifest *manifest, const char *name,
		      enum manifest_view_kind kind, const char *base,
		      const char *mount_at)
{
	struct manifest_view view = {
		.name = strdup(name),
		.kind = kind,
		.base = strdup(base),
		.mount_at = mount_at ? strdup(mount_at) : NULL,
	};
	struct manifest_view *views;

	if (!view.name || !view.base || (mount_at && !view.mount_at)) {
		view_release(&view);
		return -ENOMEM;
	}
	views = reallocarray(manifest->views, manifest->n_views + 1,
			     sizeof(*views));
	if (!views) {
		view_release(&view);
		return -ENOMEM;
	}
	views[manifest->n_views++] = view;
	manifest->views = views;
	return 0;
}

static struct manifest_view *find_view(const struct manifest *manifest,
				       const char *name)
{
	for (size_t i = 0; i < manifest->n_views; i++) {
		if (strcmp(manifest->views[i].name, name) == 0) {
			return &manifest->views[i];
		}
	}
	return NULL;
}

const struct manifest_view *manifest_view(const struct manifest *manifest,
					  const char *name)
{
	return find_view(manifest, name);
}

int manifest_add_mask(struct manifest *manifest, const char *name,
		      const char *path)
{
	struct manifest_view *view = find_view(manifest, name);
	size_t count = 0;
	char **masks;

	if (!view || !path_relative_valid(path)) {
		return view ? -EINVAL : -ENOENT;
	}
	while (view->masks && view->masks[count]) {
		count++;
	}
	masks = reallocarray(view->masks, count + 2, sizeof(*masks));
	if (!masks) {
		return -ENOMEM;
	}
	view->masks = masks;
	masks[count + 1] = NULL;
	masks[count] = strdup(path);
	return masks[count] ? 0 : -ENOMEM;
}

/* Copies the string `key`; absent or null gives NULL. */
static int read_string(yyjson_val *object, const char *key, char **ret)
{
	yyjson_val *value = yyjson_obj_get(object, key);
	char *copy;

	if (!value || yyjson_is_null(value)) {
		return 0;
	}
	if (!yyjson_is_str(value) ||
	    strlen(yyjson_get_str(value)) != yyjson_get_len(value)) {
		return -EBADMSG;
	}
	copy = strdup(yyjson_get_str(value));
	if (!copy) {
		return -ENOMEM;
	}
	*ret = copy;
	return 0;
}

static int read_command(yyjson_val *root, char ***ret)
{
	yyjson_val *list = yyjson_obj_get(root, "command");
	yyjson_val *item;
	size_t i;
	size_t max;

	if (!list || yyjson_is_null(list)) {
		return 0;
	}
	if (!yyjson_is_arr(list)) {
		return -EBADMSG;
	}
	*ret = calloc(yyjson_arr_size(list) + 1, sizeof(**ret));
	if (!*ret) {
		return -ENOMEM;
	}
	yyjson_arr_foreach(list, i, max, item)
	{
		if (!yyjson_is_str(item)) {
			return -EBADMSG;
		}
		(*ret)[i] = strdup(yyjson_get_str(item));
		if (!(*ret)[i]) {
			return -ENOMEM;
		}
	}
	return 0;
}

/* One limit; absent: it stays as it is. */
static int read_limit(yyjson_val *object, const char *key, uint64_t *limit)
{
	yyjson_val *value = yyjson_obj_get(object, key);

	if (!value) {
		return 0;
	}
	if (!yyjson_is_uint(value) || yyjson_get_uint(value) > INT64_MAX) {
		return -EBADMSG;
	}
	*limit = yyjson_get_uint(value);
	return 0;
}

static int read_quota(struct quota_limits *limits, yyjson_val *root)
{
	yyjson_val *object = yyjson_obj_get(root, "quota");
	int error;

	if (!object) {
		return 0;
	}
	if (!yyjson_is_obj(object)) {
		return -EBADMSG;
	}
	error = read_limit(object, "size", &limits->bytes);
	error = error ? error : read_limit(object, "files", &limits->files);
	return error ? error
		     : read_limit(object, "min_free", &limits->min_free);
}

static int read_kind(yyjson_val *object, enum manifest_view_kind *ret)
{
	const char *kind = yyjson_get_str(yyjson_obj_get(object, "kind"));

	for (size_t i = 0; kind && i < ARRAY_SIZE(kind_names); i++) {
		if (strcmp(kind, kind_names[i]) == 0) {
			*ret = (enum manifest_view_kind)i;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_masks(struct manifest *manifest, const char *view,
		      yyjson_val *object)
{
	yyjson_val *list = yyjson_obj_get(object, "masks");
	yyjson_val *item;
	size_t i;
	size_t max;

	if (list && !yyjson_is_arr(list)) {
		return -EBADMSG;
	}
	yyjson_arr_foreach(list, i, max, item)
	{
		const char *path = yyjson_get_str(item);
		int error = path && strlen(path) == yyjson_get_len(item)
				    ? manifest_add_mask(manifest, view, path)
				    : -EBADMSG;

		if (error) {
			return error == -EINVAL ? -EBADMSG : error;
		}
	}
	return 0;
}

static int read_view(struct manifest *manifest, yyjson_val *item)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *base = NULL;
	AUTO_FREE char *mount_at = NULL;
	enum manifest_view_kind kind;
	int error = read_string(item, "name", &name);

	error = error ? error : read_string(item, "base", &base);
	error = error ? error : read_string(item, "mount_at", &mount_at);
	error = error ? error : read_kind(item, &kind);
	if (error) {
		return error;
	}
	/* The name becomes a folder's: a broken file must not lead out. */
	if (!name || !path_component_valid(name) || !base || base[0] != '/' ||
	    manifest_view(manifest, name)) {
		return -EBADMSG;
	}
	error = manifest_add_view(manifest, name, kind, base, mount_at);
	return error ? error : read_masks(manifest, name, item);
}

static int read_views(struct manifest *manifest, yyjson_val *root)
{
	yyjson_val *list = yyjson_obj_get(root, "views");
	yyjson_val *item;
	size_t i;
	size_t max;

	if (!yyjson_is_arr(list)) {
		return -EBADMSG;
	}
	yyjson_arr_foreach(list, i, max, item)
	{
		int error = read_view(manifest, item);

		if (error) {
			return error;
		}
	}
	return 0;
}

static int read_root(struct manifest *manifest, yyjson_val *root)
{
	yyjson_val *format = yyjson_obj_get(root, "format");
	int error;

	if (!yyjson_is_int(format)) {
		return -EBADMSG;
	}
	if (yyjson_get_int(format) != MANIFEST_FORMAT) {
		return -EPROTONOSUPPORT;
	}
	error = read_string(root, "id", &manifest->id);
	error = error ? error : read_string(root, "name", &manifest->name);
	error = error ? error : read_string(root, "role", &manifest->role);
	error = error ? error
		      : read_string(root, "checkout", &manifest->checkout);
	error = error ? error : read_command(root, &manifest->command);
	error = error ? error : read_quota(&manifest->quota, root);
	error = error ? error : read_views(manifest, root);
	manifest->created_ns =
		yyjson_get_sint(yyjson_obj_get(root, "created_ns"));
	manifest->ended_ns = yyjson_get_sint(yyjson_obj_get(root, "ended_ns"));
	manifest->exit_code = yyjson_get_int(yyjson_obj_get(root, "exit_code"));
	if (!error && !manifest->id) {
		return -EBADMSG;
	}
	return error;
}

int manifest_read(struct manifest *ret_manifest, int dirfd)
{
	AUTO_FD fd = sys_openat(dirfd, MANIFEST_FILE, O_RDONLY | O_NOFOLLOW, 0);
	AUTO_BUF text = BUF_INIT;
	yyjson_doc *doc;
	int error;

	if (fd < 0) {
		return fd;
	}
	error = fdio_read_all(fd, &text, MANIFEST_MAX_BYTES);
	if (error) {
		return error;
	}
	doc = yyjson_read(text.data, text.len,
			  YYJSON_READ_ALLOW_INVALID_UNICODE);
	if (!doc) {
		return -EBADMSG;
	}
	manifest_init(ret_manifest);
	error = read_root(ret_manifest, yyjson_doc_get_root(doc));
	yyjson_doc_free(doc);
	if (error) {
		manifest_release(ret_manifest);
	}
	return error;
}

/* Nothing is added without strings. */
static void add_strings(yyjson_mut_doc *doc, yyjson_mut_val *object,
			const char *key, char *const *strings)
{
	yyjson_mut_val *list =
		strings ? yyjson_mut_obj_add_arr(doc, object, key) : NULL;

	for (; list && *strings; strings++) {
		yyjson_mut_arr_add_str(doc, list, *strings);
	}
}

static void add_optional(yyjson_mut_doc *doc, yyjson_mut_val *object,
			 const char *key, const char *value)
{
	if (value) {
		yyjson_mut_obj_add_str(doc, object, key, value);
	}
}

static void add_view(yyjson_mut_doc *doc, yyjson_mut_val *list,
		     const struct manifest_view *view)
{
	yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);

	yyjson_mut_obj_add_str(doc, item, "name", view->name);
	yyjson_mut_obj_add_str(doc, item, "kind", kind_names[view->kind]);
	yyjson_mut_obj_add_str(doc, item, "base", view->base);
	add_optional(doc, item, "mount_at", view->mount_at);
	add_strings(doc, item, "masks", view->masks);
}

static void add_quota(yyjson_mut_doc *doc, yyjson_mut_val *root,
		      const struct quota_limits *limits)
{
	yyjson_mut_val *object;

	if (!quota_limits_any(limits)) {
		return;
	}
	object = yyjson_mut_obj_add_obj(doc, root, "quota");
	if (limits->bytes != QUOTA_NONE) {
		yyjson_mut_obj_add_uint(doc, object, "size", limits->bytes);
	}
	if (limits->files != QUOTA_NONE) {
		yyjson_mut_obj_add_uint(doc, object, "files", limits->files);
	}
	if (limits->min_free) {
		yyjson_mut_obj_add_uint(doc, object, "min_free",
					limits->min_free);
	}
}

static yyjson_mut_doc *to_json(const struct manifest *manifest)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
	yyjson_mut_val *root = yyjson_mut_obj(doc);
	yyjson_mut_val *views;

	yyjson_mut_doc_set_root(doc, root);
	yyjson_mut_obj_add_int(doc, root, "format", MANIFEST_FORMAT);
	yyjson_mut_obj_add_str(doc, root, "id", manifest->id);
	add_optional(doc, root, "name", manifest->name);
	add_optional(doc, root, "role", manifest->role);
	add_optional(doc, root, "checkout", manifest->checkout);
	add_strings(doc, root, "command", manifest->command);
	yyjson_mut_obj_add_sint(doc, root, "created_ns", manifest->created_ns);
	if (manifest->ended_ns) {
		yyjson_mut_obj_add_sint(doc, root, "ended_ns",
					manifest->ended_ns);
		yyjson_mut_obj_add_int(doc, root, "exit_code",
				       manifest->exit_code);
	}
	add_quota(doc, root, &manifest->quota);
	views = yyjson_mut_obj_add_arr(doc, root, "views");
	for (size_t i = 0; i < manifest->n_views; i++) {
		add_view(doc, views, &manifest->views[i]);
	}
	return doc;
}

/* NULL without memory. Caller frees. */
static char *to_text(const struct manifest *manifest, size_t *ret_len)
{
	yyjson_mut_doc *doc = to_json(manifest);
	/* Paths are bytes: they go through as they are. */
	char *text = yyjson_mut_write(
		doc,
		YYJSON_WRITE_PRETTY | YYJSON_WRITE_NEWLINE_AT_END |
			YYJSON_WRITE_ALLOW_INVALID_UNICODE,
		ret_len);

	yyjson_mut_doc_free(doc);
	return text;
}

int manifest_write(const struct manifest *manifest, int dirfd)
{
	size_t len = 0;
	AUTO_FREE char *text = to_text(manifest, &len);

	return text ? fdio_replace_file(dirfd, MANIFEST_FILE, text, len)
		    : -ENOMEM;
}

int manifest_write_for_now(const struct manifest *manifest, int dirfd)
{
	size_t len = 0;
	AUTO_FREE char *text = to_text(manifest, &len);

	return text ? fdio_replace_file_for_now(dirfd, MANIFEST_FILE, text, len)
		    : -ENOMEM;
}

int manifest_sync(int dirfd)
{
	AUTO_FD fd = sys_openat(dirfd, MANIFEST_FILE, O_RDONLY | O_NOFOLLOW, 0);

	return fd < 0 ? fd : sys_fsync(fd);
}
