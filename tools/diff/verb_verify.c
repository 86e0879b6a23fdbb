/*
 * legato-diff verify: whether the journal and the uppers agree.
 *
 * Forwards: what the journal says was made is there, with that mode and size,
 * and what it says was removed is not. Backwards: each file and each whiteout
 * in an upper is one that the journal tells of. And each change has its
 * process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "history.h"
#include "json_text.h"
#include "layer.h"
#include "path.h"
#include "replay.h"
#include "verbs.h"
#include "whiteout.h"

static const char usage[] =
	"usage: legato-diff verify [options] [ID]\n"
	"\n"
	"Compares the journal with what the views hold, and tells where they "
	"disagree.\n"
	"Exit status: 0 they agree, 1 they don't, 2 it could not be told.\n"
	"\n"
	"  --json               one JSON document\n"
	"  --id ID, --scratch-dir DIR, --help\n";

enum {
	OPT_JSON = 256
};

static const struct option long_options[] = {
	{"json", no_argument, NULL, OPT_JSON},
	CLI_OPTIONS,
};

#define TRIES 5 /* of an execution in which something is changed meanwhile */

struct run {
	struct cli cli;
	bool json;
	struct execution execution;
	struct manifest manifest;
	struct history history;
	uint64_t last_sequence;
	size_t n_records;
	yyjson_mut_doc *doc;
	yyjson_mut_val *list; /* of disagreements */
	/* While a view is looked at: */
	struct replay replay;
	struct layer upper;
	struct layer base;
	bool whiteout_files;
	int error;
};

static int parse(struct run *run, int argc, char **argv)
{
	int next = CLI_RUN;
	int opt;

	while (next == CLI_RUN &&
	       (opt = getopt_long(argc, argv, ":h", long_options, NULL)) !=
		       -1) {
		if (opt == OPT_JSON) {
			run->json = true;
		} else {
			next = cli_set_option(&run->cli, opt, argv, usage);
		}
	}
	if (next != CLI_RUN) {
		return next;
	}
	cli_take_id(&run->cli, argv, argc);
	return optind == argc
		       ? CLI_RUN
		       : cli_complain("too many arguments:", argv[optind]);
}

static void disagree(struct run *run, const char *path, const char *what)
{
	yyjson_mut_val *object = yyjson_mut_arr_add_obj(run->doc, run->list);

	if (!object) {
		run->error = -ENOMEM;
		return;
	}
	yyjson_mut_obj_add_strcpy(run->doc, object, "view", run->replay.view);
	json_text_adds(run->doc, object, "path", path);
	yyjson_mut_obj_add_str(run->doc, object, "what", what);
}

/* ---------------------------------------------------------- the upper's side
 */

/* Whether the entry hides what the base has: 1, 0 or -errno. */
static int hides(const struct run *run, int dirfd, const char *name,
		 const struct stat *st)
{
	return whiteout_is(st) ? 1
	       : run->whiteout_files && S_ISREG(st->st_mode) && !st->st_size
		       ? whiteout_is_file(dirfd, name, st)
		       : 0;
}

enum seen {
	SEEN_NOTHING,
	SEEN_HIDDEN,
	SEEN_ENTRY,
};

/* What a layer has at the path: enum seen or -errno. */
static int look(const struct run *run, const struct layer *layer,
		const char *path, struct stat *ret_st)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *dir =
		slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	AUTO_FD fd = dir ? layer_open_path(layer, dir, O_RDONLY | O_DIRECTORY)
			 : -ENOMEM;
	const char *name = slash ? slash + 1 : path;
	int hidden;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP) {
		return SEEN_NOTHING;
	}
	if (fd < 0) {
		return fd;
	}
	if (fstatat(fd, name, ret_st, AT_SYMLINK_NOFOLLOW)) {
		return errno == ENOENT ? SEEN_NOTHING : -errno;
	}
	hidden = hides(run, fd, name, ret_st);
	return hidden < 0 ? hidden : hidden ? SEEN_HIDDEN : SEEN_ENTRY;
}

static void check_attributes(struct run *run, const struct fact *fact,
			     const struct stat *st)
{
	/* By another name of it there may have been more. */
	if (!S_ISDIR(st->st_mode) && st->st_nlink > 1) {
		return;
	}
	if (fact->mode >= 0 && (mode_t)fact->mode != st->st_mode) {
		disagree(run, fact->path, "has another mode than was recorded");
	}
	if (fact->size_bytes >= 0 && S_ISREG(st->st_mode) &&
	    st->st_size != fact->size_bytes) {
		disagree(run, fact->path, "has another size than was recorded");
	}
}

