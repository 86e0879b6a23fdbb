#include "config_keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "quota_limits.h"

#define MILLI      1000
#define CPU_DIGITS 3
#define CPUS_MAX   100000

static bool number_size(const char *text, uint64_t *ret_number)
{
	struct quota_limits limits = QUOTA_LIMITS_NONE;

	if (quota_parse_value("size", text, &limits)) {
		return false;
	}
	*ret_number = limits.bytes;
	return true;
}

static bool number_count(const char *text, uint64_t *ret_number)
{
	struct quota_limits limits = QUOTA_LIMITS_NONE;

	if (quota_parse_value("files", text, &limits)) {
		return false;
	}
	*ret_number = limits.files;
	return true;
}

static bool number_min_free(const char *text, uint64_t *ret_number)
{
	struct quota_limits limits = QUOTA_LIMITS_NONE;

	if (quota_parse_value("min_free", text, &limits)) {
		return false;
	}
	*ret_number = limits.min_free;
	return true;
}

/* "2", "1.5": in thousandths of a processor. */
static bool number_cpus(const char *text, uint64_t *ret_number)
{
	uint64_t milli = 0;
	int digits = 0;

	if (!isdigit((unsigned char)*text)) {
		return false;
	}
	for (; isdigit((unsigned char)*text); text++) {
		milli = milli * 10 + (uint64_t)(*text - '0') * MILLI;
		if (milli > (uint64_t)CPUS_MAX * MILLI) {
			return false;
		}
	}
	if (*text == '.') {
		uint64_t unit = MILLI / 10;

		for (text++; isdigit((unsigned char)*text); text++) {
			milli += (uint64_t)(*text - '0') * unit;
			unit /= 10;
			digits++;
		}
		if (digits == 0 || digits > CPU_DIGITS) {
			return false;
		}
	}
	*ret_number = milli;
	return *text == '\0' && milli > 0;
}

bool config_duration(const char *text, uint64_t *ret_seconds)
{
	int64_t ns;

	if (duration_parse(text, &ns)) {
		return false;
	}
	*ret_seconds = (uint64_t)(ns / NS_PER_SECOND);
	/* A number alone could be meant as minutes. */
	return ns == 0 || !isdigit((unsigned char)text[strlen(text) - 1]);
}

#define SIZE_FORM                                                              \
	.form = "a size such as 20G, or none",                                 \
	.pattern = "^([0-9]+([KMGTkmgt]([Ii]?[Bb])?)?|none)$"
#define COUNT_FORM                                                             \
	.form = "a number such as 1M, or none",                                \
	.pattern = "^([0-9]+[KMGTkmgt]?|none)$"
#define DURATION_FORM                                                          \
	.form = "a time such as 24h, 7d, 30m, or 0",                           \
	.pattern = "^(0+|[0-9]+(s|m|min|h|d|w))$"

const struct config_rule config_rules[CONFIG_COUNT] = {
	[CONFIG_ENABLED] = {"agents.sandbox.enabled", CONFIG_BOOL, CONFIG_NEVER,
			    "true",
			    "whether agents run in a sandbox; false refuses to "
			    "run, since nothing runs outside instead"},
	[CONFIG_MOUNTS] = {"agents.sandbox.mounts", CONFIG_MOUNT, CONFIG_NEVER,
			   NULL, "folders and files that are shown, too"},
	[CONFIG_DEFAULT_MOUNTS] = {"agents.sandbox.default_mounts", CONFIG_BOOL,
				   CONFIG_FALSE, "true",
				   "whether agents' state, toolchains and "
				   "caches are shown"},
	[CONFIG_SCRATCH_DIR] = {"agents.sandbox.scratch_dir", CONFIG_PATH,
				CONFIG_NEVER, NULL, "where executions are"},
	[CONFIG_TABLES] = {"agents.sandbox.tables", CONFIG_PATH, CONFIG_NEVER,
			   NULL,
			   "a folder with seen.yaml and hidden.yaml to take "
			   "instead of the installed ones"},
	[CONFIG_HIDE] = {"agents.sandbox.hide", CONFIG_PATHS, CONFIG_ADD, NULL,
			 "paths that are never seen, beside the shipped ones"},
	[CONFIG_ENV_ALLOW] = {"agents.sandbox.env.allow", CONFIG_PATTERNS,
			      CONFIG_NEVER, NULL,
			      "variables that pass in spite of the rules"},
	[CONFIG_ENV_DENY] = {"agents.sandbox.env.deny", CONFIG_PATTERNS,
			     CONFIG_ADD, NULL,
			     "variables that don't pass, beside the shipped "
			     "rules; over allow"},
	[CONFIG_ENV_SET] = {"agents.sandbox.env.set", CONFIG_VARIABLES,
			    CONFIG_NEVER, NULL, "variables that are set"},
	[CONFIG_QUOTA_SIZE] = {"agents.sandbox.quota.size", CONFIG_NUMBER,
			       CONFIG_LOWER, NULL,
			       "what an execution may allocate on the disk",
			       number_size, SIZE_FORM},
	[CONFIG_QUOTA_FILES] = {"agents.sandbox.quota.files", CONFIG_NUMBER,
				CONFIG_LOWER, NULL,
				"how many files an execution may have",
				number_count, COUNT_FORM},
	[CONFIG_QUOTA_MIN_FREE] = {"agents.sandbox.quota.min_free",
				   CONFIG_NUMBER, CONFIG_HIGHER, NULL,
				   "what stays free on the scratch disk",
				   number_min_free, SIZE_FORM},
	[CONFIG_KEEP_FOR] = {"agents.sandbox.keep.for", CONFIG_NUMBER,
			     CONFIG_NEVER, "24h",
			     "how long an ended execution is kept",
			     config_duration, DURATION_FORM},
	[CONFIG_KEEP_SIZE] = {"agents.sandbox.keep.size", CONFIG_NUMBER,
			      CONFIG_NEVER, NULL,
			      "how much all ended executions may take",
			      number_size, SIZE_FORM},
	[CONFIG_JOURNAL_READS] = {"agents.sandbox.journal.reads", CONFIG_PATHS,
				  CONFIG_NEVER, NULL,
				  "paths whose reads the journal records"},
	[CONFIG_LIMITS_MEMORY] = {"agents.sandbox.limits.memory", CONFIG_NUMBER,
				  CONFIG_LOWER, NULL,
				  "memory of all processes together",
				  number_size, SIZE_FORM},
	[CONFIG_LIMITS_PIDS] = {"agents.sandbox.limits.pids", CONFIG_NUMBER,
				CONFIG_LOWER, NULL,
				"how many processes and threads there may be",
				number_count, COUNT_FORM},
	[CONFIG_LIMITS_CPU] = {"agents.sandbox.limits.cpu", CONFIG_NUMBER,
			       CONFIG_LOWER, NULL, "processors' worth of time",
			       number_cpus,
			       .form = "a number of processors such as 1.5",
			       .pattern = "^[0-9]+([.][0-9]{1,3})?$"},
	[CONFIG_DOCKER] = {"agents.sandbox.docker", CONFIG_NOT_YET,
			   CONFIG_NEVER, NULL, "Docker in the sandbox"},
};

const char *config_rule_name(const struct config_rule *rule)
{
	return strrchr(rule->path, '.') + 1;
}
