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
#include "policy.h"
#include "spec.h"
#include "sshconf.h"
#include "sys.h"

#define RESOLV_CONF           "/etc/resolv.conf"
#define VAR_TMP               "/var/tmp"
#define LINKS_MAX             40   /* as the kernel's */
#define MOUNT_POINT_MODE      0755 /* as a person's mkdir */
#define MOUNT_POINT_FILE_MODE 0644
#define WORK_VIEW             "work"
#define GIT_VIEW              "git"
#define SHOWN_VIEW            "mount-"
#define TMP_MODE              01777

/* Links into /usr on a merged system, folders on an older one. */
static const char *const merged_tops[] = {"/bin",   "/sbin",  "/lib",
					  "/lib32", "/lib64", "/libx32"};

static void declare_scratch(struct manifest *manifest, const char *name,
			    const char *execution_path, const char *mount_at)
{
	AUTO_FREE char *base = text_format("%s/" EXECUTION_VIEWS_DIR "/%s/base",
					   execution_path, name);

	die_if_no_memory(manifest_add_view(manifest, name, MANIFEST_SCRATCH,
					   base, mount_at));
}

/* A view with the real folder beneath it and `masks`, absolute, left out. */
static void declare_overlay(struct manifest *manifest, const char *name,
			    const char *base, const char *mount_at,
			    const struct strv *masks)
{
	die_if_no_memory(manifest_add_view(manifest, name, MANIFEST_OVERLAY,
					   base, mount_at));
	for (size_t i = 0; i < masks->count; i++) {
		die_if_no_memory(manifest_add_mask(
			manifest, name,
			path_beneath(masks->list[i], mount_at)));
	}
}

/* Whether a view stands for the checkout, or its repository. Where nothing is
 * to be written and nothing masked the real one will do. */
static bool has_view(const struct spec *spec, const struct strv *masks)
{
	return spec->role == ROLE_REVIEW || spec->overlay || masks->count > 0;
}

/* Whether a view stands for a mount of the configuration, to mask what is
 * hidden in it. */
static bool has_own_view(const struct shown *shown)
{
	return !shown->system && shown->masks.count > 0;
}

static char *shown_view_name(size_t index)
{
	return text_format(SHOWN_VIEW "%zu", index);
}

void view_declare(struct manifest *manifest, const struct spec *spec,
		  const struct policy *policy, const char *execution_path)
{
	if (has_view(spec, &policy->masks)) {
		declare_overlay(manifest, WORK_VIEW, spec->checkout,
				spec->checkout, &policy->masks);
	}
	if (policy->git && has_view(spec, &policy->git_masks)) {
		declare_overlay(manifest, GIT_VIEW, policy->git, policy->git,
				&policy->git_masks);
	}
	/* Containers often have HOME=/tmp: then one view is both. */
	if (strcmp(spec->home, SPEC_TMP) != 0) {
		declare_scratch(manifest, "home", execution_path, spec->home);
	}
	declare_scratch(manifest, "tmp", execution_path, SPEC_TMP);
	for (size_t i = 0; i < policy->seen.count; i++) {
		const struct shown *shown = &policy->seen.list[i];
		AUTO_FREE char *name = shown_view_name(i);

		if (has_own_view(shown)) {
			declare_overlay(manifest, name, shown->real,
					shown->target, &shown->masks);
		}
	}
}

static void plan_merged(struct mounts *mounts)
{
	char text[PATH_MAX];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(merged_tops); i++) {
		const char *top = merged_tops[i];
		ssize_t len = readlink(top, text, sizeof(text) - 1);

		if (len > 0) {
			text[len] = '\0';
			mounts_add(mounts, MOUNT_LINK, text, top);
		} else if (stat(top, &st) == 0) {
			mounts_add(mounts, MOUNT_RO_BIND, top, top);
		}
	}
}

static void plan_cover(struct mounts *mounts, const char *path,
		       const char *rule)
{
	struct stat st;
	bool is_folder = stat(path, &st) == 0 && S_ISDIR(st.st_mode);

	mounts_add(mounts, is_folder ? MOUNT_COVER_DIR : MOUNT_COVER_FILE, NULL,
		   path)
		->rule = rule;
}

/* What has a view of its own is left to plan_views. */
static void plan_shown(struct mounts *mounts, const struct seen *seen)
{
	for (size_t i = 0; i < seen->count; i++) {
		const struct shown *shown = &seen->list[i];
		struct mount *mount;

		if (has_own_view(shown)) {
			continue;
		}
		mount = mounts_add(mounts,
				   shown->write ? MOUNT_BIND : MOUNT_RO_BIND,
				   shown->real, shown->target);
		mount->rule = shown->rule;
		mount->file = shown->file;
		for (size_t j = 0; j < shown->masks.count; j++) {
			plan_cover(mounts, shown->masks.list[j], shown->rule);
		}
	}
}

/* The kernel asks for root's uid here and for no capability: through
 * /proc/sys/kernel/core_pattern a command could be run outside. bwrap leaves
 * /proc/sys as it is, since access(2) says even to root that the folder can't
 * be written. */
static void plan_shut_proc(struct mounts *mounts)
{
	static const char *const places[] = {
		"/proc/sys",  "/proc/sysrq-trigger", "/proc/fs",
		"/proc/acpi", "/proc/scsi",          "/proc/mtrr",
	};

	for (size_t i = 0; geteuid() == 0 && i < ARRAY_SIZE(places); i++) {
		if (access(places[i], F_OK) == 0) {
			mounts_add(mounts, MOUNT_RO_BIND, places[i], places[i]);
		}
	}
}

