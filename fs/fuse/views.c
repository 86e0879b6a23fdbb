#include "views.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include "err.h"
#include "log.h"
#include "manifest.h"
#include "path.h"
#include "quota_count.h"
#include "quota_page.h"
#include "sys.h"

/* A base that holds the execution's folder would show the view in itself. */
static int check_base(const struct execution *execution,
		      const struct manifest_view *view)
{
	char base[PATH_MAX];
	char own[PATH_MAX];
	AUTO_FD fd = sys_openat(AT_FDCWD, view->base, O_PATH | O_DIRECTORY, 0);
	int error = fd < 0 ? fd : sys_fd_path(fd, base, sizeof(base));

	error = error ? error
		      : sys_fd_path(execution->dir_fd, own, sizeof(own));
	if (error) {
		fprintf(stderr, "legato-fs: cannot open '%s': %s\n", view->base,
			err_text(error));
		return error;
	}
	if (path_is_within(own, base)) {
		fprintf(stderr,
			"legato-fs: scratch folder '%s' lies inside '%s'\n",
			own, base);
		return -EINVAL;
	}
	return 0;
}

static int add_view(const struct execution *execution, struct fs *fs,
		    const struct manifest_view *view)
{
	AUTO_BUF upper = BUF_INIT;
	AUTO_BUF work = BUF_INIT;
	AUTO_BUF links = BUF_INIT;
	const char *lowers[] = {view->base};
	struct view_config config = {
		.name = view->name,
		.dirfd = execution->dir_fd,
		.lowers = lowers,
		.lower_count = 1,
		.masks = view->masks,
		.has_origins = view->kind == MANIFEST_OVERLAY,
		.by_blocks = view->kind == MANIFEST_OVERLAY,
	};
	int error = check_base(execution, view);

	buf_addf(&upper, "%s/%s/upper", EXECUTION_VIEWS_DIR, view->name);
	buf_addf(&work, "%s/%s/work", EXECUTION_VIEWS_DIR, view->name);
	buf_addf(&links, "%s/%s/links", EXECUTION_VIEWS_DIR, view->name);
	error = error ? error : buf_error(&upper);
	error = error ? error : buf_error(&work);
	error = error ? error : buf_error(&links);
	if (error) {
		return error;
	}
	config.upper = upper.data;
	config.work = work.data;
	config.links = links.data;
	error = fs_add_view(fs, &config);
	if (error) {
		fprintf(stderr, "legato-fs: cannot set up view '%s': %s\n",
			view->name, err_text(error));
	}
	return error;
}

/* Where there is none that can be read, a new one, with the limits that the
 * execution was started with. */
static int open_quota(const struct execution *execution,
		      const struct quota_limits *limits,
		      struct quota_page **ret_page, bool *ret_is_new)
{
	int error = quota_page_open(execution->dir_fd, ret_page);

	if (!error) {
		quota_page_forget_nameless(*ret_page);
		return 0;
	}
	if (error == -EBADMSG) {
		log_warn("'%s/%s' is broken: what is used is counted again",
			 execution->path, QUOTA_PAGE_FILE);
	}
	if (error == -ENOENT || error == -EBADMSG) {
		*ret_is_new = true;
		error = quota_page_make(execution->dir_fd, limits, ret_page);
	}
	if (error) {
		fprintf(stderr, "legato-fs: cannot use '%s/%s': %s\n",
			execution->path, QUOTA_PAGE_FILE, err_text(error));
	}
	return error;
}

static int count_all(const struct execution *execution,
		     const struct manifest *manifest, struct quota_page *page)
{
	int error = quota_recount(execution->dir_fd, manifest, page);

	if (error) {
		fprintf(stderr, "legato-fs: cannot count what '%s' uses: %s\n",
			execution->path, err_text(error));
	}
	return error;
}

int views_add(void *data, struct fs *fs)
{
	const struct execution *execution = data;
	struct quota_page *page;
	struct manifest manifest;
	bool is_new = false;
	int error = manifest_read(&manifest, execution->dir_fd);

	if (error) {
		fprintf(stderr, "legato-fs: cannot read '%s/%s': %s\n",
			execution->path, MANIFEST_FILE, err_text(error));
		return error;
	}
	error = open_quota(execution, &manifest.quota, &page, &is_new);
	if (!error) {
		quota_start(&fs->quota, page, execution->dir_fd);
	}
	for (size_t i = 0; i < manifest.n_views && !error; i++) {
		error = add_view(execution, fs, &manifest.views[i]);
	}
	if (!error && is_new) {
		error = count_all(execution, &manifest, page);
	}
	manifest_release(&manifest);
	return error;
}

int views_open_log(const struct execution *execution, bool debug)
{
	/* Stays open until the process ends. */
	int fd = sys_openat(execution->dir_fd, EXECUTION_LOG_FILE,
			    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);

	if (fd < 0) {
		fprintf(stderr, "legato-fs: cannot open '%s/%s': %s\n",
			execution->path, EXECUTION_LOG_FILE, err_text(fd));
		return fd;
	}
	log_setup(fd, debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	return 0;
}
