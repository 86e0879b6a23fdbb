#include <fcntl.h>
#include <linux/close_range.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "failure.h"
#include "legato-config.h"
#include "usage.h"

static const char help[] =
	"usage: " USAGE_RUN "\n"
	"       " USAGE_EXEC "\n"
	"       legato-sandbox kill [--signal SIGNAL] [--grace TIME] ID...\n"
	"       legato-sandbox ls [--json]\n"
	"       legato-sandbox show [--json] [--stats] ID\n"
	"       legato-sandbox quota ID [LIMITS | recount]\n"
	"       legato-sandbox discard ID...\n"
	"       legato-sandbox sweep [--all] [--dry-run] [--keep-for TIME]\n"
	"                            [--keep-size SIZE]\n"
	"       legato-sandbox doctor [--json]\n"
	"       legato-sandbox why [options of run] [--json] PATH...\n"
	"       legato-sandbox config check [FILE] | show [--json] | schema\n"
	"\n"
	"Runs a command in a sandbox over a throwaway view of a checkout.\n"
	"\n"
	"options of run:\n"
	"  --role review|work|find-out  the checkout under a throwaway layer\n"
	"                     (review, the default), the real one, or the "
	"real\n"
	"                     one read-only\n"
	"  --checkout DIR     default: the git top level of the current "
	"folder\n"
	"  --name NAME        to call the execution by, beside its id\n"
	"  --config FILE      default: $XDG_CONFIG_HOME/legato/config.yaml\n"
	"  --overlay          the checkout under a layer in any role\n"
	"  --mount PATH[:read|:write]  show this, too\n"
	"  --socket NAME=PATH show this socket at /run/legato/sockets/NAME\n"
	"  --bin PATH         a folder or program, first on PATH\n"
	"  --quota LIMITS     size=20G,files=1M,min_free=1G: what it may "
	"write\n"
	"  --env NAME[=VALUE] set a variable, or let one pass\n"
	"  --default-mounts true|false  show agents' state, toolchains, "
	"caches\n"
	"  --discard          throw the changes away at the end\n"
	"  --detach           don't wait: print the id\n"
	"  --die-after TIME   end the command after that time (90s, 15m, 8h)\n"
	"  --limits memory=SIZE,pids=COUNT,cpu=COUNT  of all processes "
	"together\n"
	"  --nested           sandboxes may be made inside\n"
	"  --dry-run [--json] print what would be done\n"
	"  --debug            each operation into the execution's log\n"
	"options of all:\n"
	"  --scratch-dir DIR  default: $XDG_STATE_HOME/legato/sandbox\n"
	"\n"
	"ID is an id, the start of one, or a name. Exit status of run: the\n"
	"command's; 125: the sandbox could not be made. See the man page.\n";

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} verbs[] = {
	{"run", verb_run},       {"exec", verb_exec},
	{"kill", verb_kill},     {"ls", verb_ls},
	{"show", verb_show},     {"discard", verb_discard},
	{"sweep", verb_sweep},   {"config", verb_config},
	{"why", verb_why},       {"quota", verb_quota},
	{"doctor", verb_doctor},
};

/* 0, 1 and 2 are there, and nothing else of our caller's reaches a child. */
static void tidy_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
	if (fd > STDERR_FILENO) {
		close(fd);
	}
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	tidy_fds();
	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0 ||
	    strcmp(verb, "help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (strcmp(verb, "--version") == 0) {
		puts("legato-sandbox " LEGATO_VERSION);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verb, verbs[i].name) == 0) {
			return verbs[i].run(argc - 1, argv + 1);
		}
	}
	if (!*verb) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	return failure(EXIT_USAGE,
		       "unknown %s '%s': see 'legato-sandbox --help'",
		       *verb == '-' ? "option" : "verb", verb);
}
