/*
 * legato-diff apply: takes changes over into the real tree.
 *
 * Exit status: 0 done; 1 conflicts; 2 trouble.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "apply.h"
#include "cli.h"
#include "diff.h"
#include "text.h"
#include "verbs.h"

static const char usage[] =
	"usage: legato-diff apply [options] [ID] [PATH...]\n"
	"\n"
	"Takes the changes of an execution over into the real folder. ID is "
	"as\n"
	"for legato-diff; PATHs are files or folders, relative to the view; "
	"all\n"
	"that is not ignored or below a .git without any. Writes nothing "
	"where\n"
	"the folder changed meanwhile, and lists the conflicts.\n"
	"\n"
	"  -n, --dry-run        only list what would be done\n"
	"  --3way               merge text files that changed in both places\n"
	"  --hunk FILE:N        only hunk N of FILE; may be repeated\n"
	"  --backup[=SUFFIX]    keep what is replaced or deleted as NAME~\n"
	"  --all                ignored files and git's own files, too\n"
	"  --view NAME          another view than the checkout's\n"
	"  --forget             drop an interrupted apply instead of finishing "
	"it\n"
	"  -q, --quiet          don't list what was done\n"
	"  --id ID, --scratch-dir DIR, --help, --version\n";

enum apply_option {
	OPT_THREE_WAY = 256,
	OPT_HUNK,
	OPT_BACKUP,
	OPT_ALL,
	OPT_VIEW,
	OPT_FORGET,
};

static const struct option long_options[] = {
	{"dry-run", no_argument, NULL, 'n'},
	{"quiet", no_argument, NULL, 'q'},
	{"3way", no_argument, NULL, OPT_THREE_WAY},
	{"hunk", required_argument, NULL, OPT_HUNK},
	{"backup", optional_argument, NULL, OPT_BACKUP},
	{"all", no_argument, NULL, OPT_ALL},
	{"view", required_argument, NULL, OPT_VIEW},
	{"forget", no_argument, NULL, OPT_FORGET},
	CLI_OPTIONS,
};

struct arguments {
	struct cli cli;
	struct apply_request request;
	const char *view;
	bool quiet;
	struct hunk *hunks; /* owned, with room for all */
	size_t n_hunks;
	char **paths; /* owned array */
	size_t n_paths;
};

/* "FILE:N", in place. */
static int add_hunk(struct arguments *arguments, char *text)
{
	char *colon = strrchr(text, ':');
	char *end;
	unsigned long number = colon ? strtoul(colon + 1, &end, 10) : 0;

	if (number == 0 || *end || colon == text) {
		return cli_complain("--hunk takes FILE:N, not", text);
	}
	*colon = '\0';
	arguments->hunks[arguments->n_hunks++] = (struct hunk){text, number};
	arguments->paths[arguments->n_paths++] = text;
	return CLI_RUN;
}

static int set_option(struct arguments *arguments, int opt, char **argv)
{
	struct apply_request *request = &arguments->request;

	switch (opt) {
	case 'n':
		request->dry_run = true;
		return CLI_RUN;
	case 'q':
		arguments->quiet = true;
		return CLI_RUN;
	case OPT_THREE_WAY:
		request->three_way = true;
		return CLI_RUN;
	case OPT_HUNK:
		return add_hunk(arguments, optarg);
	case OPT_BACKUP:
		request->backup_suffix = optarg ? optarg : "~";
		return *request->backup_suffix &&
				       !strchr(request->backup_suffix, '/')
			       ? CLI_RUN
			       : cli_complain("no suffix for a backup:",
					      request->backup_suffix);
	case OPT_ALL:
		request->filter.all = true;
		return CLI_RUN;
	case OPT_VIEW:
		arguments->view = optarg;
		return CLI_RUN;
	case OPT_FORGET:
		request->forget = true;
		return CLI_RUN;
	default:
		return cli_set_option(&arguments->cli, opt, argv, usage);
	}
}

static int parse(struct arguments *arguments, int argc, char **argv)
{
	int before = cli_count_before_dashes(argc, argv);
	int next = CLI_RUN;
	int opt;

	arguments->hunks = calloc((size_t)argc + 1, sizeof(struct hunk));
	arguments->paths = calloc((size_t)argc + 1, sizeof(char *));
	if (!arguments->hunks || !arguments->paths) {
		return cli_fail("can't start", NULL, -ENOMEM);
	}
	while (next == CLI_RUN &&
	       (opt = getopt_long(before, argv, ":hnq", long_options, NULL)) !=
		       -1) {
		next = set_option(arguments, opt, argv);
	}
	if (next != CLI_RUN) {
		return next;
	}
	cli_take_id(&arguments->cli, argv, before);
	for (int i = optind; i < argc; i++) {
		if (i != before) {
			arguments->paths[arguments->n_paths++] = argv[i];
		}
	}
	return CLI_RUN;
}