/* Whether nothing is known for sure of a directory above. */
static bool is_beneath_unsure(const struct run *run, const char *path)
{
	AUTO_FREE char *above = strdup(path);
	char *slash;

	while (above && (slash = strrchr(above, '/'))) {
		const struct fact *fact;

		*slash = '\0';
		fact = replay_find(&run->replay, above);
		if (fact && fact->state == FACT_MAYBE) {
			return true;
		}
	}
	return false;
}

static void check_fact(const struct fact *fact, void *data)
{
	struct run *run = data;
	struct stat st;
	struct stat base_st;
	int seen;

	if (run->error || fact->state == FACT_MAYBE || !*fact->path ||
	    is_beneath_unsure(run, fact->path)) {
		return;
	}
	seen = look(run, &run->upper, fact->path, &st);
	if (seen < 0) {
		run->error = seen;
	} else if (fact->state == FACT_GONE && seen == SEEN_ENTRY) {
		disagree(run, fact->path, "was removed, and is there");
	} else if (fact->state == FACT_THERE && seen == SEEN_ENTRY) {
		check_attributes(run, fact, &st);
	} else if (fact->state == FACT_THERE &&
		   (seen == SEEN_HIDDEN || look(run, &run->base, fact->path,
						&base_st) != SEEN_ENTRY)) {
		/* Else what the base has was left as it is. */
		disagree(run, fact->path,
			 "was made or changed, and is missing");
	}
}

/* -------------------------------------------------------- the journal's side
 */

/* A copy that the daemon made for a change that it was killed before: it is as
 * in the base, so nothing was changed. */
static bool is_mere_copy(const struct run *run, const char *path,
			 const struct stat *st)
{
	struct stat base;

	return look(run, &run->base, path, &base) == SEEN_ENTRY &&
	       base.st_mode == st->st_mode &&
	       (!S_ISREG(st->st_mode) ||
		(base.st_size == st->st_size &&
		 base.st_mtim.tv_sec == st->st_mtim.tv_sec &&
		 base.st_mtim.tv_nsec == st->st_mtim.tv_nsec));
}

static void check_entry(struct run *run, const char *path,
			const struct stat *st, bool hidden)
{
	if (replay_find(&run->replay, path) || is_beneath_unsure(run, path)) {
		return;
	}
	if (hidden) {
		disagree(run, path,
			 "is hidden, and nothing is on record of it");
	} else if (!is_mere_copy(run, path, st)) {
		disagree(run, path,
			 "is in the upper, and nothing is on record of it");
	}
}

static int walk(struct run *run, const char *path);

static int walk_entry(struct run *run, int dirfd, const char *dir,
		      const char *name)
{
	AUTO_FREE char *path = path_join(dir, name);
	struct stat st;
	int hidden;

	if (!path) {
		return -ENOMEM;
	}
	if (fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) {
		return errno == ENOENT ? 0 : -errno;
	}
	if (S_ISDIR(st.st_mode)) {
		return walk(run, path);
	}
	hidden = hides(run, dirfd, name, &st);
	if (hidden >= 0) {
		check_entry(run, path, &st, hidden);
	}
	return hidden < 0 ? hidden : 0;
}

/* Directories may be there for what is in them alone. */
static int walk(struct run *run, const char *path)
{
	int fd = layer_open_path(&run->upper, path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int error = 0;

	if (!dir) {
		error = fd < 0 ? fd : -errno;
		return error == -ENOENT ? 0 : error;
	}
	while (!error && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0) {
			error = walk_entry(run, fd, path, entry->d_name);
		}
	}
	closedir(dir);
	return error ? error : run->error;
}

/* --------------------------------------------------------------- all of it
 */

static int take(void *data, const struct journal_record *record)
{
	struct run *run = data;

	if (record->sequence <= run->last_sequence) {
		disagree(run, record->path, "is recorded out of order");
	}
	run->last_sequence = record->sequence;
	if (record->process &&
	    !history_process(&run->history, record->process)) {
		disagree(run, record->path,
			 "was changed by an unknown process");
	}
	return replay_take(&run->replay, record);
}

static int open_layers(struct run *run, const struct manifest_view *view)
{
	AUTO_FREE char *upper = NULL;
	int error;

	if (asprintf(&upper, "views/%s/upper", view->name) < 0) {
		upper = NULL;
		return -ENOMEM;
	}
	error = layer_open(&run->upper, run->execution.dir_fd, upper);
	error = error ? error : layer_open(&run->base, AT_FDCWD, view->base);
	return error ? error : whiteout_has_files(run->upper.root_fd);
}

