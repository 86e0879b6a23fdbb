/*
 * The verbless form: what an execution changed.
 */
#include <stdio.h>
#include <string.h>

#include "buf.h"
#include "cli.h"
#include "diff.h"
#include "document.h"
#include "filter.h"
#include "format.h"
#include "options.h"
#include "pager.h"
#include "report.h"
#include "summary.h"
#include "text.h"
#include "verbs.h"

/* In what is told before the changes: of one kind, and of one repository. */
#define MAX_ODD     5
#define MAX_COMMITS 10

/* One call of the program. */
struct run {
	struct options options;
	struct execution execution;
	struct manifest manifest;
	struct trouble trouble;
	struct format format; /* all but the prefix */
	struct buf notes;     /* told at the end, in lines */
	size_t n_changes;
};

/* Before the pager takes standard output's place. */
static void choose_format(struct run *run)
{
	struct options *options = &run->options;
	bool terminal = isatty(STDOUT_FILENO);

	if (!options->name_status && !options->stat && !options->document) {
		options->patch = true;
	}
	run->format = (struct format){
		.out = stdout,
		.trouble = &run->trouble,
		.color = cli_want_color(&options->cli),
		.terminal = terminal,
		.nul_terminated = options->nul_terminated,
		.binary = options->binary == CLI_AUTO
				  ? !terminal && !options->word_diff
				  : options->binary == CLI_ALWAYS,
		.word_diff = options->word_diff,
		.width = cli_terminal_width(),
	};
}

/* What comes before the paths of a view: nothing in the checkout's, so that
 * patches apply there; else where the view is mounted. */
static void add_prefix(struct buf *prefix, const struct run *run,
		       const struct manifest_view *view)
{
	const char *place = view->mount_at ? view->mount_at : view->name;

	if (view == diff_checkout_view(&run->manifest) &&
	    !run->options.all_views) {
		return;
	}
	/* "a/" or "b/" comes before it in a patch. */
	while (*place == '/' && run->options.patch) {
		place++;
	}
	buf_adds(prefix, place);
	if (prefix->len > 0 && prefix->data[prefix->len - 1] != '/') {
		buf_addc(prefix, '/');
	}
}

static void note_counts(struct run *run, const char *what,
			const struct change_counts *counts, const char *how)
{
	if (counts->total > 0) {
		buf_adds(&run->notes, what);
		buf_adds(&run->notes, ": ");
		text_add_counts(&run->notes, counts);
		buf_adds(&run->notes, " (");
		text_add_size(&run->notes, counts->new_bytes);
		buf_addf(&run->notes, ")%s\n", how);
	}
}

static int write_forms(const struct run *run, const struct format *format,
		       const struct diff *diff)
{
	const struct options *options = &run->options;
	int error = 0;

	if (options->name_status) {
		error = format_name_status(format, diff);
	}
	if (options->stat && !error) {
		error = format_stat(format, diff);
	}
	if (options->stat && options->patch && diff->list.n > 0) {
		fputc('\n', format->out);
	}
	if (options->patch && !error) {
		error = format_patch(format, diff);
	}
	return error;
}

static struct report_wish wish_of(const struct run *run,
				  const struct manifest_view *only)
{
	return (struct report_wish){
		.only = only,
		.paths = run->options.paths,
		.n_paths = run->options.n_paths,
		.renames = !run->options.no_renames,
	};
}

static unsigned int document_flags(const struct options *options)
{
	return (options->all ? DOCUMENT_ALL : 0) |
	       (options->patch ? DOCUMENT_PATCHES : 0) |
	       (isatty(STDOUT_FILENO) ? DOCUMENT_PRETTY : 0);
}

/* To another name first: a page that is being read is whole, old or new. */
static int write_page(struct run *run, const struct report *report)
{
	const char *name = run->options.html_file;
	AUTO_FREE char *temporary = NULL;
	unsigned int flags = document_flags(&run->options) & DOCUMENT_ALL;
	FILE *out;
	int error;

	if (strcmp(name, "-") == 0) {
		return document_write_html(stdout, report, flags,
					   &run->trouble);
	}
	if (asprintf(&temporary, "%s.%d.tmp", name, (int)getpid()) < 0) {
		temporary = NULL;
		return -ENOMEM;
	}
	out = fopen(temporary, "wxe");
	if (!out) {
		return cli_fail("can't write", name, -errno);
	}
	error = document_write_html(out, report, flags, &run->trouble);
	if ((fflush(out) || ferror(out)) && !error) {
		error = -errno;
	}
	if (fclose(out) && !error) {
		error = -errno;
	}
	if (!error && rename(temporary, name)) {
		error = -errno;
	}
	if (error) {
		unlink(temporary);
		return cli_fail("can't write", name, error);
	}
	return 0;
}

static int write_document(struct run *run, const struct report *report)
{
	switch (run->options.document) {
	case DOCUMENT_JSON:
		return document_write_json(stdout, report,
					   document_flags(&run->options),
					   &run->trouble);
	case DOCUMENT_HTML:
		return write_page(run, report);
	case DOCUMENT_NONE:
	case DOCUMENT_SUMMARY:
		break;
	}
	return summary_write(stdout, report);
}

/* Before the changes, and like the notes not among them. */
static void write_head(const struct report_view *view, const char *prefix)
{
	AUTO_BUF text = BUF_INIT;

	odd_add_lines(&text, &view->odd, "", prefix, MAX_ODD);
	for (size_t i = 0; i < view->stories.n; i++) {
		git_story_add_lines(&text, &view->stories.items[i], "", prefix,
				    MAX_COMMITS);
	}
	if (text.len > 0) {
		fflush(stdout);
		fputs(text.data, stderr);
		fflush(stderr);
	}
}