static void plan_own(struct mounts *mounts, const char *shim)
{
	mounts_add(mounts, MOUNT_PROC, NULL, "/proc");
	plan_shut_proc(mounts);
	mounts_add(mounts, MOUNT_DEV, NULL, "/dev");
	mounts_add(mounts, MOUNT_FOLDER, NULL, "/run");
	mounts_add(mounts, MOUNT_FOLDER, NULL, "/var");
	mounts_add(mounts, MOUNT_LINK, "/run", "/var/run");
	mounts_add(mounts, MOUNT_RO_BIND, shim, VIEW_EXEC_AT);
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
		mounts_add(mounts, MOUNT_RO_BIND, real, at);
	}
}

static void add_view(struct mounts *mounts, const struct manifest_view *view,
		     const char *execution_path, enum mount_kind kind,
		     const char *mount_at)
{
	AUTO_FREE char *source = text_format("%s/" EXECUTION_MOUNT_DIR "/%s",
					     execution_path, view->name);

	mounts_add(mounts, kind, source, mount_at)->view = view->name;
}

/* A view is there to be written, unless it only masks. */
static enum mount_kind view_kind(const struct spec *spec, const char *name)
{
	bool only_masks =
		strncmp(name, SHOWN_VIEW, strlen(SHOWN_VIEW)) == 0 ||
		(spec->role == ROLE_FIND_OUT && !spec->overlay &&
		 (strcmp(name, WORK_VIEW) == 0 || strcmp(name, GIT_VIEW) == 0));

	return only_masks ? MOUNT_RO_BIND : MOUNT_BIND;
}

static void plan_views(struct mounts *mounts, const struct spec *spec,
		       const struct policy *policy,
		       const struct manifest *manifest,
		       const char *execution_path)
{
	enum mount_kind real =
		spec->role == ROLE_WORK ? MOUNT_BIND : MOUNT_RO_BIND;

	if (!manifest_view(manifest, WORK_VIEW)) {
		mounts_add(mounts, real, spec->checkout, spec->checkout);
	}
	if (policy->git && !manifest_view(manifest, GIT_VIEW)) {
		mounts_add(mounts, real, policy->git, policy->git);
	}
	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];

		add_view(mounts, view, execution_path,
			 view_kind(spec, view->name), view->mount_at);
	}
	/* No link to /tmp: a checkout below it must have a parent that is a
	 * view, to have its mount point in. */
	if (strcmp(spec->home, VAR_TMP) != 0 &&
	    strcmp(spec->checkout, VAR_TMP) != 0) {
		add_view(mounts, manifest_view(manifest, "tmp"), execution_path,
			 MOUNT_BIND, VAR_TMP);
	}
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
	      const struct policy *policy, const struct manifest *manifest,
	      const char *execution_path, const char *shim)
{
	*ret_mounts = (struct mounts){0};
	plan_merged(ret_mounts);
	plan_shown(ret_mounts, &policy->seen);
	plan_own(ret_mounts, shim);
	plan_resolv_conf(ret_mounts);
	sshconf_plan(ret_mounts, execution_path);
	plan_views(ret_mounts, spec, policy, manifest, execution_path);
	mounts_sort(ret_mounts);
	return check_checkout_untouched(ret_mounts, spec);
}

/* mkdir -p of all of `path` but its last name, beneath `base`. Gives the folder
 * and the name. 0 or -errno. */
static int make_parents(const char *base, char *path, int *ret_fd,
			const char **ret_name)
{
	AUTO_FD at = sys_openat(AT_FDCWD, base, O_PATH | O_DIRECTORY, 0);
	char *slash;

	while (at >= 0 && (slash = strchr(path, '/')) != NULL) {
		int error;
		int next;

		*slash = '\0';
		error = sys_mkdirat(at, path, MOUNT_POINT_MODE);
		if (error && error != -EEXIST) {
			return error;
		}
		next = sys_openat(at, path, O_PATH | O_DIRECTORY | O_NOFOLLOW,
				  0);
		if (next < 0) {
			return next;
		}
		sys_close(at);
		at = next;
		path = slash + 1;
	}
	if (at < 0) {
		return at;
	}
	*ret_name = path;
	*ret_fd = TAKE_FD(at);
	return 0;
}

/* `path` beneath `base`: a folder, or an empty file. 0 or -errno. */
static int make_mount_point(const char *base, const char *path, bool file)
{
	AUTO_FREE char *copy = text_copy(path);
	AUTO_FD folder = -1;
	AUTO_FD made = -1;
	const char *name;
	int error = make_parents(base, copy, &folder, &name);

	if (error || !*name) {
		return error;
	}
	if (!file) {
		error = sys_mkdirat(folder, name, MOUNT_POINT_MODE);
		return error == -EEXIST ? 0 : error;
	}
	made = sys_openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW,
			  MOUNT_POINT_FILE_MODE);
	return made < 0 ? made : 0;
}

static int make_mount_points(const struct manifest *manifest,
			     const struct mounts *mounts)
{
	for (size_t i = 0; i < mounts->count; i++) {
		const char *target = mounts->list[i].target;
		const struct mount *parent = mounts_around(mounts, i, target);
		const struct manifest_view *view =
			parent && parent->view
				? manifest_view(manifest, parent->view)
				: NULL;
		int error;

		if (!view || view->kind != MANIFEST_SCRATCH) {
			continue;
		}
		error = make_mount_point(view->base,
					 path_beneath(target, parent->target),
					 mounts->list[i].file);
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
	error = error ? error : sshconf_make(mounts, execution->dir_fd);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make the views in '%s': %s",
			       execution->path, err_text(error));
	}
	return make_mount_points(manifest, mounts);
}