static int verify_view(struct run *run, const struct manifest_view *view)
{
	int error = open_layers(run, view);

	run->whiteout_files = error > 0;
	run->replay = (struct replay){.view = view->name};
	run->last_sequence = 0;
	error = error < 0 ? error : history_read(&run->history, 0, take, run);
	error = error ? error : run->history.database_error;
	error = error ? error : run->history.area_error;
	if (!error && run->history.forgotten) {
		/* Of the oldest only a number is left: no path is told of. */
		fprintf(stderr, "legato-diff: the oldest changes are not kept "
				"any more, so files without a record are not "
				"told\n");
	}
	if (!error) {
		replay_each(&run->replay, check_fact, run);
		error = run->error;
	}
	if (!error && !run->history.forgotten) {
		error = walk(run, "");
	}
	run->n_records += run->replay.n_records;
	replay_release(&run->replay);
	layer_close(&run->upper);
	layer_close(&run->base);
	return error;
}

static int look_at_all(struct run *run)
{
	int error = 0;

	yyjson_mut_doc_free(run->doc);
	run->doc = yyjson_mut_doc_new(NULL);
	run->list = run->doc ? yyjson_mut_arr(run->doc) : NULL;
	run->n_records = 0;
	if (!run->list) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < run->manifest.n_views && !error; i++) {
		error = verify_view(run, &run->manifest.views[i]);
	}
	return error;
}

/* What is changed while it is looked at is no disagreement. */
static int verify(struct run *run)
{
	int error = look_at_all(run);

	for (int i = 1; i < TRIES && !error && yyjson_mut_arr_size(run->list) &&
			execution_is_living(&run->execution);
	     i++) {
		error = look_at_all(run);
	}
	return error;
}

static int write_json(struct run *run)
{
	yyjson_mut_val *root = yyjson_mut_obj(run->doc);
	char *text = NULL;

	yyjson_mut_doc_set_root(run->doc, root);
	yyjson_mut_obj_add_str(run->doc, root, "id", run->execution.id);
	yyjson_mut_obj_add_bool(run->doc, root, "agree",
				!yyjson_mut_arr_size(run->list));
	yyjson_mut_obj_add_uint(run->doc, root, "changes", run->n_records);
	yyjson_mut_obj_add_val(run->doc, root, "disagreements", run->list);
	text = yyjson_mut_write(run->doc, YYJSON_WRITE_PRETTY, NULL);
	if (!text) {
		return -ENOMEM;
	}
	puts(text);
	free(text);
	return 0;
}

static void write_text(struct run *run)
{
	size_t i;
	size_t n;
	yyjson_mut_val *object;

	yyjson_mut_arr_foreach(run->list, i, n, object)
	{
		AUTO_BUF path = BUF_INIT;

		buf_add_quoted(&path, yyjson_mut_get_str(yyjson_mut_obj_get(
					      object, "path")));
		printf("%s: %s: %s\n",
		       yyjson_mut_get_str(yyjson_mut_obj_get(object, "view")),
		       path.data,
		       yyjson_mut_get_str(yyjson_mut_obj_get(object, "what")));
	}
	printf("%zu changes on record, %zu disagreements\n", run->n_records,
	       yyjson_mut_arr_size(run->list));
}

static int run_verify(struct run *run)
{
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
	error = verify(run);
	if (error) {
		cli_fail("can't verify", run->execution.id, error);
		return CLI_EXIT_TROUBLE;
	}
	if (run->json) {
		error = write_json(run);
	} else {
		write_text(run);
	}
	if (fflush(stdout) || error) {
		cli_fail("can't write", NULL, error ? error : -EIO);
		return CLI_EXIT_TROUBLE;
	}
	return yyjson_mut_arr_size(run->list) ? CLI_EXIT_CHANGES : CLI_EXIT_OK;
}

int verify_main(int argc, char **argv)
{
	struct run run = {
		.execution = EXECUTION_INIT,
		.history = HISTORY_INIT,
		.upper.root_fd = -1,
		.base.root_fd = -1,
	};
	int status = parse(&run, argc, argv);

	if (status != CLI_RUN) {
		return status == CLI_DONE ? CLI_EXIT_OK : CLI_EXIT_TROUBLE;
	}
	manifest_init(&run.manifest);
	status = run_verify(&run);
	yyjson_mut_doc_free(run.doc);
	history_close(&run.history);
	manifest_release(&run.manifest);
	execution_release(&run.execution);
	return status;
}
