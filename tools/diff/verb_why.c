/*
 * legato-diff why: who changed a path last, and how it came to be.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "diff.h"
#include "journal_words.h"
#include "log_line.h"
#include "log_select.h"
#include "past.h"
#include "path.h"
#include "verbs.h"

static const char usage[] =
	"usage: legato-diff why [options] PATH\n"
	"\n"
	"Tells which process changed PATH last, what started that, and all "
	"that\n"
	"happened to it, under earlier names too. PATH is relative to the\n"
	"checkout's view, or absolute as the sandbox has it.\n"
	"\n"
	"  --view NAME          PATH is relative to that view\n"
	"  --id ID, --scratch-dir DIR, --color[=WHEN], --help\n";

enum {
	OPT_VIEW = 256
};

static const struct option long_options[] = {
	{"view", required_argument, NULL, OPT_VIEW},
	CLI_OPTIONS,
};

/* So many parents are told; the rest is the launcher's, and of the machine. */
#define PARENTS_MAX 16
#define WIDTH_MAX   200

struct run {
	struct cli cli;
	const char *view_name;
	const char *path;
	struct execution execution;
	struct manifest manifest;
	struct history history;
	struct past past;
	struct log_lines lines;
	size_t n; /* records */
	/* The last that changed it; sequence 0: none. */
	uint64_t last_sequence;
	uint64_t last_process;
};

static int parse(struct run *run, int argc, char **argv)
{
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(argc, argv, ":h", long_options, NULL)) !=
		       -1) {
		if (opt == OPT_VIEW) {
			run->view_name = optarg;
		} else {
			next = cli_set_option(&run->cli, opt, argv, usage);
		}
	}
	if (next != CLI_RUN) {
		return next;
	}
	if (optind + 1 != argc) {
		return cli_complain("one path is needed behind", "why");
	}
	run->path = argv[optind];
	return CLI_RUN;
}

/* The view in which `path` lies, and what is left of the path in it. */
static const struct manifest_view *find_view(const struct run *run,
					     const char **path)
{
	const struct manifest *manifest = &run->manifest;
	const struct manifest_view *view =
		run->view_name ? manifest_view(manifest, run->view_name)
			       : diff_checkout_view(manifest);
	size_t longest = 0;

	for (size_t i = 0; i < manifest->n_views && **path == '/'; i++) {
		const char *place = manifest->views[i].mount_at;

		if (place && path_is_within(*path, place) &&
		    strlen(place) > longest && !run->view_name) {
			view = &manifest->views[i];
			longest = strlen(place);
		}
	}
	if (view && view->mount_at && path_is_within(*path, view->mount_at)) {
		*path = path_beneath(*path, view->mount_at);
	}
	while (strncmp(*path, "./", 2) == 0 || **path == '/') {
		*path += **path == '/' ? 1 : 2;
	}
	if (strcmp(*path, ".") == 0) {
		*path += 1;
	}
	return view;
}

static int take(void *data, const struct journal_record *record)
{
	struct run *run = data;

	if (!past_has(&run->past, record)) {
		return 0;
	}
	run->n++;
	if (record->result == 0 && record->state == JOURNAL_DONE &&
	    strchr("ADMR", journal_op_letter(record->op))) {
		run->last_sequence = record->sequence;
		run->last_process = record->process;
	}
	log_line_text(&run->lines, record);
	return 0;
}

static void write_process(const struct run *run, const char *before,
			  uint64_t number)
{
	AUTO_BUF line = BUF_INIT;

	history_add_process(&line, &run->history, number, WIDTH_MAX);
	printf("%s%s\n", before, line.data);
}

static void write_who(const struct run *run)
{
	uint64_t number = run->last_process;

	if (!run->last_sequence) {
		puts("never changed");
		return;
	}
	write_process(run, "changed last by ", number);
	for (int i = 0; i < PARENTS_MAX; i++) {
		const struct journal_process *process =
			history_process(&run->history, number);

		if (!process || !process->parent) {
			return;
		}
		number = process->parent;
		write_process(run, "     started by ", number);
	}
}

static int tell(struct run *run, const char *path)
{
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	int error;

	run->lines = (struct log_lines){
		.out = open_memstream(&text, &size),
		.manifest = &run->manifest,
		.history = &run->history,
		.color = cli_want_color(&run->cli),
	};
	if (!run->lines.out) {
		return -ENOMEM;
	}
	error = history_read(&run->history, 0, take, run);
	if (fclose(run->lines.out)) {
		error = error ? error : -ENOMEM;
	}
	if (error || !run->n) {
		return error;
	}
	printf("%s\n", path);
	write_who(run);
	fputs(text, stdout);
	return 0;
}

static int run_why(struct run *run)
{
	AUTO_BUF quoted = BUF_INIT;
	const char *path = run->path;
	const struct manifest_view *view;
	int error =
		cli_open_execution(&run->cli, &run->execution, &run->manifest);

	if (error) {
		return CLI_EXIT_TROUBLE;
	}
	view = find_view(run, &path);
	if (!view) {
		cli_fail("no such view:", run->view_name, -ENOENT);
		return CLI_EXIT_TROUBLE;
	}
	error = history_open(&run->history, &run->execution);
	if (error) {
		cli_fail("no journal was kept of", run->execution.id, error);
		return CLI_EXIT_TROUBLE;
	}
	buf_add_quoted(&quoted, run->path);
	error = past_follow(&run->past, &run->history, view->name, path);
	error = error ? error : tell(run, quoted.data);
	if (fflush(stdout) || error) {
		cli_fail("can't tell", run->path, error ? error : -EIO);
		return CLI_EXIT_TROUBLE;
	}
	if (run->history.database_error || run->history.area_error) {
		cli_fail("can't read all of the journal of", run->execution.id,
			 run->history.database_error
				 ? run->history.database_error
				 : run->history.area_error);
		return CLI_EXIT_TROUBLE;
	}
	if (!run->n) {
		fprintf(stderr, "legato-diff: nothing is on record of %s\n",
			quoted.data);
		return CLI_EXIT_CHANGES;
	}
	return CLI_EXIT_OK;
}

int why_main(int argc, char **argv)
{
	struct run run = {
		.execution = EXECUTION_INIT,
		.history = HISTORY_INIT,
	};
	int status = parse(&run, argc, argv);

	if (status != CLI_RUN) {
		return status == CLI_DONE ? CLI_EXIT_OK : CLI_EXIT_TROUBLE;
	}
	manifest_init(&run.manifest);
	status = run_why(&run);
	past_release(&run.past);
	history_close(&run.history);
	manifest_release(&run.manifest);
	execution_release(&run.execution);
	return status;
}
