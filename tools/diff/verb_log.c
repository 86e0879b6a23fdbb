/*
 * legato-diff log: the journal, as a timeline.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli.h"
#include "err.h"
#include "log_line.h"
#include "log_select.h"
#include "log_tree.h"
#include "pager.h"
#include "verbs.h"

static const char usage[] =
	"usage: legato-diff log [options] [ID]\n"
	"\n"
	"Every change that an execution made, in order, and which process "
	"made\n"
	"it, while it runs or after.\n"
	"\n"
	"  --path PATTERN       only below a path, or that matches a glob\n"
	"  --process WHICH      of a pid, or of commands that hold WHICH\n"
	"  --op NAME[,NAME...]  only these operations (create, write, rename,\n"
	"                       unlink, ...), or letters (A, D, M, R)\n"
	"  --since, --until TIME  2026-11-30T21:35, 21:35:01, or 10m ago\n"
	"  --failed             only what did not succeed\n"
	"  --view NAME          only in that view\n"
	"  --tree               by process: which command made which files\n"
	"  --json               one object on each line\n"
	"  -f, --follow         go on until the execution ends\n"
	"  --id ID, --scratch-dir DIR, --color[=WHEN], --no-pager, --help\n";

enum {
	OPT_PATH = 256,
	OPT_PROCESS,
	OPT_OP,
	OPT_SINCE,
	OPT_UNTIL,
	OPT_FAILED,
	OPT_VIEW,
	OPT_TREE,
	OPT_JSON,
};

static const struct option long_options[] = {
	{"path", required_argument, NULL, OPT_PATH},
	{"process", required_argument, NULL, OPT_PROCESS},
	{"op", required_argument, NULL, OPT_OP},
	{"since", required_argument, NULL, OPT_SINCE},
	{"until", required_argument, NULL, OPT_UNTIL},
	{"failed", no_argument, NULL, OPT_FAILED},
	{"view", required_argument, NULL, OPT_VIEW},
	{"tree", no_argument, NULL, OPT_TREE},
	{"json", no_argument, NULL, OPT_JSON},
	{"follow", no_argument, NULL, 'f'},
	CLI_OPTIONS,
};

#define POLL_MS 200
/* How long a change that has begun, or whose number is not to be seen yet,
 * holds back the later ones. One in which a daemon was killed never ends. */
#define PATIENCE_MS 15000

struct run {
	struct cli cli;
	struct log_select select;
	bool tree, json, follow;
	struct execution execution;
	struct manifest manifest;
	struct history history;
	struct log_lines lines;
	struct log_tree grouped;
	/* Of --follow: all up to it were written. */
	uint64_t written;
	bool caught_up;
	bool wait_for_ends; /* stop at a change that is under way */
};

static int set_option(struct run *run, int opt, char **argv)
{
	struct timespec now;
	int64_t now_ns;

	clock_gettime(CLOCK_REALTIME, &now);
	now_ns = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	switch (opt) {
	case OPT_PATH:
		run->select.path = optarg;
		return CLI_RUN;
	case OPT_PROCESS:
		run->select.process = optarg;
		return CLI_RUN;
	case OPT_OP:
		return log_select_parse_ops(&run->select.ops, optarg)
			       ? cli_complain("no such operation:", optarg)
			       : CLI_RUN;
	case OPT_SINCE:
		return log_select_parse_time(&run->select.since_ns, optarg,
					     now_ns)
			       ? cli_complain("no such time:", optarg)
			       : CLI_RUN;
	case OPT_UNTIL:
		return log_select_parse_time(&run->select.until_ns, optarg,
					     now_ns)
			       ? cli_complain("no such time:", optarg)
			       : CLI_RUN;
	case OPT_FAILED:
		run->select.failed = true;
		return CLI_RUN;
	case OPT_VIEW:
		run->select.view = optarg;
		return CLI_RUN;
	case OPT_TREE:
		run->tree = true;
		return CLI_RUN;
	case OPT_JSON:
		run->json = true;
		return CLI_RUN;
	case 'f':
		run->follow = true;
		return CLI_RUN;
	default:
		return cli_set_option(&run->cli, opt, argv, usage);
	}
}