/* Folds, and notes what was. */
static void fold(struct run *run, struct report_view *view)
{
	struct filter filter = {
		.all = run->options.all,
		.keep_deletions = run->options.name_status,
	};
	struct filter_folded folded;

	filter_apply(&view->diff.list, &filter, &folded);
	run->n_changes += view->diff.list.n + folded.git.total +
			  folded.ignored.total + folded.generated.total;
	note_counts(run, "ignored files", &folded.ignored,
		    "; --all shows them");
	note_counts(run, "generated files", &folded.generated,
		    "; --all shows them");
	note_counts(run, "below .git", &folded.git,
		    "; --name-status --all lists them");
}

static int show_view(struct run *run, const struct manifest_view *view)
{
	AUTO(report_view_release) struct report_view shown;
	AUTO_BUF prefix = BUF_INIT;
	struct format format = run->format;
	const struct report_wish wish = wish_of(run, NULL);
	int error = report_view_make(&shown, &run->execution, view, &wish,
				     &run->trouble);

	if (error || shown.error) {
		return cli_fail("can't compare view", view->name,
				error ? error : shown.error);
	}
	add_prefix(&prefix, run, view);
	format.prefix = prefix.data;
	write_head(&shown, prefix.data);
	fold(run, &shown);
	return write_forms(run, &format, &shown.diff);
}

/* A view that is not asked for is only counted, in a note. */
static int count_view(struct run *run, const struct manifest_view *view)
{
	AUTO_DIFF diff = DIFF_INIT;
	AUTO_BUF what = BUF_INIT;
	AUTO_BUF how = BUF_INIT;
	struct change_counts counts = {0};
	int error = diff_view(&diff, &run->execution, view,
			      run->options.no_renames ? 0 : DIFF_RENAMES,
			      &run->trouble);

	if (error) {
		return cli_fail("can't compare view", view->name, error);
	}
	for (size_t i = 0; i < diff.list.n; i++) {
		change_count(&counts, &diff.list.items[i]);
	}
	buf_addf(&what, "view %s", view->name);
	buf_addf(&how, "; --view %s shows it", view->name);
	note_counts(run, what.data, &counts, how.data);
	return 0;
}

/* The forms that are one document of all views. */
static int show_document(struct run *run)
{
	const struct options *options = &run->options;
	const struct manifest_view *only =
		options->view ? manifest_view(&run->manifest, options->view)
			      : NULL;
	const struct report_wish wish = wish_of(run, only);
	AUTO_REPORT report = {0};
	int error;

	if (options->view && !only) {
		return cli_fail("no such view:", options->view, -ENOENT);
	}
	error = report_make(&report, &run->execution, &run->manifest, &wish,
			    &run->trouble);
	for (size_t i = 0; i < report.n; i++) {
		run->n_changes += report.views[i].diff.list.n;
		if (report.views[i].error) {
			cli_fail("can't compare view",
				 report.views[i].view->name,
				 report.views[i].error);
			run->trouble.n_errors++;
		}
	}
	if (error) {
		return cli_fail("can't compare", NULL, error);
	}
	return write_document(run, &report);
}

static int show_views(struct run *run)
{
	const struct manifest *manifest = &run->manifest;
	const struct manifest_view *only =
		run->options.view ? manifest_view(manifest, run->options.view)
				  : diff_checkout_view(manifest);
	int result = 0;

	if (!only) {
		return cli_fail("no such view:", run->options.view, -ENOENT);
	}
	for (size_t i = 0; i < manifest->n_views; i++) {
		const struct manifest_view *view = &manifest->views[i];
		int error = 0;

		if (run->options.all_views || view == only) {
			error = show_view(run, view);
		} else if (!run->options.view && run->options.n_paths == 0) {
			error = count_view(run, view);
		}
		result = result ? result : error;
	}
	return result;
}

/* Behind the changes; not on standard output, which may be a patch or a list
 * that a program reads. */
static void write_notes(const struct run *run)
{
	char *rest = run->notes.data;
	char *line;

	fflush(stdout);
	while ((line = strsep(&rest, "\n")) && *line) {
		fprintf(stderr, "note: %s\n", line);
	}
}

static int run_show(struct run *run)
{
	struct pager pager = {0};
	int error = cli_open_execution(&run->options.cli, &run->execution,
				       &run->manifest);
	bool failed;

	if (error) {
		return CLI_EXIT_TROUBLE;
	}
	choose_format(run);
	if (!run->options.cli.no_pager) {
		pager_start(&pager);
	}
	error = run->options.document ? show_document(run) : show_views(run);
	write_notes(run);
	failed = fflush(stdout) || ferror(stdout);
	if (failed) {
		cli_fail("can't write the output", NULL, -errno);
	}
	pager_wait(&pager);
	if (error || failed || run->trouble.n_errors) {
		return CLI_EXIT_TROUBLE;
	}
	return run->options.exit_code && run->n_changes ? CLI_EXIT_CHANGES : 0;
}

int show_main(int argc, char **argv)
{
	struct run run = {
		.execution = EXECUTION_INIT,
		.trouble = {.out = stderr},
		.notes = BUF_INIT,
	};
	int status = options_parse(&run.options, argc, argv);

	if (status == CLI_DONE) {
		return CLI_EXIT_OK;
	}
	if (status < 0) {
		return CLI_EXIT_TROUBLE;
	}
	manifest_init(&run.manifest);
	status = run_show(&run);
	buf_release(&run.notes);
	manifest_release(&run.manifest);
	execution_release(&run.execution);
	return status;
}
