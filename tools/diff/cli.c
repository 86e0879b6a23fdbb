#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "err.h"
#include "legato-config.h"

#define DEFAULT_WIDTH 80

int cli_complain(const char *what, const char *subject)
{
	fprintf(stderr, "legato-diff: %s '%s' (try 'legato-diff --help')\n",
		what, subject);
	return -EINVAL;
}

int cli_fail(const char *what, const char *subject, int error)
{
	fprintf(stderr, "legato-diff: %s%s%s%s: %s\n", what,
		subject ? " '" : "", subject ? subject : "", subject ? "'" : "",
		err_text(error));
	return error;
}

static int parse_when(enum cli_when *ret_when, const char *text)
{
	static const char *const words[] = {
		[CLI_AUTO] = "auto",
		[CLI_ALWAYS] = "always",
		[CLI_NEVER] = "never",
	};

	if (!text) {
		*ret_when = CLI_ALWAYS;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(text, words[i]) == 0) {
			*ret_when = (enum cli_when)i;
			return 0;
		}
	}
	return cli_complain("--color takes always, never or auto, not", text);
}

int cli_set_option(struct cli *cli, int opt, char **argv, const char *usage)
{
	switch (opt) {
	case CLI_OPT_ID:
		cli->id = optarg;
		return CLI_RUN;
	case CLI_OPT_SCRATCH_DIR:
		cli->scratch_dir = optarg;
		return CLI_RUN;
	case CLI_OPT_COLOR:
		return parse_when(&cli->color, optarg);
	case CLI_OPT_NO_COLOR:
		cli->color = CLI_NEVER;
		return CLI_RUN;
	case CLI_OPT_NO_PAGER:
		cli->no_pager = true;
		return CLI_RUN;
	case 'h':
		fputs(usage, stdout);
		return CLI_DONE;
	case CLI_OPT_VERSION:
		puts("legato-diff " LEGATO_VERSION);
		return CLI_DONE;
	case ':':
		return cli_complain("no value for", argv[optind - 1]);
	default:
		return cli_complain("unknown option", argv[optind - 1]);
	}
}

void cli_take_id(struct cli *cli, char **argv, int end)
{
	if (!cli->id && optind < end) {
		cli->id = argv[optind++];
	}
}

int cli_count_before_dashes(int argc, char **argv)
{
	int count = 1;

	while (count < argc && strcmp(argv[count], "--") != 0) {
		count++;
	}
	return count;
}

int cli_open_execution(const struct cli *cli, struct execution *execution,
		       struct manifest *manifest)
{
	AUTO_FREE char *fallback = NULL;
	const char *scratch = cli->scratch_dir;
	int error;

	if (!scratch) {
		error = execution_default_scratch(&fallback);
		if (error) {
			return cli_fail("no scratch folder: set HOME, or give "
					"--scratch-dir",
					NULL, error);
		}
		scratch = fallback;
	}
	error = execution_open(execution, scratch, cli->id);
	if (error == -ENOTUNIQ) {
		return cli_fail("several executions are called", cli->id,
				error);
	}
	if (error) {
		return cli_fail(cli->id ? "can't find execution"
					: "can't find any execution in",
				cli->id ? cli->id : scratch, error);
	}
	error = manifest_read(manifest, execution->dir_fd);
	return error ? cli_fail("can't read the manifest of", execution->id,
				error)
		     : 0;
}

bool cli_want_color(const struct cli *cli)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (cli->color != CLI_AUTO) {
		return cli->color == CLI_ALWAYS;
	}
	return isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
	       !(term && strcmp(term, "dumb") == 0);
}

unsigned int cli_terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
		return size.ws_col;
	}
	return DEFAULT_WIDTH;
}
