#include "usage.h"

#include <getopt.h>
#include <stddef.h>

#include "failure.h"
#include "spec.h"

int usage_bad_option(int option, char **argv)
{
	const char *text = argv[optind - 1];

	if (option == ':') {
		return failure(EXIT_USAGE, "option '%s' needs a value", text);
	}
	return failure(EXIT_USAGE,
		       "unknown option '%s': see 'legato-sandbox --help'",
		       text);
}

int verb_options_parse(struct verb_options *ret_options, int argc, char **argv,
		       unsigned int takes, int min, int max)
{
	static const struct option known[] = {
		{"scratch-dir", required_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},
		{"all", no_argument, NULL, 'a'},
		{0},
	};
	const char *scratch_dir = NULL;
	int option;

	*ret_options = (struct verb_options){0};
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known, NULL)) != -1) {
		if (option == 's') {
			scratch_dir = optarg;
		} else if (option == 'j' && (takes & VERB_TAKES_JSON)) {
			ret_options->json = true;
		} else if (option == 'a' && (takes & VERB_TAKES_ALL)) {
			ret_options->all = true;
		} else {
			return usage_bad_option(option, argv);
		}
	}
	if (argc - optind < min || argc - optind > max) {
		return failure(EXIT_USAGE, "%s: see 'legato-sandbox --help'",
			       argc - optind < min ? "which execution?"
						   : "too many arguments");
	}
	return spec_resolve_scratch(scratch_dir, &ret_options->scratch_dir);
}
