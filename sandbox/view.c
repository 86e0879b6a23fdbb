#include "view.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "err.h"
#include "execution.h"
#include "failure.h"
#include "manifest.h"
#include "path.h"
#include "spec.h"
#include "sys.h"

#define RESOLV_CONF      "/etc/resolv.conf"
#define VAR_TMP          "/var/tmp"
#define LINKS_MAX        40   /* as the kernel's */
#define MOUNT_POINT_MODE 0755 /* as a person's mkdir */
#define TMP_MODE         01777

/* Read-only where they are. */
static const char *const system_tops[] = {"/usr", "/etc", "/opt"};

/* Links into /usr on a merged system, folders on an older one. */
static const char *const merged_tops[] = {"/bin",   "/sbin",  "/lib",
					  "/lib32", "/lib64", "/libx32"};

static void add_mount(struct mounts *mounts, enum mount_kind kind,
		      const char *source, const char *target)
{
	struct mount *list =
		reallocarray(mounts->list, mounts->count + 1, sizeof(*list));

	die_if_no_memory(!list);
	mounts->list = list;
	mounts->list[mounts->count++] = (struct mount){
		.kind = kind,
		.source = source ? text_copy(source) : NULL,
		.target = text_copy(target),
	};
}

static void mount_release(struct mount *mount)
{
	free(mount->source);
	free(mount->target);
}

void mounts_release(struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		mount_release(&mounts->list[i]);
	}
	free(mounts->list);
	*mounts = (struct mounts){0};
}

static void declare_scratch(struct manifest *manifest, const char *name,
			    const char *execution_path, const char *mount_at)
{
	AUTO_FREE char *base = text_format("%s/" EXECUTION_VIEWS_DIR "/%s/base",
					   execution_path, name);

	die_if_no_memory(manifest_add_view(manifest, name, MANIFEST_SCRATCH,
					   base, mount_at));
}

void view_declare(struct manifest *manifest, const struct spec *spec,
		  const char *execution_path)
{
	if (spec->role == ROLE_REVIEW) {
		die_if_no_memory(
			manifest_add_view(manifest, "work", MANIFEST_OVERLAY,
					  spec->checkout, spec->checkout));
	}
	/* Containers often have HOME=/tmp: then one view is both. */
	if (strcmp(spec->home, SPEC_TMP) != 0) {
		declare_scratch(manifest, "home", execution_path, spec->home);
	}
	declare_scratch(manifest, "tmp", execution_path, SPEC_TMP);
}

static void plan_system(struct mounts *mounts)
{
	char text[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(system_tops); i++) {
		if (stat(system_tops[i], &st) == 0) {
			add_mount(mounts, MOUNT_RO_BIND, system_tops[i],
				  system_tops[i]);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(merged_tops); i++) {
		const char *top = merged_tops[i];
		ssize_t len = readlink(top, text, sizeof(text) - 1);

		if (len > 0) {
			text[len] = '\0';
			add_mount(mounts, MOUNT_LINK, text, top);
		} else if (stat(top, &st) == 0) {
			add_mount(mounts, MOUNT_RO_BIND, top, top);
		}
	}
}

static void plan_own(struct mounts *mounts, const char *shim)
{
	add_mount(mounts, MOUNT_PROC, NULL, "/proc");
	add_mount(mounts, MOUNT_DEV, NULL, "/dev");
	add_mount(mounts, MOUNT_FOLDER, NULL, "/run");
	add_mount(mounts, MOUNT_FOLDER, NULL, "/var");
	add_mount(mounts, MOUNT_LINK, "/run", "/var/run");
	add_mount(mounts, MOUNT_RO_BIND, shim, VIEW_EXEC_AT);
}

/* The path of `link`'s target, with the folder that it is in resolved: "/etc"
 * + "../run/x/resolv.conf" = "/run/x/resolv.conf". NULL if there is none. */
static char *follow_once(const char *link)
{
	AUTO_FREE char *folder = NULL;
	AUTO_FREE char *joined = NULL;
	char text[PATH_MAX];
	ssize_t len = readlink(link, text, sizeof(text) - 1);
	char *slash;

	if (len <= 0) {
		return NULL;
	}
	text[len] = '\0';
	joined = text[0] == '/' ? text_copy(text)
				: text_format("%.*s/%s",
					      (int)(strrchr(link, '/') - link),
					      link, text);
	slash = strrchr(joined, '/');
	*slash = '\0';
	folder = realpath(*joined ? joined : "/", NULL);
	return folder ? text_format("%s/%s", folder, slash + 1) : NULL;
}

/* systemd-resolved and others keep it below /run: what the sandbox finds at
 * the end of the link out of /etc must be the file. */
static void plan_resolv_conf(struct mounts *mounts)
{
	AUTO_FREE char *real = realpath(RESOLV_CONF, NULL);
	AUTO_FREE char *at = text_copy(RESOLV_CONF);

	for (int i = 0; real && i < LINKS_MAX; i++) {
		char *next = follow_once(at);

		if (!next) {
			return;
		}
		free(at);
		at = next;
		if (!path_is_within(at, "/etc")) {
			break;
		}
	}
	if (real && !path_is_within(at, "/etc") &&
	    !path_is_within(at, "/usr")) {
		add_mount(mounts, MOUNT_RO_BIND, real, at);
	}
}

static void add_view(struct mounts *mounts, const struct manifest_view *view,
		     const char *execution_path, const char *mount_at)
{
	AUTO_FREE char *source = text_format("%s/" EXECUTION_MOUNT_DIR "/%s",
					     execution_path, view->name);

	add_mount(mounts, MOUNT_BIND, source, mount_at);
	mounts->list[mounts->count - 1].view = view->name;
}

static void plan_views(struct mounts *mounts, const struct spec *spec,
		       const struct manifest *manifest,
		       const char *execution_path)
{
	if (spec->role != ROLE_REVIEW) {
		add_mount(mounts,
			  spec->role == ROLE_WORK ? MOUNT_BIND : MOUNT_RO_BIND,
			  spec->checkout, spec->checkout);
	}
	for (size_t i = 0; i < manifest->n_views; i++) {
		add_view(mounts, &manifest->views[i], execution_path,
			 manifest->views[i].mount_at);
	}
	/* No link to /tmp: a checkout below it must have a parent that is a
	 * view, to have its mount point in. */
	if (strcmp(spec->home, VAR_TMP) != 0 &&
	    strcmp(spec->checkout, VAR_TMP) != 0) {
		add_view(mounts, manifest_view(manifest, "tmp"), execution_path,
			 VAR_TMP);
	}
}

/* By target, so that a parent, which is a prefix, comes first. */
static int compare_mounts(const void *a, const void *b)
{
	const struct mount *left = a;
	const struct mount *right = b;
	int order = strcmp(left->target, right->target);

	/* Of two at one place (a home that is /opt) the view stands. */
	return order ? order : !!right->view - !!left->view;
}

static void sort_and_merge(struct mounts *mounts)
{
	size_t kept = 0;

	qsort(mounts->list, mounts->count, sizeof(*mounts->list),
	      compare_mounts);
	for (size_t i = 0; i < mounts->count; i++) {
		struct mount *mount = &mounts->list[i];

		if (kept > 0 &&
		    strcmp(mounts->list[kept - 1].target, mount->target) == 0) {
			mount_release(mount);
		} else {
			mounts->list[kept++] = *mount;
		}
	}
	mounts->count = kept;
}

/* The innermost mount that `mounts->list[index]` lies in, or NULL: the
 * sandbox's root. Parents come first, so it is the nearest one before. */
static const struct mount *mount_parent(const struct mounts *mounts,
					size_t index)
{
	const struct mount *parent = NULL;

	for (size_t i = 0; i < index; i++) {
		const struct mount *at = &mounts->list[i];

		if (at->kind != MOUNT_FOLDER && at->kind != MOUNT_LINK &&
		    path_is_within(mounts->list[index].target, at->target)) {
			parent = at;
		}
	}
	return parent;
}

static int check_checkout_untouched(const struct mounts *mounts,
				    const struct spec *spec)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const char *target = mounts->list[i].target;

		if (strcmp(target, spec->checkout) != 0 &&
		    path_is_within(target, spec->checkout)) {
			return failure(EXIT_NOT_SET_UP,
				       "checkout '%s' contains '%s', which is "
				       "the sandbox's own",
				       spec->checkout, target);
		}
	}
	return 0;
}

