#include "serve.h"

#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "attach.h"
#include "caps.h"
#include "confine.h"
#include "err.h"
#include "keeper.h"
#include "log.h"
#include "loop.h"
#include "ops.h"
#include "owner.h"
#include "recorder.h"
#include "stats.h"
#include "sys.h"
#include "watch.h"

/* Of the descriptors that the process may have, this part may be cached
 * directories and the same part cached files; the rest is for what is created
 * open and for what has lost its name. */
#define FDS_SHARE    4
#define DIR_FDS_MAX  4096
#define FILE_FDS_MAX 1024

/* Of the same, for the threads that are known to the journal. */
#define PROCESSES_SHARE 16
#define PROCESSES_MAX   512

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

static int start_recorder(struct server *server,
			  const struct serve_options *options,
			  unsigned int file_limit)
{
	int error;

	if (options->execution_fd < 0 || options->no_journal) {
		return 0;
	}
	error = recorder_start(
		&server->fs.recorder, options->execution_fd,
		at_most(file_limit / PROCESSES_SHARE, PROCESSES_MAX));
	if (error) {
		fprintf(stderr, "legato-fs: cannot keep the journal: %s\n",
			err_text(error));
	}
	return error;
}

int serve_parse_blocks_from(const char *text, off_t *ret_bytes)
{
	char *end;
	long long bytes;

	errno = 0;
	bytes = strtoll(text, &end, 10);
	if (errno || end == text || *end || bytes < 0) {
		fprintf(stderr, "legato-fs: bad size '%s'\n", text);
		return -EINVAL;
	}
	*ret_bytes = bytes;
	return 0;
}

static int server_init(struct server *server,
		       const struct serve_options *options)
{
	unsigned int file_limit = raise_file_limit();
	unsigned int share = file_limit / FDS_SHARE;
	int error = sys_random(&server->generation, sizeof(server->generation));

	/* The kernel compares it as a signed number, of which 0 is the root's.
	 */
	server->generation = (server->generation & INT32_MAX) | 1;
	error = error ? error
		      : fs_init(&server->fs, at_most(share, DIR_FDS_MAX),
				at_most(share, FILE_FDS_MAX), !options->single);
	if (error) {
		return error;
	}
	handles_init(&server->dirs);
	server->ask_open = options->ask_open;
	server->fs.keep_created = options->ask_open;
	server->ids = options->ids;
	if (options->blocks_from_bytes >= 0) {
		server->fs.blocks_from_bytes = options->blocks_from_bytes;
	}
	error = options->add_views(options->views_data, &server->fs);
	error = error ? error : fs_start(&server->fs);
	error = error ? error : start_recorder(server, options, file_limit);
	if (error) {
		handles_release(&server->dirs);
		fs_release(&server->fs);
	}
	return error;
}

static void server_release(struct server *server)
{
	recorder_stop(server->fs.recorder);
	handles_release(&server->dirs);
	fs_release(&server->fs);
}

static struct fuse_session *new_session(struct server *server,
					const struct serve_options *options)
{
	const struct fuse_lowlevel_ops ops = make_ops();
	AUTO_BUF text = BUF_INIT;
	char *argv[] = {"legato-fs", "-o", NULL, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	struct fuse_session *session;

	attach_add_options(&options->attach, &text);
	if (buf_error(&text)) {
		return NULL;
	}
	argv[2] = text.data;
	session = fuse_session_new(&args, &ops, sizeof(ops), server);
	fuse_opt_free_args(&args);
	return session;
}

static int serve_mounted(struct fuse_session *session, struct server *server,
			 const struct serve_options *options)
{
	int error = 0;

	if (options->confined) {
		confine();
	}
	if (options->ready) {
		error = options->ready(options->ready_data,
				       fuse_session_fd(session));
	}
	return error ? error : loop_run(session, server, options->control_fd);
}

static int serve_session(struct fuse_session *session, struct server *server,
			 const struct serve_options *options,
			 struct stats_page *stats)
{
	int error = attach(session, options->mount_point, &options->attach);

	if (error) {
		return error;
	}
	error = stats_attach(session, fuse_session_fd(session), stats);
	error = error ? error : serve_mounted(session, server, options);
	watches_stop(&server->fs.watches);
	detach(session, options->mount_point);
	return error;
}

/* NULL: nothing is counted, which harms nobody. */
static struct stats_page *open_stats(const struct serve_options *options)
{
	struct stats_page *page = NULL;
	int error =
		options->execution
			? stats_page_create(&page, options->execution->dir_fd)
			: 0;

	if (error) {
		log_warn("requests are not counted: %s", err_name(error));
	}
	return error ? NULL : page;
}

static int serve_new_session(struct server *server,
			     const struct serve_options *options)
{
	struct fuse_session *session = new_session(server, options);
	struct stats_page *stats;
	int error;

	if (!session) {
		return -ENOMEM;
	}
	stats = open_stats(options);
	error = serve_session(session, server, options, stats);
	fuse_session_destroy(session);
	stats_page_release(stats);
	return error;
}

static int start_keeper(const struct serve_options *options)
{
	int error = options->confined ? keeper_start(options->mount_point) : 0;

	if (error) {
		fprintf(stderr, "legato-fs: cannot make a process: %s\n",
			err_text(error));
	}
	return error;
}

int serve(const struct serve_options *options)
{
	struct server server;
	int error;

	/* A caller's is applied where it counts; ours must not come on top. */
	umask(0);
	loop_block_signals();
	error = start_keeper(options);
	if (error) {
		return error;
	}
	owner_start();
	error = server_init(&server, options);
	if (error) {
		owner_stop();
		return error;
	}
	error = serve_new_session(&server, options);
	log_info("stopped: %s, %zu nodes", error ? err_name(error) : "ok",
		 nodes_count(&server.fs.nodes));
	server_release(&server);
	owner_stop();
	return error;
}
