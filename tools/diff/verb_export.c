/*
 * legato-diff export: changes in a form for other programs.
 *
 * Exit status: 0 done; 2 trouble.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "diff.h"
#include "fdio.h"
#include "format.h"
#include "names.h"
#include "oci.h"
#include "pack.h"
#include "plan.h"
#include "plan_run.h"
#include "select.h"
#include "sys.h"
#include "tree_copy.h"
#include "verbs.h"

static const char usage[] =
	"usage: legato-diff export --format FORM [options] [ID] [-- PATH...]\n"
	"\n"
	"  --format patch       as git apply takes it, binary data included\n"
	"  --format tar         an OCI layer: changed files, .wh. for deleted\n"
	"  --format oci         an OCI image layout with that layer, as a tar\n"
	"  --format dir         a copy of the whole base with the changes in "
	"it\n"
	"  -o, --output FILE    where to; standard output without, or '-'; "
	"for\n"
	"                       dir, a folder that is empty or not there\n"
	"  --all                ignored files and git's own files, too\n"
	"  --view NAME          another view than the checkout's\n"
	"  --id ID, --scratch-dir DIR, --help, --version\n";

enum form {
	FORM_NONE,
	FORM_PATCH,
	FORM_TAR,
	FORM_OCI,
	FORM_DIR,
};

enum export_option {
	OPT_FORMAT = 256,
	OPT_ALL,
	OPT_VIEW,
};

static const struct option long_options[] = {
	{"format", required_argument, NULL, OPT_FORMAT},
	{"output", required_argument, NULL, 'o'},
	{"all", no_argument, NULL, OPT_ALL},
	{"view", required_argument, NULL, OPT_VIEW},
	CLI_OPTIONS,
};

struct arguments {
	struct cli cli;
	enum form form;
	const char *output; /* NULL: standard output */
	const char *view;
	struct filter filter;
	char **paths; /* the command line's own */
	size_t n_paths;
};

static int set_form(struct arguments *arguments, const char *text)
{
	static const char *const forms[] = {
		[FORM_PATCH] = "patch",
		[FORM_TAR] = "tar",
		[FORM_OCI] = "oci",
		[FORM_DIR] = "dir",
	};

	for (size_t i = FORM_PATCH; i < ARRAY_SIZE(forms); i++) {
		if (strcmp(text, forms[i]) == 0) {
			arguments->form = (enum form)i;
			return CLI_RUN;
		}
	}
	return cli_complain("--format takes patch, tar, oci or dir, not", text);
}

static int set_option(struct arguments *arguments, int opt, char **argv)
{
	switch (opt) {
	case OPT_FORMAT:
		return set_form(arguments, optarg);
	case 'o':
		arguments->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return CLI_RUN;
	case OPT_ALL:
		arguments->filter.all = true;
		return CLI_RUN;
	case OPT_VIEW:
		arguments->view = optarg;
		return CLI_RUN;
	default:
		return cli_set_option(&arguments->cli, opt, argv, usage);
	}
}

/* Whether the last argument is the folder to write, of `n` that are left. */
static bool is_folder_next(const struct arguments *arguments, int n)
{
	return arguments->form == FORM_DIR && !arguments->output && n == 1;
}

static int parse(struct arguments *arguments, int argc, char **argv)
{
	int before = cli_count_before_dashes(argc, argv);
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(before, argv, ":ho:", long_options, NULL)) !=
		       -1) {
		next = set_option(arguments, opt, argv);
	}
	if (next != CLI_RUN) {
		return next;
	}
	if (!is_folder_next(arguments, before - optind)) {
		cli_take_id(&arguments->cli, argv, before);
	}
	if (is_folder_next(arguments, before - optind)) {
		arguments->output = argv[optind++];
	}
	if (optind < before) {
		return cli_complain("paths come behind '--':", argv[optind]);
	}
	if (arguments->form == FORM_NONE) {
		return cli_complain("what form is wanted? see", "--format");
	}
	if (arguments->form == FORM_DIR && !arguments->output) {
		return cli_complain("no folder given; see", "--output");
	}
	if (before + 1 < argc) {
		arguments->paths = argv + before + 1;
		arguments->n_paths = (size_t)(argc - before - 1);
	}
	return CLI_RUN;
}

/* ------------------------------------------------------------------- a file */

/* A pack_write_fn. */
static int write_stream(void *arg, const void *data, size_t size)
{
	errno = EIO;
	return fwrite(data, 1, size, arg) == size ? 0 : -errno;
}

static int write_form(const struct arguments *arguments,
		      const struct diff *diff, bool is_complete, FILE *out,
		      struct trouble *trouble)
{
	const struct format format = {
		.out = out,
		.trouble = trouble,
		.prefix = "",
		.binary = true,
	};

	switch (arguments->form) {
	case FORM_PATCH:
		return format_patch(&format, diff);
	case FORM_TAR:
		return pack_changes(
			diff, PACK_SPARSE | (is_complete ? PACK_COMPLETE : 0),
			write_stream, out, trouble);
	case FORM_OCI:
		return oci_write(diff, is_complete, write_stream, out, trouble);
	case FORM_NONE:
	case FORM_DIR:
		break;
	}
	return -EINVAL;
}

