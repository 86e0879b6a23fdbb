#include "bounds.h"

#include <string.h>

#include "buf.h"
#include "config.h"
#include "failure.h"

static const struct {
	const char *name;
	enum config_key key;
} rows[LIMIT_COUNT] = {
	[LIMIT_MEMORY] = {"memory", CONFIG_LIMITS_MEMORY},
	[LIMIT_PIDS] = {"pids", CONFIG_LIMITS_PIDS},
	[LIMIT_CPU] = {"cpu", CONFIG_LIMITS_CPU},
};

static int take_item(struct config *config, const char *item)
{
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		size_t len = strlen(rows[i].name);

		if (strncmp(item, rows[i].name, len) == 0 && item[len] == '=') {
			return config_set_flag(config, rows[i].key, "--limits",
					       item + len + 1, false);
		}
	}
	return failure(EXIT_USAGE,
		       "bad limit '%s': it is memory=, pids= or cpu=", item);
}

int bounds_parse(struct config *config, const char *text)
{
	AUTO_FREE char *copy = text_copy(text);
	char *rest = copy;
	char *item;
	int code = 0;

	while (!code && (item = strsep(&rest, ",")) != NULL) {
		code = take_item(config, item);
	}
	return code;
}

void bounds_from_config(struct limits *ret_limits, const struct config *config)
{
	*ret_limits = (struct limits){0};
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		const char *text = config->values[rows[i].key].text;
		uint64_t value;

		/* It was checked when it was set; UINT64_MAX is "none". */
		if (text && config_rules[rows[i].key].number(text, &value) &&
		    value != UINT64_MAX) {
			ret_limits->values[i] = value;
		}
	}
}

void bounds_apply(const struct limits *limits, const char *id,
		  struct cgroup *ret_cgroup, uint64_t *ret_shim_pids)
{
	bool done[LIMIT_COUNT] = {false};
	AUTO_BUF missing = BUF_INIT;

	*ret_shim_pids = 0;
	cgroup_make(ret_cgroup, id, limits, done);
	if (limits->values[LIMIT_PIDS] && !done[LIMIT_PIDS] && geteuid() != 0) {
		*ret_shim_pids = limits->values[LIMIT_PIDS];
		done[LIMIT_PIDS] = true;
	}
	for (size_t i = 0; i < LIMIT_COUNT; i++) {
		if (limits->values[i] && !done[i]) {
			buf_adds(&missing, missing.len > 0 ? ", " : "");
			buf_adds(&missing, rows[i].name);
		}
	}
	if (missing.len > 0) {
		warning("not limited on this system: %s", missing.data);
	}
}
