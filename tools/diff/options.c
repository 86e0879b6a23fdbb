#include "options.h"

#include <string.h>

static const char usage[] =
	"usage: legato-diff [options] [ID] [-- PATH...]\n"
	"       legato-diff log [options] [ID]\n"
	"       legato-diff why [options] PATH\n"
	"       legato-diff verify [options] [ID]\n"
	"       legato-diff tui [options] [ID]\n"
	"       legato-diff apply [options] [ID] [PATH...]\n"
	"       legato-diff export --format FORM [options] [ID] [-- PATH...]\n"
	"\n"
	"Shows what an execution changed, against its base. ID is an\n"
	"execution's id or name, or the beginning of an id; the newest\n"
	"without. PATHs are relative to the view.\n"
	"\n"
	"  -p, --patch          patches that git apply takes (the default)\n"
	"  --summary            all views on one screen: what is odd, paths, "
	"git\n"
	"  --json               all views as one JSON document; with --patch,\n"
	"                       patches in it\n"
	"  --html FILE          all views as one page for a browser\n"
	"  --word-diff          patches for reading: [-old-] and {+new+} "
	"words\n"
	"  --stat               lines changed per file\n"
	"  --name-status        letter, kind and path of each change\n"
	"  -z                   end names by NUL, and don't quote them\n"
	"  --binary             binary data in patches (default unless on a\n"
	"                       terminal)\n"
	"  --no-binary          only sizes and ids of binary files\n"
	"  --no-renames         tell a rename as deleted and added\n"
	"  --all                don't fold ignored files and git's own\n"
	"  --view NAME          another view than the checkout's\n"
	"  --all-views          every view\n"
	"  --interactive        the same as tui; before all else\n"
	"  --exit-code          exit with 1 if there are changes\n"
	"  --color[=WHEN], --no-color  always, never or auto\n"
	"  --no-pager           don't use a pager\n"
	"  --id ID              the same as ID, for one that is called as a\n"
	"                       verb is\n"
	"  --scratch-dir DIR    where executions are\n"
	"  --help, --version\n";

enum long_only {
	OPT_STAT = 256,
	OPT_NAME_STATUS,
	OPT_BINARY,
	OPT_NO_BINARY,
	OPT_NO_RENAMES,
	OPT_ALL,
	OPT_VIEW,
	OPT_ALL_VIEWS,
	OPT_EXIT_CODE,
	OPT_SUMMARY,
	OPT_WORD_DIFF,
	OPT_JSON,
	OPT_HTML,
};

static const struct option long_options[] = {
	{"word-diff", no_argument, NULL, OPT_WORD_DIFF},
	{"summary", no_argument, NULL, OPT_SUMMARY},
	{"json", no_argument, NULL, OPT_JSON},
	{"html", required_argument, NULL, OPT_HTML},
	{"patch", no_argument, NULL, 'p'},
	{"stat", no_argument, NULL, OPT_STAT},
	{"name-status", no_argument, NULL, OPT_NAME_STATUS},
	{"binary", no_argument, NULL, OPT_BINARY},
	{"no-binary", no_argument, NULL, OPT_NO_BINARY},
	{"no-renames", no_argument, NULL, OPT_NO_RENAMES},
	{"all", no_argument, NULL, OPT_ALL},
	{"view", required_argument, NULL, OPT_VIEW},
	{"all-views", no_argument, NULL, OPT_ALL_VIEWS},
	{"exit-code", no_argument, NULL, OPT_EXIT_CODE},
	CLI_OPTIONS,
};

/* The options that are only a switch. */
static bool set_switch(struct options *options, int opt)
{
	switch (opt) {
	case 'p':
		return options->patch = true;
	case 'z':
		return options->nul_terminated = true;
	case OPT_WORD_DIFF:
		return options->word_diff = options->patch = true;
	case OPT_STAT:
		return options->stat = true;
	case OPT_NAME_STATUS:
		return options->name_status = true;
	case OPT_NO_RENAMES:
		return options->no_renames = true;
	case OPT_ALL:
		return options->all = true;
	case OPT_ALL_VIEWS:
		return options->all_views = true;
	case OPT_EXIT_CODE:
		return options->exit_code = true;
	default:
		return false;
	}
}

static int set_document(struct options *options, enum options_document document)
{
	if (options->document && options->document != document) {
		return cli_complain("only one document at a time:",
				    "--summary, --json, --html");
	}
	options->document = document;
	return CLI_RUN;
}

static int set_option(struct options *options, int opt, char **argv)
{
	if (set_switch(options, opt)) {
		return CLI_RUN;
	}
	switch (opt) {
	case OPT_SUMMARY:
		return set_document(options, DOCUMENT_SUMMARY);
	case OPT_JSON:
		return set_document(options, DOCUMENT_JSON);
	case OPT_HTML:
		options->html_file = optarg;
		return set_document(options, DOCUMENT_HTML);
	case OPT_BINARY:
		options->binary = CLI_ALWAYS;
		return CLI_RUN;
	case OPT_NO_BINARY:
		options->binary = CLI_NEVER;
		return CLI_RUN;
	case OPT_VIEW:
		options->view = optarg;
		return CLI_RUN;
	default:
		return cli_set_option(&options->cli, opt, argv, usage);
	}
}

int options_parse(struct options *ret_options, int argc, char **argv)
{
	struct options options = {0};
	int before = cli_count_before_dashes(argc, argv);
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(before, argv, ":hpz", long_options, NULL)) !=
		       -1) {
		next = set_option(&options, opt, argv);
	}
	if (next != CLI_RUN) {
		return next;
	}
	cli_take_id(&options.cli, argv, before);
	if (optind < before) {
		return cli_complain("paths come behind '--':", argv[optind]);
	}
	if (options.document &&
	    (options.stat || options.name_status || options.nul_terminated)) {
		return cli_complain("a document has no other form in it:",
				    options.stat          ? "--stat"
				    : options.name_status ? "--name-status"
							  : "-z");
	}
	if (options.view && options.all_views) {
		return cli_complain("--all-views can't go with --view",
				    options.view);
	}
	if (before + 1 < argc) {
		options.paths = argv + before + 1;
		options.n_paths = (size_t)(argc - before - 1);
	}
	*ret_options = options;
	return CLI_RUN;
}
