#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "legato-config.h"

static const char usage[] =
	"usage: legato-diff [options] [ID] [-- PATH...]\n"
	"\n"
	"Shows what an execution changed, against its base. ID is an\n"
	"execution's id or name, or the beginning of an id; the newest\n"
	"without. PATHs are relative to the view.\n"
	"\n"
	"  -p, --patch          patches that git apply takes (the default)\n"
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
	"  --exit-code          exit with 1 if there are changes\n"
	"  --color[=WHEN]       always, never or auto\n"
	"  --no-pager           don't use a pager\n"
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
	OPT_COLOR,
	OPT_NO_COLOR,
	OPT_NO_PAGER,
	OPT_SCRATCH_DIR,
	OPT_VERSION,
};

static const struct option long_options[] = {
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
	{"color", optional_argument, NULL, OPT_COLOR},
	{"no-color", no_argument, NULL, OPT_NO_COLOR},
	{"no-pager", no_argument, NULL, OPT_NO_PAGER},
	{"scratch-dir", required_argument, NULL, OPT_SCRATCH_DIR},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int complain(const char *what, const char *subject)
{
	fprintf(stderr, "legato-diff: %s '%s' (try 'legato-diff --help')\n",
		what, subject);
	return -EINVAL;
}

static int parse_when(enum options_when *ret_when, const char *text)
{
	static const char *const words[] = {
		[WHEN_AUTO] = "auto",
		[WHEN_ALWAYS] = "always",
		[WHEN_NEVER] = "never",
	};

	if (!text) {
		*ret_when = WHEN_ALWAYS;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret_when = (enum options_when)i;
			return 0;
		}
	}
	return complain("--color takes always, never or auto, not", text);
}

/* The options that are only a switch. */
static bool set_switch(struct options *options, int opt)
{
	switch (opt) {
	case 'p':
		return options->patch = true;
	case 'z':
		return options->nul_terminated = true;
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
	case OPT_NO_PAGER:
		return options->no_pager = true;
	default:
		return false;
	}
}

static int set_option(struct options *options, int opt, char **argv)
{
	if (set_switch(options, opt)) {
		return OPTIONS_RUN;
	}
	switch (opt) {
	case OPT_BINARY:
		options->binary = WHEN_ALWAYS;
		return OPTIONS_RUN;
	case OPT_NO_BINARY:
		options->binary = WHEN_NEVER;
		return OPTIONS_RUN;
	case OPT_NO_COLOR:
		options->color = WHEN_NEVER;
		return OPTIONS_RUN;
	case OPT_COLOR:
		return parse_when(&options->color, optarg);
	case OPT_VIEW:
		options->view = optarg;
		return OPTIONS_RUN;
	case OPT_SCRATCH_DIR:
		options->scratch_dir = optarg;
		return OPTIONS_RUN;
	case 'h':
		fputs(usage, stdout);
		return OPTIONS_DONE;
	case OPT_VERSION:
		puts("legato-diff " LEGATO_VERSION);
		return OPTIONS_DONE;
	case ':':
		return complain("no value for", argv[optind - 1]);
	default:
		return complain("unknown option", argv[optind - 1]);
	}
}

/* How many of the arguments come before a "--". */
static int count_before_dashes(int argc, char **argv)
{
	int count = 1;

	while (count < argc && strcmp(argv[count], "--") != 0) {
		count++;
	}
	return count;
}

int options_parse(struct options *ret_options, int argc, char **argv)
{
	struct options options = {0};
	int before = count_before_dashes(argc, argv);
	int next = OPTIONS_RUN;
	int opt;

	while (next == OPTIONS_RUN &&
	       (opt = getopt_long(before, argv, ":hpz", long_options, NULL)) !=
		       -1) {
		next = set_option(&options, opt, argv);
	}
	if (next != OPTIONS_RUN) {
		return next;
	}
	if (optind < before) {
		options.id = argv[optind++];
	}
	if (optind < before) {
		return complain("paths come behind '--':", argv[optind]);
	}
	if (options.view && options.all_views) {
		return complain("--all-views can't go with --view",
				options.view);
	}
	if (before + 1 < argc) {
		options.paths = argv + before + 1;
		options.n_paths = (size_t)(argc - before - 1);
	}
	*ret_options = options;
	return OPTIONS_RUN;
}