/* To another name first, so that there is a whole file or none. */
static int write_file(const struct arguments *arguments,
		      const struct diff *diff, bool is_complete,
		      struct trouble *trouble)
{
	AUTO_FREE char *temporary = NULL;
	FILE *out = stdout;
	int error;

	if (arguments->output) {
		if (asprintf(&temporary, "%s.%d.tmp", arguments->output,
			     (int)getpid()) < 0) {
			temporary = NULL;
			return -ENOMEM;
		}
		out = fopen(temporary, "wxe");
		if (!out) {
			return -errno;
		}
	}
	error = write_form(arguments, diff, is_complete, out, trouble);
	if ((fflush(out) || ferror(out)) && !error) {
		error = -EIO;
	}
	if (!arguments->output) {
		return error;
	}
	if (fclose(out) && !error) {
		error = -errno;
	}
	error = error ? error
		      : sys_renameat2(AT_FDCWD, temporary, AT_FDCWD,
				      arguments->output, 0);
	if (error) {
		(void)!sys_unlinkat(AT_FDCWD, temporary, 0);
	}
	return error;
}

/* ----------------------------------------------------------------- a folder */

static int open_folder(struct layer *folder, const char *path)
{
	AUTO_NAMES names = {0};
	int error = sys_mkdirat(AT_FDCWD, path, 0777);

	if (error && error != -EEXIST) {
		return error;
	}
	error = layer_open(folder, AT_FDCWD, path);
	error = error ? error : names_read(&names, folder->root_fd);
	return error ? error : names.n > 0 ? -ENOTEMPTY : 0;
}

static int write_folder(const char *path, const struct diff *diff,
			struct trouble *trouble)
{
	AUTO(layer_close) struct layer folder = {.root_fd = -1};
	AUTO_PLAN plan = {0};
	struct plan_target target = {
		.folder = &folder,
		.sides = &diff->sides,
		.staging_fd = -1,
		.trouble = trouble,
	};
	int error = open_folder(&folder, path);

	error = error ? error : tree_copy(&folder, &diff->sides.base, trouble);
	error = error ? error : plan_make(&plan, diff, false);
	error = error ? error : plan_run(&target, &plan);
	trouble->n_errors += target.n_conflicts;
	return error;
}

/* ---------------------------------------------------------------------------
 */

static int export_view(struct arguments *arguments,
		       const struct execution *execution,
		       const struct manifest_view *view,
		       struct trouble *trouble)
{
	AUTO_DIFF diff = DIFF_INIT;
	struct filter_folded folded;
	bool is_patch = arguments->form == FORM_PATCH;
	size_t n_folded;
	int error =
		diff_view(&diff, execution, view,
			  DIFF_RENAMES | (is_patch ? 0 : DIFF_WHOLE), trouble);

	for (size_t i = 0; i < arguments->n_paths; i++) {
		arguments->paths[i] =
			diff_relative_path(view, arguments->paths[i]);
	}
	arguments->filter.paths = arguments->paths;
	arguments->filter.n_paths = arguments->n_paths;
	error = error ? error
		      : select_changes(&diff.list, &arguments->filter, &folded);
	if (error) {
		return error;
	}
	n_folded = folded.git.total + folded.ignored.total;
	if (n_folded > 0) {
		fprintf(stderr,
			"note: left out %zu ignored or git's own; --all takes "
			"them\n",
			n_folded);
	}
	return arguments->form == FORM_DIR
		       ? write_folder(arguments->output, &diff, trouble)
		       : write_file(arguments, &diff, n_folded == 0, trouble);
}

static int run(struct arguments *arguments)
{
	AUTO(execution_release) struct execution execution = EXECUTION_INIT;
	AUTO(manifest_release) struct manifest manifest;
	struct trouble trouble = {.out = stderr};
	const struct manifest_view *view;
	int error;

	manifest_init(&manifest);
	error = cli_open_execution(&arguments->cli, &execution, &manifest);
	if (error) {
		return CLI_EXIT_TROUBLE;
	}
	view = arguments->view ? manifest_view(&manifest, arguments->view)
			       : diff_checkout_view(&manifest);
	if (!view) {
		cli_fail("no such view:", arguments->view, -ENOENT);
		return CLI_EXIT_TROUBLE;
	}
	error = export_view(arguments, &execution, view, &trouble);
	if (error) {
		cli_fail("can't export to",
			 arguments->output ? arguments->output : "-", error);
	}
	return error || trouble.n_errors ? CLI_EXIT_TROUBLE : CLI_EXIT_OK;
}

int export_main(int argc, char **argv)
{
	struct arguments arguments = {0};
	int next = parse(&arguments, argc, argv);

	return next == CLI_DONE  ? CLI_EXIT_OK
	       : next == CLI_RUN ? run(&arguments)
				 : CLI_EXIT_TROUBLE;
}
