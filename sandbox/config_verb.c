/* config check, config show, config schema. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_show.h"
#include "failure.h"
#include "resolve.h"
#include "usage.h"

struct config_options {
	const char *file;
	const char *checkout;
	bool json;
};

static int parse_options(struct config_options *ret_options, int argc,
			 char **argv, bool show)
{
	static const struct option known[] = {
		{"config", required_argument, NULL, 'f'},
		{"checkout", required_argument, NULL, 'c'},
		{"json", no_argument, NULL, 'j'},
		{0},
	};
	int option;

	*ret_options = (struct config_options){0};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (option == 'f') {
			ret_options->file = optarg;
		} else if (option == 'c') {
			ret_options->checkout = optarg;
		} else if (option == 'j' && show) {
			ret_options->json = true;
		} else {
			return usage_bad_option(option, argv);
		}
	}
	return 0;
}

/* The person's file and the checkout's. */
static int load_all(struct config *config, const struct config_options *options)
{
	AUTO_FREE char *home = NULL;
	AUTO_FREE char *checkout = NULL;
	AUTO_FREE char *cwd = NULL;
	int code = resolve_home(&home);

	code = code ? code : config_load_file(config, options->file, home);
	code = code ? code
		    : resolve_checkout(options->checkout, &checkout, &cwd);
	return code ? code : config_load_checkout(config, checkout);
}

static int check_files(int argc, char **argv)
{
	struct config_options options;
	struct config config;
	int code = parse_options(&options, argc, argv, false);

	if (!code && argc - optind > 1) {
		code = failure(EXIT_USAGE,
			       "too many arguments: see 'legato-sandbox "
			       "--help'");
	}
	if (code) {
		return code;
	}
	config_init(&config);
	if (optind < argc) {
		code = config_load_file(&config, argv[optind], "");
	} else {
		code = load_all(&config, &options);
	}
	config_release(&config);
	return code ? EXIT_TROUBLE : 0;
}

static int show_merged(int argc, char **argv)
{
	struct config_options options;
	struct config config;
	int code = parse_options(&options, argc, argv, true);

	if (!code && optind < argc) {
		code = failure(EXIT_USAGE,
			       "too many arguments: see 'legato-sandbox "
			       "--help'");
	}
	if (code) {
		return code;
	}
	config_init(&config);
	code = load_all(&config, &options);
	if (!code && options.json) {
		config_show_json(stdout, &config);
	} else if (!code) {
		config_show_text(stdout, &config);
	}
	config_release(&config);
	return code ? EXIT_TROUBLE : 0;
}

int verb_config(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "check") == 0) {
		return check_files(argc - 1, argv + 1);
	}
	if (strcmp(what, "show") == 0) {
		return show_merged(argc - 1, argv + 1);
	}
	if (strcmp(what, "schema") == 0) {
		config_show_schema(stdout);
		return 0;
	}
	return failure(EXIT_USAGE, "config what? check, show or schema");
}
