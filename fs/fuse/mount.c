#include "mount.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "background.h"
#include "buf.h"
#include "err.h"
#include "execution.h"
#include "manifest.h"
#include "path.h"
#include "serve.h"
#include "sys.h"
#include "views.h"

#define EXIT_USAGE 2
#define NS_PER_S   INT64_C(1000000000)

struct mounting {
	const char *scratch_dir; /* NULL: the default */
	const char *mount_point; /* as given */
	char *mount_path;        /* absolute, owned */
	bool foreground;
	bool debug;
	bool ask_open;
	off_t blocks_from_bytes; /* see serve.h */
	bool no_journal;
	struct manifest manifest; /* views with their bases, as asked for */
	struct execution execution;
	int ready_fd; /* to the waiting parent; -1 in the foreground */
	bool was_ready;
};

static int complain(const char *what, const char *subject, int error)
{
	fprintf(stderr, "legato-fs: %s '%s': %s\n", what, subject,
		err_text(error));
	return error;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* "NAME=BASE" */
static int add_overlay(struct manifest *manifest, const char *text)
{
	const char *equals = strchr(text, '=');
	AUTO_FREE char *name =
		equals ? strndup(text, (size_t)(equals - text)) : NULL;
	AUTO_FREE char *base = equals ? realpath(equals + 1, NULL) : NULL;

	if (!name || !path_component_valid(name) ||
	    manifest_view(manifest, name)) {
		return complain("bad view", text, -EINVAL);
	}
	if (!base) {
		return complain("cannot open", equals + 1, -errno);
	}
	return manifest_add_view(manifest, name, MANIFEST_OVERLAY, base, NULL);
}

/* The base's path is known once the execution's folder is. */
static int add_scratch(struct manifest *manifest, const char *name)
{
	if (!path_component_valid(name) || manifest_view(manifest, name)) {
		return complain("bad view", name, -EINVAL);
	}
	return manifest_add_view(manifest, name, MANIFEST_SCRATCH, "/", NULL);
}

/* "VIEW:PATH"; views come before their masks. */
static int add_mask(struct manifest *manifest, const char *text)
{
	const char *colon = strchr(text, ':');
	AUTO_FREE char *name =
		colon ? strndup(text, (size_t)(colon - text)) : NULL;
	int error =
		name ? manifest_add_mask(manifest, name, colon + 1) : -EINVAL;

	return error ? complain("bad mask", text, error) : 0;
}

static int set_quota(struct manifest *manifest, const char *text)
{
	const char *bad = text;
	int error = quota_parse(text, &manifest->quota, &bad);

	return error ? complain("bad quota", bad, error) : 0;
}

static int parse(struct mounting *mounting, int argc, char **argv)
{
	static const struct option options[] = {
		{"scratch", required_argument, NULL, 's'},
		{"overlay", required_argument, NULL, 'o'},
		{"view", required_argument, NULL, 'v'},
		{"mask", required_argument, NULL, 'm'},
		{"quota", required_argument, NULL, 'q'},
		{"foreground", no_argument, NULL, 'f'},
		{"debug", no_argument, NULL, 'd'},
		{"ask-open", no_argument, NULL, 'a'},
		{"blocks-from", required_argument, NULL, 'b'},
		{"no-journal", no_argument, NULL, 'j'},
		{0},
	};
	int option;
	int error = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's':
			mounting->scratch_dir = optarg;
			break;
		case 'o':
			error = add_overlay(&mounting->manifest, optarg);
			break;
		case 'v':
			error = add_scratch(&mounting->manifest, optarg);
			break;
		case 'm':
			error = add_mask(&mounting->manifest, optarg);
			break;
		case 'q':
			error = set_quota(&mounting->manifest, optarg);
			break;
		case 'f':
			mounting->foreground = true;
			break;
		case 'd':
			mounting->debug = true;
			break;
		case 'a':
			mounting->ask_open = true;
			break;
		case 'b':
			error = serve_parse_blocks_from(
				optarg, &mounting->blocks_from_bytes);
			break;
		case 'j':
			mounting->no_journal = true;
			break;
		default:
			return -EINVAL;
		}
		if (error) {
			return error;
		}
	}
	if (optind + 1 != argc || !mounting->manifest.n_views) {
		fputs("usage: legato-fs mount [--scratch DIR] "
		      "[--overlay NAME=BASE]... [--view NAME]...\n"
		      "                       [--mask VIEW:PATH]... "
		      "[--quota LIMITS] [--ask-open]\n"
		      "                       [--blocks-from BYTES] "
		      "[--no-journal] [--foreground] "
		      "[--debug] MNT\n",
		      stderr);
		return -EINVAL;
	}
	mounting->mount_point = argv[optind];
	return 0;
}

static int make_views(struct mounting *mounting)
{
	struct manifest *manifest = &mounting->manifest;

	for (size_t i = 0; i < manifest->n_views; i++) {
		struct manifest_view *view = &manifest->views[i];
		bool scratch = view->kind == MANIFEST_SCRATCH;
		int error = execution_make_view(&mounting->execution,
						view->name, scratch);

		if (error) {
			return error;
		}
		if (!scratch) {
			continue;
		}
		free(view->base);
		if (asprintf(&view->base, "%s/%s/%s/base",
			     mounting->execution.path, EXECUTION_VIEWS_DIR,
			     view->name) < 0) {
			view->base = NULL;
			return -ENOMEM;
		}
	}
	return 0;
}

/* Nothing may be made inside a base, not even to find out that it can't be
 * used. What the scratch folder will be is known by the part of its path that
 * is there. */
