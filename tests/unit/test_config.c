#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config_show.h"
#include "failure.h"

#include "unit.h"

#define SANDBOX "agents:\n  sandbox:\n"

/* What config_parse printed goes to `said`. */
static int parse(struct config *config, const char *text,
		 enum config_origin origin, char *said, size_t size)
{
	int saved = dup(STDERR_FILENO);
	int fd = memfd_create("stderr", 0);
	ssize_t len;
	int code;

	assert_true(saved >= 0 && fd >= 0);
	assert_true(dup2(fd, STDERR_FILENO) >= 0);
	code = config_parse(config, "f.yaml", text, strlen(text), origin);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	len = pread(fd, said, size - 1, 0);
	assert_true(len >= 0);
	said[len] = '\0';
	close(saved);
	close(fd);
	return code;
}

static void refused(const char *text, enum config_origin origin,
		    const char *reason)
{
	struct config config;
	char said[1024];
	char wanted[512];
	int code;

	config_init(&config);
	code = parse(&config, text, origin, said, sizeof(said));
	config_release(&config);
	snprintf(wanted, sizeof(wanted), "legato-sandbox: f.yaml:%s", reason);
	if (code != EXIT_NOT_SET_UP ||
	    strncmp(said, wanted, strlen(wanted)) != 0) {
		fail_msg("status %d for\n%s\nwanted: %s\nsaid: %s", code, text,
			 wanted, said);
	}
}

static void bad_files_are_refused_with_their_line(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} rows[] = {
		{"agent:\n  sandbox: {}\n",
		 "1: unknown key 'agent', did you mean 'agents'?"},
		{"\n\nzebra: 1\n", "3: unknown key 'zebra'\n"},
		{SANDBOX "    mount: []\n",
		 "3: unknown key 'agents.sandbox.mount', did you mean "
		 "'mounts'?"},
		{SANDBOX "    quota:\n      sise: 1G\n",
		 "4: unknown key 'agents.sandbox.quota.sise', did you mean "
		 "'size'?"},
		{"agents.sandbox.enabled: true\n",
		 "1: unknown key 'agents.sandbox.enabled'"},
		{"agents: 1\n", "1: 'agents.' must be a map"},
		{"- agents\n", "1: 'the configuration' must be a map"},
		{SANDBOX "    enabled: yes\n",
		 "3: 'agents.sandbox.enabled' must be true or false"},
		{SANDBOX "    enabled: \"true\"\n",
		 "3: 'agents.sandbox.enabled' must be true or false"},
		{SANDBOX "    enabled:\n",
		 "3: 'agents.sandbox.enabled' must be true or false"},
		{SANDBOX "    enabled: {}\n",
		 "3: 'agents.sandbox.enabled' must be true or false"},
		{SANDBOX "    mounts: ~/a\n",
		 "3: 'agents.sandbox.mounts' must be a list"},
		{SANDBOX "    mounts:\n      - ~/a\n",
		 "4: 'a mount' must be a map"},
		{SANDBOX "    mounts:\n      - { access: write }\n",
		 "4: a mount needs a path"},
		{SANDBOX "    mounts:\n      - { path: a/b }\n",
		 "4: 'path': a path starts with"},
		{SANDBOX "    mounts:\n      - { path: /a/../b }\n",
		 "4: 'path': a path starts with"},
		{SANDBOX "    mounts:\n      - { path: /a, mode: rw }\n",
		 "4: unknown key 'mode': a mount has path and access"},
		{SANDBOX "    mounts:\n      - { path: /a }\n"
			 "      - { path: /b, access: rw }\n",
		 "5: access is read or write, not 'rw'"},
		{SANDBOX "    scratch_dir: there\n",
		 "3: 'agents.sandbox.scratch_dir': a path starts with"},
		{SANDBOX "    scratch_dir: [/a]\n",
		 "3: 'agents.sandbox.scratch_dir' must be a text"},
		{SANDBOX "    env: {deny: [A=B]}\n",
		 "3: 'agents.sandbox.env.deny': a pattern is"},
		{SANDBOX "    env: {set: {1A: x}}\n",
		 "3: 'agents.sandbox.env.set': a variable's name"},
		{SANDBOX "    env: {set: {A: \"x\\0y\"}}\n",
		 "3: 'A' must be a text"},
		{SANDBOX "    quota: {size: many}\n",
		 "3: 'agents.sandbox.quota.size': a size such as 20G"},
		{SANDBOX "    quota: {size: -1}\n",
		 "3: 'agents.sandbox.quota.size': a size such as 20G"},
		{SANDBOX "    keep: {for: 3 weeks}\n",
		 "3: 'agents.sandbox.keep.for': a time such as 24h"},
		{SANDBOX "    keep: {for: 99999999999999999999h}\n",
		 "3: 'agents.sandbox.keep.for': a time such as 24h"},
		{SANDBOX "    limits: {cpu: 0}\n",
		 "3: 'agents.sandbox.limits.cpu': a number of processors"},
		{SANDBOX "    limits: {cpu: 1.}\n",
		 "3: 'agents.sandbox.limits.cpu': a number of processors"},
		{SANDBOX "    docker: {enabled: true}\n",
		 "3: 'agents.sandbox.docker' is not built yet"},
		{SANDBOX "    enabled: true\n    enabled: true\n", "4: "},
		{"agents: &a\n  sandbox: *a\n", "2: aliases and tags"},
		{SANDBOX "    hide: [!!str /a]\n", "3: aliases and tags"},
		{"agents: {sandbox: \n", ""},
		{"agents:\n\tsandbox: {}\n", "2: "},
		{"\"\\xff\": 1\n", "1: unknown key"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refused(rows[i].text, CONFIG_FROM_FILE, rows[i].reason);
	}
}