int view_plan(struct mounts *ret_mounts, const struct spec *spec,
	      const struct manifest *manifest, const char *execution_path,
	      const char *shim)
{
	*ret_mounts = (struct mounts){0};
	plan_system(ret_mounts);
	plan_own(ret_mounts, shim);
	plan_resolv_conf(ret_mounts);
	plan_views(ret_mounts, spec, manifest, execution_path);
	sort_and_merge(ret_mounts);
	return check_checkout_untouched(ret_mounts, spec);
}

/* mkdir -p of `path` beneath `base`. 0 or -errno. */
static int make_mount_point(const char *base, const char *path)
{
	AUTO_FD at = sys_openat(AT_FDCWD, base, O_PATH | O_DIRECTORY, 0);
	AUTO_FREE char *copy = text_copy(path);
	char *save = NULL;

	if (at < 0) {
		return at;
	}
	for (char *name = strtok_r(copy, "/", &save); name;
	     name = strtok_r(NULL, "/", &save)) {
		int error = sys_mkdirat(at, name, MOUNT_POINT_MODE);
		int next;

		if (error && error != -EEXIST) {
			return error;
		}
		next = sys_openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW,
				  0);
		if (next < 0) {
			return next;
		}
		sys_close(at);
		at = next;
	}
	return 0;
}

static int make_mount_points(const struct manifest *manifest,
			     const struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const char *target = mounts->list[i].target;
		const struct mount *parent = mount_parent(mounts, i);
		const struct manifest_view *view =
			parent && parent->view
				? manifest_view(manifest, parent->view)
				: NULL;
		int error;

		if (!view || view->kind != MANIFEST_SCRATCH) {
			continue;
		}
		error = make_mount_point(view->base,
					 path_beneath(target, parent->target));
		if (error) {
			return failure(EXIT_NOT_SET_UP,
				       "cannot make the mount point '%s': %s",
				       target, err_text(error));
		}
	}
	return 0;
}

/* Programs that change their user (apt) need /tmp open, as everywhere. */
static int open_tmp(const struct execution *execution)
{
	static const char *const parts[] = {
		EXECUTION_VIEWS_DIR "/tmp/upper",
		EXECUTION_VIEWS_DIR "/tmp/base",
	};
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(parts); i++) {
		error = sys_fchmodat(execution->dir_fd, parts[i], TMP_MODE);
	}
	return error;
}

int view_make(const struct execution *execution,
	      const struct manifest *manifest, const struct mounts *mounts)
{
	int error = 0;

	for (size_t i = 0; !error && i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];

		error = execution_make_view(execution, view->name,
					    view->kind == MANIFEST_SCRATCH);
	}
	error = error ? error : open_tmp(execution);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make the views in '%s': %s",
			       execution->path, err_text(error));
	}
	return make_mount_points(manifest, mounts);
}