static int check_scratch(const struct manifest *manifest, const char *scratch)
{
	AUTO_FREE char *there = strdup(scratch);
	AUTO_FREE char *path = NULL;

	while (there && !(path = realpath(*there ? there : ".", NULL))) {
		char *slash = strrchr(there, '/');

		if (errno != ENOENT) {
			return complain("cannot open", scratch, -errno);
		}
		*(slash == there ? slash + 1 : slash ? slash : there) = '\0';
	}
	for (size_t i = 0; path && i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];

		if (view->kind == MANIFEST_OVERLAY &&
		    path_is_within(path, view->base)) {
			fprintf(stderr,
				"legato-fs: scratch folder '%s' lies inside "
				"'%s'\n",
				scratch, view->base);
			return -EINVAL;
		}
	}
	return path ? 0 : -ENOMEM;
}

static int make_folder(struct mounting *mounting)
{
	AUTO_FREE char *fallback = NULL;
	const char *scratch_dir = mounting->scratch_dir;
	int error = 0;

	if (!scratch_dir) {
		error = execution_default_scratch(&fallback);
		scratch_dir = fallback;
	}
	if (!error && check_scratch(&mounting->manifest, scratch_dir)) {
		return -EINVAL;
	}
	error = error ? error
		      : execution_create(&mounting->execution, scratch_dir);
	return error ? complain("cannot make an execution in",
				scratch_dir ? scratch_dir : "$HOME", error)
		     : 0;
}

static int make_execution(struct mounting *mounting)
{
	struct manifest *manifest = &mounting->manifest;
	int error = make_folder(mounting);

	if (error) {
		return error;
	}
	manifest->id = strdup(mounting->execution.id);
	manifest->created_ns = now_ns();
	error = manifest->id ? make_views(mounting) : -ENOMEM;
	error = error ? error
		      : manifest_write(manifest, mounting->execution.dir_fd);
	return error ? complain("cannot set up", mounting->execution.path,
				error)
		     : 0;
}

/* A mount point inside the scratch folder, or above it, can't work. */
static int check_mount_point(struct mounting *mounting)
{
	const char *own = mounting->execution.path;
	struct stat st;

	mounting->mount_path = realpath(mounting->mount_point, NULL);
	if (!mounting->mount_path || stat(mounting->mount_path, &st)) {
		return complain("cannot open", mounting->mount_point, -errno);
	}
	if (!S_ISDIR(st.st_mode)) {
		return complain("cannot mount at", mounting->mount_point,
				-ENOTDIR);
	}
	if (path_is_within(mounting->mount_path, own) ||
	    path_is_within(own, mounting->mount_path)) {
		fprintf(stderr,
			"legato-fs: mount point '%s' and scratch folder '%s' "
			"overlap\n",
			mounting->mount_path, own);
		return -EINVAL;
	}
	return 0;
}

static int on_ready(void *data, int fuse_fd)
{
	struct mounting *mounting = data;

	(void)fuse_fd;
	mounting->was_ready = true;
	printf("%s\n", mounting->execution.id);
	fflush(stdout);
	return background_ready(mounting->ready_fd);
}

/* Where it can't be written, the disk being full, the execution looks killed.
 */
static int write_end(struct mounting *mounting)
{
	int error;

	mounting->manifest.ended_ns = now_ns();
	error = manifest_write(&mounting->manifest, mounting->execution.dir_fd);
	if (error) {
		fprintf(stderr,
			"legato-fs: cannot write the end into '%s': %s\n",
			mounting->execution.path, err_text(error));
	}
	return error;
}

static int serve_here(struct mounting *mounting)
{
	struct serve_options options = {
		.add_views = views_add,
		.views_data = &mounting->execution,
		.execution_fd = mounting->execution.dir_fd,
		.no_journal = mounting->no_journal,
		.mount_point = mounting->mount_path,
		.single = mounting->manifest.n_views == 1,
		.ids = IDS_INIT,
		.control_fd = -1,
		.ask_open = mounting->ask_open,
		.blocks_from_bytes = mounting->blocks_from_bytes,
		.execution = &mounting->execution,
		.ready = on_ready,
		.ready_data = mounting,
	};
	int error = views_open_log(&mounting->execution, mounting->debug);

	error = error ? error : serve(&options);
	return error ? error : write_end(mounting);
}

static int serve_child(void *data, int ready_fd)
{
	struct mounting *mounting = data;

	mounting->ready_fd = ready_fd;
	return serve_here(mounting);
}

int mount_command(int argc, char **argv)
{
	struct mounting mounting = {
		.execution = EXECUTION_INIT,
		.ready_fd = -1,
		.blocks_from_bytes = -1,
	};
	bool made;
	int error;

	manifest_init(&mounting.manifest);
	error = parse(&mounting, argc, argv);
	if (error) {
		manifest_release(&mounting.manifest);
		return EXIT_USAGE;
	}
	error = make_execution(&mounting);
	made = mounting.execution.path;
	error = error ? error : check_mount_point(&mounting);
	if (!error) {
		error = mounting.foreground
				? serve_here(&mounting)
				: background_run(serve_child, &mounting);
	}
	/* Once it was served it holds what somebody changed. */
	if (error && made && !mounting.was_ready &&
	    execution_remove(&mounting.execution)) {
		fprintf(stderr, "legato-fs: cannot remove '%s'\n",
			mounting.execution.path);
	}
	free(mounting.mount_path);
	execution_release(&mounting.execution);
	manifest_release(&mounting.manifest);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}
