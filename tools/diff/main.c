/*
 * legato-diff: what an execution changed.
 *
 * Exit status: 0; 1 where a verb says what it means; 2 trouble.
 */
#include <stddef.h>
#include <string.h>

#include "libgit.h"
#include "log.h"
#include "owner.h"
#include "verbs.h"

static const struct verb {
	const char *name;
	verb_fn *run;
} verbs[] = {
	{"apply", apply_main},   {"export", export_main},
	{"log", log_main},       {"tui", tui_main},
	{"why", why_main},       {"--interactive", tui_main},
	{"verify", verify_main}, {NULL, NULL},
};

static verb_fn *find_verb(const char *name)
{
	for (size_t i = 0; verbs[i].name; i++) {
		if (strcmp(name, verbs[i].name) == 0) {
			return verbs[i].run;
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	verb_fn *run = argc > 1 ? find_verb(argv[1]) : NULL;
	int status;

	/* The agent may have left files that their owner can't read. Where
	 * that can't be helped, each is an error of its own. */
	log_setup(STDERR_FILENO, LOG_LEVEL_ERROR);
	(void)owner_start();
	libgit_need();
	status = run ? run(argc - 1, argv + 1) : show_main(argc, argv);
	owner_stop();
	return status;
}
