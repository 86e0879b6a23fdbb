#include "discard.h"

#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "err.h"
#include "execution.h"
#include "failure.h"
#include "scratch.h"
#include "state.h"
#include "unmount.h"
#include "usage.h"

/* Locks one that is not living, and detaches what it left mounted. 0, or
 * -EWOULDBLOCK, or -errno. */
static int take_dead(struct execution *execution)
{
	int error = execution_lock(execution);

	if (!error) {
		unmount_execution(execution);
	}
	return error;
}

int discard_in_background(struct execution *execution)
{
	int error = execution_set_aside(execution);
	int null_fd;
	pid_t child;

	if (error) {
		return error;
	}
	child = fork();
	if (child < 0) {
		return execution_remove(execution);
	}
	if (child > 0) {
		return 0;
	}
	/* The lock is the child's too, and keeps sweeps away. */
	setsid();
	null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int i = STDIN_FILENO; null_fd >= 0 && i <= STDERR_FILENO; i++) {
		dup2(null_fd, i);
	}
	_exit(execution_remove(execution) ? EXIT_TROUBLE : 0);
}

static int discard_one(const char *scratch_dir, const char *id)
{
	struct execution execution = EXECUTION_INIT;
	int error = execution_open(&execution, scratch_dir, id);
	int code = 0;

	if (error) {
		return entry_failure(id, error);
	}
	error = take_dead(&execution);
	error = error ? error : discard_in_background(&execution);
	if (error == -EWOULDBLOCK) {
		code = failure(EXIT_TROUBLE,
			       "cannot discard '%s': it is living", id);
	} else if (error) {
		code = failure(EXIT_TROUBLE, "cannot discard '%s': %s", id,
			       err_text(error));
	}
	execution_release(&execution);
	return code;
}

int verb_discard(int argc, char **argv)
{
	struct verb_options options;
	int code = verb_options_parse(&options, argc, argv, 0, 1, INT_MAX);

	for (int i = optind; i < argc && code != EXIT_USAGE; i++) {
		if (discard_one(options.scratch_dir, argv[i])) {
			code = EXIT_TROUBLE;
		}
	}
	free(options.scratch_dir);
	return code;
}

struct sweep {
	const struct verb_options *options;
	int64_t kept_bytes; /* of those that are kept so far, newest first */
};

/* Whether it is to go; the size of one that stays counts. */
static bool is_expired(struct sweep *sweep, const struct entry *entry)
{
	const struct verb_options *options = sweep->options;

	/* A newer version's folder is not ours to judge. */
	if (entry->state == STATE_LIVING ||
	    entry->manifest_error == -EPROTONOSUPPORT) {
		return false;
	}
	if (options->all ||
	    state_now_ns() - entry_time_ns(entry) > options->keep_for_ns) {
		return true;
	}
	if (options->keep_size == KEEP_SIZE_UNLIMITED) {
		return false;
	}
	sweep->kept_bytes += entry_size_bytes(entry);
	return sweep->kept_bytes > options->keep_size;
}

static int remove_one(struct execution *execution, const char *id)
{
	int error = take_dead(execution);

	error = error ? error : execution_remove(execution);
	/* It came to life, or somebody else removes it. */
	if (error == -EWOULDBLOCK || error == -ENOENT) {
		return 0;
	}
	if (error) {
		return failure(EXIT_TROUBLE, "cannot remove '%s': %s", id,
			       err_text(error));
	}
	printf("removed %s\n", id);
	return 0;
}

static int sweep_one(struct sweep *sweep, const char *id)
{
	struct entry entry;
	int error = entry_open(&entry, sweep->options->scratch_dir, id);
	int code = 0;

	if (error == -ENOENT) {
		return 0; /* another sweep was quicker */
	}
	if (error) {
		return entry_failure(id, error);
	}
	if (is_expired(sweep, &entry)) {
		if (sweep->options->dry_run) {
			printf("would remove %s\n", id);
		} else {
			code = remove_one(&entry.execution, id);
		}
	}
	entry_release(&entry);
	return code;
}

/* What a discard did not come to the end of. */
static int sweep_aside(const struct verb_options *options)
{
	char **names = NULL;
	size_t count = 0;
	int code = 0;

	if (options->dry_run ||
	    execution_ids_aside(options->scratch_dir, &names, &count) < 0) {
		return 0;
	}
	for (size_t i = 0; i < count; i++) {
		struct execution execution = EXECUTION_INIT;

		if (execution_open_aside(&execution, options->scratch_dir,
					 names[i]) == 0 &&
		    remove_one(&execution, names[i])) {
			code = EXIT_TROUBLE;
		}
		execution_release(&execution);
	}
	execution_ids_free(names, count);
	return code;
}

int verb_sweep(int argc, char **argv)
{
	struct verb_options options;
	struct sweep sweep = {.options = &options};
	char **ids = NULL;
	size_t count = 0;
	int code = verb_options_parse(
		&options, argc, argv,
		VERB_TAKES_ALL | VERB_TAKES_DRY_RUN | VERB_TAKES_KEEP, 0, 0);
	int error;

	if (code) {
		return code;
	}
	code = scratch_check(options.scratch_dir);
	if (code) {
		free(options.scratch_dir);
		return EXIT_TROUBLE;
	}
	if (!options.dry_run) {
		unmount_stale(options.scratch_dir);
	}
	error = execution_ids(options.scratch_dir, &ids, &count);
	if (error) {
		code = failure(EXIT_TROUBLE, "cannot read '%s': %s",
			       options.scratch_dir, err_text(error));
	}
	/* The newest first: they are what keep.size is for. */
	for (size_t i = count; i > 0; i--) {
		if (sweep_one(&sweep, ids[i - 1])) {
			code = EXIT_TROUBLE;
		}
	}
	if (sweep_aside(&options)) {
		code = EXIT_TROUBLE;
	}
	execution_ids_free(ids, count);
	free(options.scratch_dir);
	return code;
}
