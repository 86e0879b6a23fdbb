/*
 * legato-diff tui: the changes of one view, to be read and marked.
 */
#include "cli.h"
#include "report.h"
#include "tui.h"
#include "verbs.h"

static const char usage[] =
	"usage: legato-diff tui [options] [ID]\n"
	"\n"
	"Shows what an execution changed, on this terminal: browse, read, "
	"mark\n"
	"files and hunks, take the marked over or write them as a patch. ? "
	"tells\n"
	"the keys.\n"
	"\n"
	"  --view NAME          another view than the checkout's\n"
	"  --no-renames         tell a rename as deleted and added\n"
	"  --id ID              the same as ID\n"
	"  --scratch-dir DIR    where executions are\n"
	"  --help, --version\n";

enum tui_option {
	OPT_VIEW = 256,
	OPT_NO_RENAMES,
};

static const struct option long_options[] = {
	{"view", required_argument, NULL, OPT_VIEW},
	{"no-renames", no_argument, NULL, OPT_NO_RENAMES},
	CLI_OPTIONS,
};

struct run {
	struct cli cli;
	const char *view;
	bool no_renames;
};

static int parse(struct run *run, int argc, char **argv)
{
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(argc, argv, ":h", long_options, NULL)) !=
		       -1) {
		if (opt == OPT_VIEW) {
			run->view = optarg;
		} else if (opt == OPT_NO_RENAMES) {
			run->no_renames = true;
		} else {
			next = cli_set_option(&run->cli, opt, argv, usage);
		}
	}
	if (next != CLI_RUN) {
		return next;
	}
	cli_take_id(&run->cli, argv, argc);
	return optind < argc
		       ? cli_complain("one argument too many:", argv[optind])
		       : CLI_RUN;
}

static int show(const struct run *run, const struct execution *execution,
		const struct manifest *manifest)
{
	const struct manifest_view *view =
		run->view ? manifest_view(manifest, run->view)
			  : diff_checkout_view(manifest);
	struct report_wish wish = {
		.only = view,
		.renames = !run->no_renames,
	};
	struct trouble trouble = {.out = stderr};
	AUTO_REPORT report = {0};
	int error;

	if (!view) {
		return cli_fail("no such view:", run->view, -ENOENT);
	}
	error = report_make(&report, execution, manifest, &wish, &trouble);
	error = error ? error : report.views[0].error;
	if (error) {
		return cli_fail("can't compare view", view->name, error);
	}
	error = tui_run(&report, &report.views[0]);
	return error ? cli_fail("can't show it on this terminal", NULL, error)
		     : 0;
}

int tui_main(int argc, char **argv)
{
	struct run run = {0};
	struct execution execution = EXECUTION_INIT;
	struct manifest manifest;
	int next = parse(&run, argc, argv);
	int error;

	if (next != CLI_RUN) {
		return next < 0 ? CLI_EXIT_TROUBLE : CLI_EXIT_OK;
	}
	manifest_init(&manifest);
	error = cli_open_execution(&run.cli, &execution, &manifest);
	error = error ? error : show(&run, &execution, &manifest);
	manifest_release(&manifest);
	execution_release(&execution);
	return error ? CLI_EXIT_TROUBLE : CLI_EXIT_OK;
}
