#include "usage.h"

#include <getopt.h>
#include <stddef.h>

#include "duration.h"
#include "failure.h"
#include "spec.h"

#define GRACE_DEFAULT_NS (10 * NS_PER_SECOND)
/* Neither a flag nor the configuration said it. */
#define KEEP_FOR_UNSET  (-1)
#define KEEP_SIZE_UNSET (-2)

/* How long ended executions are kept for a look. */
#define KEEP_FOR_DEFAULT_NS (24LL * 60 * 60 * NS_PER_SECOND)

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

static const struct option verb_options[] = {
	{"scratch-dir", required_argument, NULL, 's'},
	{"json", no_argument, NULL, 'j'},
	{"all", no_argument, NULL, 'a'},
	{"signal", required_argument, NULL, 'S'},
	{"grace", required_argument, NULL, 'g'},
	{"dry-run", no_argument, NULL, 'p'},
	{"stats", no_argument, NULL, 't'},
	{"keep-for", required_argument, NULL, 'k'},
	{"keep-size", required_argument, NULL, 'K'},
	{0},
};

/* What a verb must take for an option to be one. */
static unsigned int needed(int option)
{
	switch (option) {
	case 'j':
		return VERB_TAKES_JSON;
	case 'a':
		return VERB_TAKES_ALL;
	case 'S':
		return VERB_TAKES_SIGNAL;
	case 'g':
		return VERB_TAKES_GRACE;
	case 'p':
		return VERB_TAKES_DRY_RUN;
	case 't':
		return VERB_TAKES_STATS;
	case 'k':
	case 'K':
		return VERB_TAKES_KEEP;
	default:
		return 0;
	}
}

static int take_quantity(int (*parse)(const char *, int64_t *), int64_t *ret)
{
	return parse(optarg, ret) == 0 ? 0
				       : failure(EXIT_USAGE,
						 "bad value '%s': see "
						 "'legato-sandbox --help'",
						 optarg);
}

static int take_verb_option(struct verb_options *options, int option,
			    const char **scratch_dir)
{
	switch (option) {
	case 's':
		*scratch_dir = optarg;
		break;
	case 'j':
		options->json = true;
		break;
	case 'a':
		options->all = true;
		break;
	case 'p':
		options->dry_run = true;
		break;
	case 't':
		options->stats = true;
		break;
	case 'S':
		options->signal = optarg;
		break;
	case 'g':
		return take_quantity(duration_parse, &options->grace_ns);
	case 'k':
		return take_quantity(duration_parse, &options->keep_for_ns);
	case 'K':
		return take_quantity(size_parse, &options->keep_size);
	default:
		return EXIT_USAGE;
	}
	return 0;
}

/* The values were checked when the file was read. */
static void take_keep(const struct config *config, struct verb_options *options)
{
	const char *keep_for = config->values[CONFIG_KEEP_FOR].text;
	const char *keep_size = config->values[CONFIG_KEEP_SIZE].text;

	if (options->keep_for_ns == KEEP_FOR_UNSET &&
	    (!keep_for || duration_parse(keep_for, &options->keep_for_ns))) {
		options->keep_for_ns = KEEP_FOR_DEFAULT_NS;
	}
	if (options->keep_size == KEEP_SIZE_UNSET &&
	    (!keep_size || size_parse(keep_size, &options->keep_size))) {
		options->keep_size = KEEP_SIZE_UNLIMITED;
	}
}

/* What the options leave open. */
static int take_configuration(struct verb_options *options,
			      const char *scratch_dir)
{
	struct spec spec;
	int code = spec_parse_verb(&spec, scratch_dir);

	if (!code) {
		take_keep(&spec.config, options);
		options->scratch_dir = TAKE_PTR(spec.scratch_dir);
	}
	spec_release(&spec);
	return code;
}

int verb_options_parse(struct verb_options *ret_options, int argc, char **argv,
		       unsigned int takes, int min, int max)
{
	const char *short_options = takes & VERB_STOPS_AT_ID ? "+:" : ":";
	const char *scratch_dir = NULL;
	int option;

	*ret_options = (struct verb_options){
		.grace_ns = GRACE_DEFAULT_NS,
		.keep_for_ns = KEEP_FOR_UNSET,
		.keep_size = KEEP_SIZE_UNSET,
	};
	opterr = 0;
	while ((option = getopt_long(argc, argv, short_options, verb_options,
				     NULL)) != -1) {
		int code;

		if (option == '?' || option == ':' ||
		    (needed(option) & ~takes) != 0) {
			return usage_bad_option(option, argv);
		}
		code = take_verb_option(ret_options, option, &scratch_dir);
		if (code) {
			return code;
		}
	}
	if (argc - optind < min || argc - optind > max) {
		return failure(EXIT_USAGE, "%s: see 'legato-sandbox --help'",
			       argc - optind < min ? "which execution?"
						   : "too many arguments");
	}
	return take_configuration(ret_options, scratch_dir);
}
