#include "serve.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "attach.h"
#include "caps.h"
#include "err.h"
#include "log.h"
#include "loop.h"
#include "manifest.h"
#include "ops.h"
#include "owner.h"
#include "path.h"
#include "sys.h"

/* Of the descriptors that the process may have, this part may be cached
 * directories and the same part cached files; the rest is for what is created
 * open and for what has lost its name. */
#define FDS_SHARE    4
#define DIR_FDS_MAX  4096
#define FILE_FDS_MAX 1024

static void on_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	caps_negotiate(conn);
}

static struct fuse_lowlevel_ops make_ops(void)
{
	struct fuse_lowlevel_ops ops = {.init = on_init};

	ops_add_names(&ops);
	ops_add_dir(&ops);
	ops_add_file(&ops);
	ops_add_attr(&ops);
	return ops;
}

/* Raises the limit of open files as far as it goes; returns it. */
static unsigned int raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit)) {
		return 256;
	}
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		getrlimit(RLIMIT_NOFILE, &limit);
	}
	return limit.rlim_cur > UINT_MAX ? UINT_MAX
					 : (unsigned int)limit.rlim_cur;
}

static unsigned int at_most(unsigned int value, unsigned int limit)
{
	return value < limit ? value : limit;
}

/* A base that holds the execution's folder would show the view in itself. */
static int check_base(const struct serve_options *options,
		      const struct manifest_view *view)
{
	char base[PATH_MAX];
	char own[PATH_MAX];
	AUTO_FD fd = sys_openat(AT_FDCWD, view->base, O_PATH | O_DIRECTORY, 0);
	int error = fd < 0 ? fd : sys_fd_path(fd, base, sizeof(base));

	error = error ? error
		      : sys_fd_path(options->execution->dir_fd, own,
				    sizeof(own));
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

static int add_view(const struct serve_options *options, struct fs *fs,
		    const struct manifest_view *view)
{
	AUTO_BUF upper = BUF_INIT;
	AUTO_BUF work = BUF_INIT;
	AUTO_BUF links = BUF_INIT;
	const char *lowers[] = {view->base};
	struct view_config config = {
		.name = view->name,
		.dirfd = options->execution->dir_fd,
		.lowers = lowers,
		.lower_count = 1,
		.has_origins = view->kind == MANIFEST_OVERLAY,
	};
	int error = check_base(options, view);

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

static int add_views(const struct serve_options *options, struct fs *fs)
{
	struct manifest manifest;
	int error = manifest_read(&manifest, options->execution->dir_fd);

	if (error) {
		fprintf(stderr, "legato-fs: cannot read '%s/%s': %s\n",
			options->execution->path, MANIFEST_FILE,
			err_text(error));
		return error;
	}
	for (size_t i = 0; i < manifest.n_views && !error; i++) {
		error = add_view(options, fs, &manifest.views[i]);
	}
	manifest_release(&manifest);
	return error;
}

static int server_init(struct server *server,
		       const struct serve_options *options)
{
	unsigned int share = raise_file_limit() / FDS_SHARE;
	int error = fs_init(&server->fs, at_most(share, DIR_FDS_MAX),
			    at_most(share, FILE_FDS_MAX), !options->single);

	if (error) {
		return error;
	}
	handles_init(&server->dirs);
	server->ask_open = options->ask_open;
	error = add_views(options, &server->fs);
	error = error ? error : fs_start(&server->fs);
	if (error) {
		handles_release(&server->dirs);
		fs_release(&server->fs);
	}
	return error;
}

static void server_release(struct server *server)
{
	handles_release(&server->dirs);
	fs_release(&server->fs);
}

static struct fuse_session *new_session(struct server *server)
{
	const struct fuse_lowlevel_ops ops = make_ops();
	char *argv[] = {"legato-fs", "-o", ATTACH_OPTIONS, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *session =
		fuse_session_new(&args, &ops, sizeof(ops), server);

	fuse_opt_free_args(&args);
	return session;
}

static int serve_mounted(struct fuse_session *session, struct server *server,
			 const struct serve_options *options)
{
	int error = 0;

	if (options->ready) {
		error = options->ready(options->ready_data,
				       fuse_session_fd(session));
	}
	return error ? error : loop_run(session, server, options->control_fd);
}

static int serve_session(struct fuse_session *session, struct server *server,
			 const struct serve_options *options)
{
	AUTO_BUF path = BUF_INIT;
	int error;

	if (options->mount_point) {
		buf_adds(&path, options->mount_point);
	} else {
		buf_addf(&path, "%s/%s", options->execution->path,
			 EXECUTION_MOUNT_DIR);
	}
	error = buf_error(&path);
	if (error) {
		return error;
	}
	error = attach(session, path.data);
	if (!error) {
		error = serve_mounted(session, server, options);
		detach(session, path.data);
	}
	return error;
}

static int open_log(const struct serve_options *options)
{
	/* Stays open until the process ends. */
	int fd = sys_openat(options->execution->dir_fd, EXECUTION_LOG_FILE,
			    O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);

	if (fd < 0) {
		fprintf(stderr, "legato-fs: cannot open '%s/%s': %s\n",
			options->execution->path, EXECUTION_LOG_FILE,
			err_text(fd));
		return fd;
	}
	log_setup(fd, options->debug ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	return 0;
}

int serve(const struct serve_options *options)
{
	struct server server;
	struct fuse_session *session;
	int error = open_log(options);

	if (error) {
		return error;
	}
	/* The kernel has applied the caller's; ours must not come on top. */
	umask(0);
	loop_block_signals();
	owner_start();
	error = server_init(&server, options);
	if (error) {
		owner_stop();
		return error;
	}
	session = new_session(&server);
	error = session ? serve_session(session, &server, options) : -ENOMEM;
	if (session) {
		fuse_session_destroy(session);
	}
	log_info("stopped: %s, %zu nodes", error ? err_name(error) : "ok",
		 nodes_count(&server.fs.nodes));
	server_release(&server);
	owner_stop();
	return error;
}