/* Paths as the filter has them: below the view. */
static void make_relative(struct arguments *arguments,
			  const struct manifest_view *view)
{
	for (size_t i = 0; i < arguments->n_paths; i++) {
		arguments->paths[i] =
			diff_relative_path(view, arguments->paths[i]);
	}
	for (size_t i = 0; i < arguments->n_hunks; i++) {
		struct hunk *hunk = &arguments->hunks[i];

		hunk->path = diff_relative_path(view, (char *)hunk->path);
	}
}

static void tell_result(const struct arguments *arguments,
			const struct apply_result *result)
{
	AUTO_BUF counts = BUF_INIT;
	size_t n_folded = result->folded.git.total +
			  result->folded.ignored.total +
			  result->folded.generated.total;

	fflush(stdout);
	if (result->has_finished_other) {
		fputs("note: finished an apply that was interrupted\n", stderr);
	}
	if (n_folded > 0) {
		fprintf(stderr,
			"note: left out %zu ignored, generated or git's own; "
			"--all takes "
			"them\n",
			n_folded);
	}
	if (result->n_conflicts > 0 && !result->was_written) {
		fprintf(stderr,
			"legato-diff: %zu conflict%s, nothing was "
			"written\n",
			result->n_conflicts,
			result->n_conflicts == 1 ? "" : "s");
		return;
	}
	text_add_counts(&counts, &result->taken);
	if (!arguments->quiet) {
		fprintf(stderr, "%s: %s\n",
			arguments->request.dry_run ? "would take over"
						   : "taken over",
			result->taken.total ? counts.data : "nothing");
	}
}

static int explain(const struct apply_request *request, int error)
{
	switch (error) {
	case -EWOULDBLOCK:
		return cli_fail("another apply is at work on",
				request->execution->id, error);
	case -EINPROGRESS:
		fputs("legato-diff: an apply was interrupted; apply finishes "
		      "it, --forget drops it\n",
		      stderr);
		return error;
	case -EROFS:
		fprintf(stderr,
			"legato-diff: view '%s' has no real folder behind it "
			"(try export --format dir)\n",
			request->view->name);
		return error;
	case -EREMOTEIO:
		fputs("legato-diff: not all could be compared, nothing was "
		      "written\n",
		      stderr);
		return error;
	case -ERANGE:
		fputs("legato-diff: no such hunk, nothing was written\n",
		      stderr);
		return error;
	case -EMEDIUMTYPE:
		fputs("legato-diff: that change has no hunks, or is no text; "
		      "nothing was written\n",
		      stderr);
		return error;
	default:
		return cli_fail("can't apply", request->execution->id, error);
	}
}

static int run(struct arguments *arguments)
{
	AUTO(execution_release) struct execution execution = EXECUTION_INIT;
	AUTO(manifest_release) struct manifest manifest;
	struct apply_request *request = &arguments->request;
	struct trouble trouble = {.out = stderr};
	struct apply_result result;
	int error;

	manifest_init(&manifest);
	error = cli_open_execution(&arguments->cli, &execution, &manifest);
	if (error) {
		return CLI_EXIT_TROUBLE;
	}
	request->execution = &execution;
	request->view = arguments->view
				? manifest_view(&manifest, arguments->view)
				: diff_checkout_view(&manifest);
	if (!request->view) {
		cli_fail("no such view:", arguments->view, -ENOENT);
		return CLI_EXIT_TROUBLE;
	}
	make_relative(arguments, request->view);
	request->filter.paths = arguments->paths;
	request->filter.n_paths = arguments->n_paths;
	request->hunks = arguments->hunks;
	request->n_hunks = arguments->n_hunks;
	request->conflicts_out = stderr;
	request->list_out = arguments->quiet ? NULL : stdout;
	error = apply_view(request, &result, &trouble);
	if (error) {
		fflush(stdout);
		explain(request, error);
		return CLI_EXIT_TROUBLE;
	}
	tell_result(arguments, &result);
	return trouble.n_errors || fflush(stdout)      ? CLI_EXIT_TROUBLE
	       : result.n_conflicts || result.n_marked ? CLI_EXIT_CHANGES
						       : CLI_EXIT_OK;
}

int apply_main(int argc, char **argv)
{
	struct arguments arguments = {0};
	int next = parse(&arguments, argc, argv);
	int status = next == CLI_DONE  ? CLI_EXIT_OK
		     : next == CLI_RUN ? run(&arguments)
				       : CLI_EXIT_TROUBLE;

	free(arguments.hunks);
	free(arguments.paths);
	return status;
}