static int parse(struct run *run, int argc, char **argv)
{
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(argc, argv, ":hf", long_options, NULL)) !=
		       -1) {
		next = set_option(run, opt, argv);
	}
	if (next != CLI_RUN) {
		return next;
	}
	cli_take_id(&run->cli, argv, argc);
	if (optind < argc) {
		return cli_complain("one execution at a time, not",
				    argv[optind]);
	}
	if (run->tree && (run->json || run->follow)) {
		return cli_complain("--tree can't go with",
				    run->json ? "--json" : "--follow");
	}
	return CLI_RUN;
}

static int take(void *data, const struct journal_record *record)
{
	struct run *run = data;
	/* What was there before may have gaps: it was condensed. */
	bool gap = run->caught_up && record->sequence != run->written + 1;
	int error = 0;

	if (run->wait_for_ends && (gap || record->state == JOURNAL_BEGUN)) {
		return 1;
	}
	run->written = record->sequence;
	if (!log_select_takes(&run->select, &run->manifest, &run->history,
			      record)) {
		return 0;
	}
	if (run->tree) {
		error = log_tree_add(&run->grouped, &run->lines, record);
	} else if (run->json) {
		error = log_line_json(&run->lines, record);
	} else {
		log_line_text(&run->lines, record);
	}
	return error ? error : ferror(run->lines.out) ? -EIO : 0;
}

static int read_once(struct run *run)
{
	int result = history_read(&run->history, run->written, take, run);

	return result > 0 ? 0 : result;
}

/* Changes are told in their order: one that is under way holds back the later
 * ones, but not for long. */
static int follow(struct run *run)
{
	int waited = 0;

	for (;;) {
		/* Asked first: then nothing comes after the last reading. */
		bool living = execution_is_living(&run->execution);
		uint64_t before = run->written;
		int error;

		run->wait_for_ends = living && waited < PATIENCE_MS;
		error = read_once(run);
		run->caught_up = true;
		if (fflush(run->lines.out)) {
			error = error ? error : -EIO;
		}
		if (error || !living) {
			return error;
		}
		waited = run->written == before && run->wait_for_ends
				 ? waited + POLL_MS
				 : 0;
		poll(NULL, 0, POLL_MS);
	}
}

static void tell_what_is_missing(const struct run *run)
{
	if (run->history.database_error) {
		cli_fail("can't read the journal's database, only the newest "
			 "changes are shown",
			 NULL, run->history.database_error);
	}
	if (run->history.area_error) {
		cli_fail("can't read the newest changes", NULL,
			 run->history.area_error);
	}
	if (run->history.forgotten) {
		fprintf(stderr,
			"note: the oldest %" PRIu64
			" changes are not kept any more\n",
			run->history.forgotten);
	}
}

static int run_log(struct run *run)
{
	struct pager pager = {0};
	bool terminal = isatty(STDOUT_FILENO);
	int error =
		cli_open_execution(&run->cli, &run->execution, &run->manifest);

	if (error) {
		return CLI_EXIT_TROUBLE;
	}
	error = history_open(&run->history, &run->execution);
	if (error) {
		cli_fail("no journal was kept of", run->execution.id, error);
		return CLI_EXIT_TROUBLE;
	}
	run->lines = (struct log_lines){
		.out = stdout,
		.manifest = &run->manifest,
		.history = &run->history,
		.color = cli_want_color(&run->cli),
	};
	if (!run->cli.no_pager && !run->follow) {
		pager_start(&pager);
	}
	error = run->follow ? follow(run) : read_once(run);
	if (run->tree && !error) {
		error = log_tree_write(&run->grouped, &run->lines,
				       terminal ? cli_terminal_width() : 0);
	}
	if (fflush(stdout) || error) {
		cli_fail("can't write the log", NULL, error ? error : -EIO);
		error = -EIO;
	}
	tell_what_is_missing(run);
	pager_wait(&pager);
	return error || run->history.database_error || run->history.area_error
		       ? CLI_EXIT_TROUBLE
		       : CLI_EXIT_OK;
}

int log_main(int argc, char **argv)
{
	struct run run = {
		.select = LOG_SELECT_ALL,
		.execution = EXECUTION_INIT,
		.history = HISTORY_INIT,
	};
	int status = parse(&run, argc, argv);

	if (status != CLI_RUN) {
		return status == CLI_DONE ? CLI_EXIT_OK : CLI_EXIT_TROUBLE;
	}
	manifest_init(&run.manifest);
	status = run_log(&run);
	log_tree_release(&run.grouped);
	history_close(&run.history);
	manifest_release(&run.manifest);
	execution_release(&run.execution);
	return status;
}
