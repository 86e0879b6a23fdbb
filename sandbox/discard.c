/* discard, sweep: throwing executions away. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>

#include "err.h"
#include "execution.h"
#include "failure.h"
#include "state.h"
#include "unmount.h"
#include "usage.h"

#define NS_PER_SECOND 1000000000LL
/* How long ended executions are kept for a look. */
#define KEEP_NS (24LL * 60 * 60 * NS_PER_SECOND)

/* Removes one that is not living. 0, or -EWOULDBLOCK, or -errno. */
static int remove_dead(struct execution *execution)
{
	int error = execution_lock(execution);

	if (error) {
		return error;
	}
	unmount_execution(execution);
	return execution_remove(execution);
}

static int discard_one(const char *scratch_dir, const char *id)
{
	struct execution execution = EXECUTION_INIT;
	int error = execution_open(&execution, scratch_dir, id);
	int code = 0;

	if (error) {
		return entry_failure(id, error);
	}
	error = remove_dead(&execution);
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

static int sweep_one(const char *scratch_dir, const char *id, bool all)
{
	struct entry entry;
	bool expired;
	int error = entry_open(&entry, scratch_dir, id);

	if (error == -ENOENT) {
		return 0; /* another sweep was quicker */
	}
	if (error) {
		return entry_failure(id, error);
	}
	expired = all || state_now_ns() - entry_time_ns(&entry) > KEEP_NS;
	/* A newer version's folder is not ours to judge. */
	if (entry.state != STATE_LIVING && expired &&
	    entry.manifest_error != -EPROTONOSUPPORT) {
		error = remove_dead(&entry.execution);
	}
	if (error == -EWOULDBLOCK) {
		error = 0; /* it came to life, or somebody else removes it */
	} else if (error) {
		failure(EXIT_TROUBLE, "cannot remove '%s': %s", id,
			err_text(error));
	} else if (entry.state != STATE_LIVING && expired) {
		printf("removed %s\n", id);
	}
	entry_release(&entry);
	return error ? EXIT_TROUBLE : 0;
}

int verb_sweep(int argc, char **argv)
{
	struct verb_options options;
	char **ids = NULL;
	size_t count = 0;
	int code =
		verb_options_parse(&options, argc, argv, VERB_TAKES_ALL, 0, 0);
	int error;

	if (code) {
		return code;
	}
	unmount_stale(options.scratch_dir);
	error = execution_ids(options.scratch_dir, &ids, &count);
	if (error) {
		code = failure(EXIT_TROUBLE, "cannot read '%s': %s",
			       options.scratch_dir, err_text(error));
	}
	for (size_t i = 0; i < count; i++) {
		if (sweep_one(options.scratch_dir, ids[i], options.all)) {
			code = EXIT_TROUBLE;
		}
	}
	execution_ids_free(ids, count);
	free(options.scratch_dir);
	return code;
}
