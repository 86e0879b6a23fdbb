#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>

#include "dropin.h"
#include "err.h"
#include "execution.h"
#include "legato-config.h"
#include "mount.h"
#include "serve.h"
#include "sys.h"
#include "views.h"

#define EXIT_USAGE 2

static const char usage_text[] =
	"usage: legato-fs serve --execution DIR --control-fd N [--ask-open]\n"
	"                       [--blocks-from BYTES] [--no-journal] "
	"[--no-confine]\n"
	"                       [--debug]\n"
	"   or: legato-fs mount [--scratch DIR] [--overlay NAME=BASE]...\n"
	"                       [--view NAME]... [--ask-open] [--no-journal]\n"
	"                       [--blocks-from BYTES] [--debug] MNT\n"
	"   or: legato-fs [-f] -o "
	"lowerdir=DIR[:DIR...][,upperdir=DIR,workdir=DIR]"
	"[,...] MNT\n"
	"   or: legato-fs --version | --help\n";

static int usage(void)
{
	fputs(usage_text, stderr);
	return EXIT_USAGE;
}

/* Tells the launcher that the mount is there and gives it the connection. */
static int send_ready(void *data, int fuse_fd)
{
	int control_fd = *(const int *)data;
	char text[] = "ready";
	char control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {.iov_base = text, .iov_len = strlen(text)};
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fuse_fd, sizeof(int));
	return sendmsg(control_fd, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int open_folder(struct execution *execution, const char *path)
{
	const char *slash = strrchr(path, '/');

	execution->dir_fd =
		sys_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (execution->dir_fd < 0) {
		return execution->dir_fd;
	}
	execution->path = realpath(path, NULL);
	execution->id = strdup(slash ? slash + 1 : path);
	return execution->path && execution->id ? 0 : -ENOMEM;
}

/* Serves an execution's views at the mount point in its folder. */
static int serve_execution(struct execution *execution, bool debug,
			   struct serve_options *options)
{
	AUTO_BUF mount_point = BUF_INIT;
	int error = views_open_log(execution, debug);

	buf_addf(&mount_point, "%s/%s", execution->path, EXECUTION_MOUNT_DIR);
	error = error ? error : buf_error(&mount_point);
	if (error) {
		return error;
	}
	options->add_views = views_add;
	options->views_data = execution;
	options->execution_fd = execution->dir_fd;
	options->mount_point = mount_point.data;
	options->execution = execution;
	if (options->control_fd >= 0) {
		options->ready = send_ready;
		options->ready_data = &options->control_fd;
	}
	return serve(options);
}

static int serve_folder(const char *path, bool debug,
			struct serve_options *options)
{
	struct execution execution = EXECUTION_INIT;
	int error = open_folder(&execution, path);

	if (error) {
		fprintf(stderr, "legato-fs: cannot open '%s': %s\n", path,
			err_text(error));
	} else {
		error = serve_execution(&execution, debug, options);
	}
	execution_release(&execution);
	return error ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A descriptor's number, or -1. */
static int parse_fd(const char *text)
{
	char *end;
	long fd = strtol(text, &end, 10);

	if (end == text || *end || fd < 0 || fd > INT_MAX ||
	    fcntl((int)fd, F_GETFD) < 0) {
		return -1;
	}
	return (int)fd;
}

static int serve_command(int argc, char **argv)
{
	static const struct option options[] = {
		{"execution", required_argument, NULL, 'e'},
		{"control-fd", required_argument, NULL, 'c'},
		{"debug", no_argument, NULL, 'd'},
		{"ask-open", no_argument, NULL, 'a'},
		{"blocks-from", required_argument, NULL, 'b'},
		{"no-confine", no_argument, NULL, 'n'},
		{"no-journal", no_argument, NULL, 'j'},
		{0},
	};
	struct serve_options serving = {
		.control_fd = -1,
		.ids = IDS_INIT,
		.blocks_from_bytes = -1,
		.confined = true,
	};
	bool debug = false;
	const char *execution = NULL;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'e':
			execution = optarg;
			break;
		case 'c':
			serving.control_fd = parse_fd(optarg);
			if (serving.control_fd < 0) {
				fprintf(stderr,
					"legato-fs: bad descriptor '%s'\n",
					optarg);
				return EXIT_USAGE;
			}
			break;
		case 'd':
			debug = true;
			break;
		case 'a':
			serving.ask_open = true;
			break;
		case 'b':
			if (serve_parse_blocks_from(
				    optarg, &serving.blocks_from_bytes)) {
				return EXIT_USAGE;
			}
			break;
		case 'n':
			serving.confined = false;
			break;
		case 'j':
			serving.no_journal = true;
			break;
		default:
			return usage();
		}
	}
	if (!execution || optind != argc) {
		return usage();
	}
	return serve_folder(execution, debug, &serving);
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (strcmp(command, "serve") == 0) {
		return serve_command(argc - 1, argv + 1);
	}
	if (strcmp(command, "mount") == 0) {
		return mount_command(argc - 1, argv + 1);
	}
	if (strcmp(command, "--version") == 0) {
		puts("legato-fs " LEGATO_VERSION);
		return EXIT_SUCCESS;
	}
	if (strcmp(command, "--help") == 0) {
		fputs(usage_text, stdout);
		return EXIT_SUCCESS;
	}
	for (int i = 1; i < argc; i++) {
		/* As mount(8) calls it, a source may come first. */
		if (strncmp(argv[i], "-o", 2) == 0) {
			return dropin_command(argc, argv);
		}
	}
	return usage();
}
