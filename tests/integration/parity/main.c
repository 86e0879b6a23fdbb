/*
 * parity - does the same to a plain directory and to a view, and compares.
 *
 *   parity base DIR      phase 1 of every case: what is there before the mount
 *   parity run DIR       phase 2 and the cases; the transcript goes to stdout
 *   parity tree DIR      the trees that they left behind, as a transcript
 *   parity compare PLAIN VIEW EXPECTED
 *                        two transcripts, as TAP
 *
 * PARITY_ONLY="name name/state ..." restricts base, run and tree.
 */
#include "parity.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "die.h"
#include "err.h"

/* No case takes longer even with sanitizers on a busy machine; a hang must
 * end. */
#define CASE_TIMEOUT_S 300
#define NAME_BYTES     128

static const struct parity_case *const groups[] = {
	cases_calls,  cases_create, cases_open,    cases_data,   cases_map,
	cases_remove, cases_rename, cases_link,    cases_dir,    cases_meta,
	cases_owner,  cases_xattr,  cases_special, cases_limits,
};

typedef void each_fn(const struct parity_case *c, enum state state);

/* Whether PARITY_ONLY names the case, or the case in this state. */
static bool wanted(const struct parity_case *c, enum state state)
{
	const char *only = getenv("PARITY_ONLY");
	AUTO_FREE char *words = NULL;
	char *rest = NULL;
	char name[NAME_BYTES];

	if (!(c->states & STATE_BIT(state))) {
		return false;
	}
	if (!only || !*only) {
		return true;
	}
	snprintf(name, sizeof(name), "%s/%s", c->name, state_name(state));
	words = strdup(only);
	for (char *word = strtok_r(words, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest)) {
		if (strcmp(word, name) == 0 || strcmp(word, c->name) == 0) {
			return true;
		}
	}
	return false;
}

static void for_each(each_fn *each)
{
	for (size_t g = 0; g < ARRAY_SIZE(groups); g++) {
		for (const struct parity_case *c = groups[g]; c->name; c++) {
			for (enum state s = 0; s < STATE_COUNT; s++) {
				if (wanted(c, s)) {
					each(c, s);
				}
			}
		}
	}
}

static void folder_name(char name[NAME_BYTES], const struct parity_case *c,
			enum state state)
{
	snprintf(name, NAME_BYTES, "%s.%s", c->name, state_name(state));
}

static void build_base(const struct parity_case *c, enum state state)
{
	char name[NAME_BYTES];

	folder_name(name, c, state);
	if (mkdir(name, 0755) || chdir(name)) {
		die("can't make '%s'", name);
	}
	state_build_base(state);
	if (c->prepare) {
		if (chdir(state == STATE_MOVED ? "before" : "w")) {
			die("no state in '%s'", name);
		}
		c->prepare();
		if (chdir("..")) {
			die("can't go back");
		}
	}
	if (chdir("..")) {
		die("can't go back");
	}
}

static bool may_run(const struct parity_case *c)
{
	return c->who == PARITY_ANYONE ||
	       (c->who == PARITY_ROOT) == (geteuid() == 0);
}

/* In the child: set-up, the case, and what it leaves behind. */
static void run_here(const struct parity_case *c, enum state state,
		     const char *folder)
{
	const char *what;
	int top;

	alarm(CASE_TIMEOUT_S);
	umask(022);
	if (chdir(folder)) {
		record("set-up of the folder", "%s", err_name(errno));
		return;
	}
	top = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (state_build_view(state, &what)) {
		record("set-up", "%s: %s", what, err_name(errno));
		return;
	}
	c->run();
	umask(022);
	if (fchdir(top)) {
		record("back to the top", "%s", err_name(errno));
	}
	close(top);
	record_tree(".");
}

static void run_case(const struct parity_case *c, enum state state)
{
	char name[NAME_BYTES];
	int status;
	pid_t child;

	snprintf(name, sizeof(name), "%s/%s", c->name, state_name(state));
	record_begin(name);
	if (!may_run(c)) {
		record("skipped", "%s",
		       c->who == PARITY_ROOT ? "needs root"
					     : "needs an ordinary user");
		return;
	}
	folder_name(name, c, state);
	fflush(stdout);
	child = fork();
	if (child < 0) {
		die("can't fork");
	}
	if (child == 0) {
		run_here(c, state, name);
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child) {
		die("can't wait");
	}
	if (WIFSIGNALED(status)) {
		record("ended by", "SIG%s", sigabbrev_np(WTERMSIG(status)));
	}
}

static void show_tree(const struct parity_case *c, enum state state)
{
	char name[NAME_BYTES];

	if (!may_run(c)) {
		return;
	}
	snprintf(name, sizeof(name), "%s/%s", c->name, state_name(state));
	record_begin(name);
	folder_name(name, c, state);
	record_tree(name);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		each_fn *each;
	} verbs[] = {
		{"base", build_base}, {"run", run_case}, {"tree", show_tree}};

	setvbuf(stdout, NULL, _IOLBF, 0);
	umask(022);
	if (argc == 5 && strcmp(argv[1], "compare") == 0) {
		return compare(argv[2], argv[3], argv[4]);
	}
	for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(argv[1], verbs[i].verb) == 0) {
			if (chdir(argv[2])) {
				die("'%s'", argv[2]);
			}
			for_each(verbs[i].each);
			return 0;
		}
	}
	fputs("usage: parity base|run|tree DIR\n"
	      "       parity compare PLAIN VIEW EXPECTED\n",
	      stderr);
	return 2;
}