static void a_checkout_can_only_tighten(void **state)
{
	static const struct {
		const char *text;
		const char *reason;
	} rows[] = {
		{SANDBOX "    mounts: []\n",
		 "3: 'agents.sandbox.mounts' cannot be set by a checkout"},
		{SANDBOX "    scratch_dir: /a\n",
		 "3: 'agents.sandbox.scratch_dir' cannot be set"},
		{SANDBOX "    env: {allow: [GITHUB_TOKEN]}\n",
		 "3: 'agents.sandbox.env.allow' cannot be set"},
		{SANDBOX "    env: {set: {A: b}}\n",
		 "3: 'agents.sandbox.env.set' cannot be set"},
		{SANDBOX "    enabled: false\n",
		 "3: 'agents.sandbox.enabled' cannot be set"},
		{SANDBOX "    keep: {for: 7d}\n",
		 "3: 'agents.sandbox.keep.for' cannot be set"},
		{SANDBOX "    default_mounts: true\n",
		 "3: 'agents.sandbox.default_mounts': a checkout can only say "
		 "false"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		refused(rows[i].text, CONFIG_FROM_CHECKOUT, rows[i].reason);
	}
}

static void accept(struct config *config, const char *text,
		   enum config_origin origin)
{
	char said[1024];

	if (parse(config, text, origin, said, sizeof(said))) {
		fail_msg("%s\n%s", text, said);
	}
	assert_string_equal(said, "");
}

static const char everything[] =
	SANDBOX "    enabled: true\n"
		"    mounts:\n"
		"      - { path: ~/Documents/specs }\n"
		"      - { path: \"${DATA:-/data}/x\", access: write }\n"
		"    default_mounts: false\n"
		"    scratch_dir: /mnt/big\n"
		"    hide: [~/diary]\n"
		"    env:\n"
		"      allow: [MY_*]\n"
		"      deny: ['*_X']\n"
		"      set: { A: 'b c', N: 1 }\n"
		"    quota: { size: 20G, files: 1M, min_free: 1G }\n"
		"    keep: { for: 7d, size: 50G }\n"
		"    journal: { reads: [~/.claude] }\n"
		"    limits: { memory: 4G, pids: 512, cpu: 1.5 }\n";

static void everything_is_read(void **state)
{
	struct config config;

	(void)state;
	config_init(&config);
	accept(&config, everything, CONFIG_FROM_FILE);
	assert_true(config.values[CONFIG_ENABLED].flag);
	assert_false(config.values[CONFIG_DEFAULT_MOUNTS].flag);
	assert_int_equal(config.values[CONFIG_DEFAULT_MOUNTS].line, 7);
	assert_int_equal(config.values[CONFIG_MOUNTS].n_items, 2);
	assert_false(config.values[CONFIG_MOUNTS].items[0].write);
	assert_true(config.values[CONFIG_MOUNTS].items[1].write);
	assert_int_equal(config.values[CONFIG_MOUNTS].items[1].line, 6);
	assert_string_equal(config.values[CONFIG_ENV_SET].items[0].text,
			    "A=b c");
	assert_string_equal(config.values[CONFIG_LIMITS_CPU].text, "1.5");
	config_release(&config);
}

static void empty_files_say_nothing(void **state)
{
	static const char *const texts[] = {"", "# nothing\n", "---\n",
					    "agents: {}\n",
					    "agents: {sandbox: {}}\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct config config;

		config_init(&config);
		accept(&config, texts[i], CONFIG_FROM_FILE);
		assert_true(config.values[CONFIG_ENABLED].flag);
		assert_string_equal(config.values[CONFIG_KEEP_FOR].text, "24h");
		config_release(&config);
	}
}

static void the_tighter_value_stands(void **state)
{
	struct config config;

	(void)state;
	config_init(&config);
	accept(&config, everything, CONFIG_FROM_FILE);
	accept(&config,
	       SANDBOX "    quota: {size: 30G, files: 10k, min_free: 2G}\n"
		       "    limits: {pids: none, cpu: 1}\n"
		       "    hide: [~/more]\n",
	       CONFIG_FROM_CHECKOUT);
	assert_string_equal(config.values[CONFIG_QUOTA_SIZE].text, "20G");
	assert_int_equal(config.values[CONFIG_QUOTA_SIZE].origin,
			 CONFIG_FROM_FILE);
	assert_string_equal(config.values[CONFIG_QUOTA_FILES].text, "10k");
	assert_int_equal(config.values[CONFIG_QUOTA_FILES].origin,
			 CONFIG_FROM_CHECKOUT);
	assert_string_equal(config.values[CONFIG_QUOTA_MIN_FREE].text, "2G");
	assert_string_equal(config.values[CONFIG_LIMITS_PIDS].text, "512");
	assert_string_equal(config.values[CONFIG_LIMITS_CPU].text, "1");
	assert_int_equal(config.values[CONFIG_HIDE].n_items, 2);
	config_release(&config);
}

static void flags_stand_over_files(void **state)
{
	struct config config;

	(void)state;
	config_init(&config);
	accept(&config, everything, CONFIG_FROM_FILE);
	assert_int_equal(config_set_flag(&config, CONFIG_QUOTA_SIZE, "--quota",
					 "90G", false),
			 0);
	assert_int_equal(config_set_flag(&config, CONFIG_DEFAULT_MOUNTS,
					 "--default-mounts", "true", false),
			 0);
	assert_int_equal(
		config_set_flag(&config, CONFIG_MOUNTS, "--mount", "/x", true),
		0);
	assert_string_equal(config.values[CONFIG_QUOTA_SIZE].text, "90G");
	assert_true(config.values[CONFIG_DEFAULT_MOUNTS].flag);
	assert_int_equal(config.values[CONFIG_MOUNTS].n_items, 3);
	assert_int_equal(config_set_flag(&config, CONFIG_DEFAULT_MOUNTS,
					 "--default-mounts", "maybe", false),
			 EXIT_USAGE);
	assert_int_equal(config_set_flag(&config, CONFIG_QUOTA_SIZE, "--quota",
					 "x", false),
			 EXIT_USAGE);
	config_release(&config);
}

static char *shown(const struct config *config)
{
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	config_show_text(out, config);
	fclose(out);
	return text;
}

/* What `config show` prints can be a configuration again, and means the
 * same. */
static void what_is_shown_can_be_read(void **state)
{
	static const char *const texts[] = {"", everything};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		AUTO_FREE char *once = NULL;
		AUTO_FREE char *twice = NULL;
		struct config first;
		struct config second;

		config_init(&first);
		accept(&first, texts[i], CONFIG_FROM_FILE);
		once = shown(&first);
		config_init(&second);
		accept(&second, once, CONFIG_FROM_FILE);
		twice = shown(&second);
		for (size_t key = 0; key < CONFIG_COUNT; key++) {
			const struct config_value *a = &first.values[key];
			const struct config_value *b = &second.values[key];

			assert_int_equal(a->n_items, b->n_items);
			assert_int_equal(a->flag, b->flag);
			assert_string_equal(a->text ? a->text : "",
					    b->text ? b->text : "");
			for (size_t j = 0; j < a->n_items; j++) {
				assert_string_equal(a->items[j].text,
						    b->items[j].text);
				assert_int_equal(a->items[j].write,
						 b->items[j].write);
			}
		}
		config_release(&first);
		config_release(&second);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_files_are_refused_with_their_line),
		cmocka_unit_test(a_checkout_can_only_tighten),
		cmocka_unit_test(everything_is_read),
		cmocka_unit_test(empty_files_say_nothing),
		cmocka_unit_test(the_tighter_value_stands),
		cmocka_unit_test(flags_stand_over_files),
		cmocka_unit_test(what_is_shown_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
