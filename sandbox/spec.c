#include "spec.h"

#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bounds.h"
#include "duration.h"
#include "err.h"
#include "execution.h"
#include "expand.h"
#include "failure.h"
#include "given.h"
#include "mountinfo.h"
#include "path.h"
#include "quota_limits.h"
#include "resolve.h"
#include "usage.h"

#define NAME_BYTES_MAX 64
#define VIEW_FS_TYPE   "fuse.legato-fs"

static const char *const role_names[] = {
	[ROLE_REVIEW] = "review",
	[ROLE_WORK] = "work",
	[ROLE_FIND_OUT] = "find-out",
};

/* What every sandbox sees, so no place for what others must not see. */
static const char *const shown_tops[] = {"/usr", "/etc", "/opt"};

/* Made anew in each sandbox, so no place for a checkout. */
static const char *const kernel_tops[] = {"/proc", "/sys", "/dev"};

const char *spec_role_name(enum role role)
{
	return role_names[role];
}

static int parse_role(const char *text, enum role *ret_role)
{
	for (size_t i = 0; i < ARRAY_SIZE(role_names); i++) {
		if (strcmp(text, role_names[i]) == 0) {
			*ret_role = (enum role)i;
			return 0;
		}
	}
	return failure(EXIT_USAGE,
		       "unknown role '%s': it is review, work or find-out",
		       text);
}

/* A name is typed where an id is: it must not look like the start of one. */
static bool name_valid(const char *name)
{
	if (!isalpha((unsigned char)name[0]) || strlen(name) > NAME_BYTES_MAX) {
		return false;
	}
	for (; *name; name++) {
		if (!isalnum((unsigned char)*name) && !strchr("._-", *name)) {
			return false;
		}
	}
	return true;
}

static int parse_die_after(const char *text, int64_t *ret_ns)
{
	if (duration_parse(text, ret_ns) < 0 || *ret_ns == 0) {
		return failure(EXIT_USAGE,
			       "bad time '%s': a number and s, m, h or d",
			       text);
	}
	return 0;
}

struct options {
	const char *config;
	const char *checkout;
	const char *scratch_dir;
};

/* NAME=VALUE sets it, NAME lets the caller's pass whatever the rules say. */
static int take_variable(struct spec *spec, const char *text)
{
	const char *equals = strchr(text, '=');
	AUTO_FREE char *own = NULL;

	if (!equals && text[0]) {
		const char *value = getenv(text);

		if (!value) {
			return failure(EXIT_USAGE,
				       "bad value of '--env': '%s' is not set",
				       text);
		}
		own = text_format("%s=%s", text, value);
	}
	return config_set_flag(&spec->config, CONFIG_ENV_SET, "--env",
			       own ? own : text, false);
}

/* PATH, PATH:read or PATH:write. */
static int take_mount(struct spec *spec, const char *text)
{
	static const struct {
		const char *suffix;
		bool write;
	} accesses[] = {{":read", false}, {":write", true}};
	AUTO_FREE char *path = text_copy(text);
	size_t len = strlen(path);
	bool write = false;

	for (size_t i = 0; i < ARRAY_SIZE(accesses); i++) {
		size_t tail = strlen(accesses[i].suffix);

		if (len > tail &&
		    strcmp(text + len - tail, accesses[i].suffix) == 0) {
			path[len - tail] = '\0';
			write = accesses[i].write;
		}
	}
	return config_set_flag(&spec->config, CONFIG_MOUNTS, "--mount", path,
			       write);
}

/* "size=20G,files=1M": each item is a key of the configuration. */
static int take_quota(struct spec *spec, const char *text)
{
	static const struct {
		const char *name;
		enum config_key key;
	} keys[] = {
		{"size=", CONFIG_QUOTA_SIZE},
		{"files=", CONFIG_QUOTA_FILES},
		{"min_free=", CONFIG_QUOTA_MIN_FREE},
	};
	struct quota_limits limits = QUOTA_LIMITS_NONE;
	const char *bad;

	if (quota_parse(text, &limits, &bad)) {
		return failure(EXIT_USAGE, "bad value of '--quota': '%s'", bad);
	}
	for (const char *item = text; item; item = strchr(item, ',')) {
		item += *item == ',';
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
			size_t len = strlen(keys[i].name);
			AUTO_FREE char *value = NULL;
			int code;

			if (strncmp(item, keys[i].name, len) != 0) {
				continue;
			}
			value = text_format("%.*s",
					    (int)strcspn(item + len, ","),
					    item + len);
			code = config_set_flag(&spec->config, keys[i].key,
					       "--quota", value, false);
			if (code) {
				return code;
			}
		}
	}
	return 0;
}

static int take_option(struct spec *spec, struct options *options, int option,
		       char **argv)
{
	switch (option) {
	case 'r':
		return parse_role(optarg, &spec->role);
	case 'c':
		options->checkout = optarg;
		return 0;
	case 'n':
		if (!name_valid(optarg)) {
			return failure(EXIT_USAGE,
				       "bad name '%s': a letter, then letters, "
				       "digits, '.', '_' or '-'",
				       optarg);
		}
		spec->name = text_copy(optarg);
		return 0;
	case 's':
		options->scratch_dir = optarg;
		return 0;
	case 'f':
		options->config = optarg;
		return 0;
	case 'm':
		return config_set_flag(&spec->config, CONFIG_DEFAULT_MOUNTS,
				       "--default-mounts", optarg, false);
	case 'l':
		return bounds_parse(&spec->config, optarg);
	case 'q':
		return take_quota(spec, optarg);
	case 'e':
		return take_variable(spec, optarg);
	case 'o':
		spec->overlay = true;
		return 0;
	case 'M':
		return take_mount(spec, optarg);
	case 'S':
		if (!given_socket_valid(optarg)) {
			return failure(EXIT_USAGE,
				       "bad value of '--socket': NAME=PATH, "
				       "not '%s'",
				       optarg);
		}
		strv_add(&spec->sockets, optarg);
		return 0;
	case 'B':
		strv_add(&spec->bins, optarg);
		return 0;
	case 'd':
		spec->discard = true;
		return 0;
	case 'b':
		spec->detach = true;
		return 0;
	case 'N':
		spec->nested = true;
		return 0;
	case 't':
		return parse_die_after(optarg, &spec->die_after_ns);
	case 'j':
		spec->json = true;
		return 0;
	case 'p':
		spec->dry_run = true;
		return 0;
	case 'D':
		spec->debug = true;
		return 0;
	default:
		return usage_bad_option(option, argv);
	}
}

static int take_options(struct spec *spec, struct options *options, int argc,
			char **argv)
{
	static const struct option known[] = {
		{"role", required_argument, NULL, 'r'},
		{"checkout", required_argument, NULL, 'c'},
		{"name", required_argument, NULL, 'n'},
		{"scratch-dir", required_argument, NULL, 's'},
		{"config", required_argument, NULL, 'f'},
		{"default-mounts", required_argument, NULL, 'm'},
		{"quota", required_argument, NULL, 'q'},
		{"env", required_argument, NULL, 'e'},
		{"mount", required_argument, NULL, 'M'},
		{"socket", required_argument, NULL, 'S'},
		{"bin", required_argument, NULL, 'B'},
		{"overlay", no_argument, NULL, 'o'},
		{"discard", no_argument, NULL, 'd'},
		{"limits", required_argument, NULL, 'l'},
		{"detach", no_argument, NULL, 'b'},
		{"nested", no_argument, NULL, 'N'},
		{"die-after", required_argument, NULL, 't'},
		{"dry-run", no_argument, NULL, 'p'},
		{"json", no_argument, NULL, 'j'},
		{"debug", no_argument, NULL, 'D'},
		{0},
	};
	int option;

	opterr = 0;
	/* '+': what follows the command is the command's. */
	while ((option = getopt_long(argc, argv, "+:", known, NULL)) != -1) {
		int code = take_option(spec, options, option, argv);

		if (code) {
			return code;
		}
	}
	if (optind == argc) {
		return failure(EXIT_USAGE, "no command given: " USAGE_RUN);
	}
	spec->command = argv + optind;
	return 0;
}

/* `option`, or the default where it is NULL. 0 or an exit code. */
static int find_scratch(const char *option, char **ret_path)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *cwd = NULL;
	int error = 0;

	if (!option) {
		error = execution_default_scratch(&path);
	} else if (option[0] == '/') {
		path = text_copy(option);
	} else {
		cwd = getcwd(NULL, 0);
		error = cwd ? 0 : -errno;
		path = text_format("%s/%s", cwd ? cwd : "", option);
	}
	if (error == -ENOENT && !option) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot tell where the scratch folder is: "
			       "neither HOME nor XDG_STATE_HOME is set");
	}
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot use scratch folder '%s': %s",
			       option ? option : "", err_text(error));
	}
	while (strlen(path) > 1 && path[strlen(path) - 1] == '/') {
		path[strlen(path) - 1] = '\0';
	}
	*ret_path = resolve_future(path);
	if (!*ret_path) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot use scratch folder '%s': %s", path,
			       err_text(ENOENT));
	}
	return 0;
}

static int check_checkout(const struct spec *spec)
{
	const char *checkout = spec->checkout;

	if (path_is_within(spec->home, checkout)) {
		return failure(EXIT_NOT_SET_UP,
			       "checkout '%s' contains the home folder '%s'",
			       checkout, spec->home);
	}
	if (path_is_within(SPEC_TMP, checkout)) {
		return failure(EXIT_NOT_SET_UP,
			       "checkout '%s' contains " SPEC_TMP
			       ", which is the sandbox's own",
			       checkout);
	}
	for (size_t i = 0; i < ARRAY_SIZE(kernel_tops); i++) {
		if (path_is_within(checkout, kernel_tops[i])) {
			return failure(EXIT_NOT_SET_UP,
				       "checkout '%s' is in '%s'", checkout,
				       kernel_tops[i]);
		}
	}
	return 0;
}

/* The device of the nearest part of `path` that exists. */
static int device_of(const char *path, dev_t *ret_dev)
{
	AUTO_FREE char *at = text_copy(path);
	struct stat st;

	while (stat(at, &st) < 0) {
		char *slash = strrchr(at, '/');

		if (errno != ENOENT || !slash || slash == at) {
			return -errno;
		}
		*slash = '\0';
	}
	*ret_dev = st.st_dev;
	return 0;
}

/* A daemon whose changes lay in a view would wait for another one, or for
 * itself. */
static int check_not_in_view(const char *scratch_dir)
{
	struct mountinfo info;
	bool in_view = false;
	dev_t dev = 0;

	if (device_of(scratch_dir, &dev) < 0 || mountinfo_read(&info) < 0) {
		return 0; /* making the folder will say what is wrong */
	}
	for (size_t i = 0; i < info.count; i++) {
		in_view = in_view ||
			  (info.entries[i].dev == dev &&
			   strcmp(info.entries[i].type, VIEW_FS_TYPE) == 0);
	}
	mountinfo_release(&info);
	if (in_view) {
		return failure(EXIT_NOT_SET_UP,
			       "scratch folder '%s' is inside a view",
			       scratch_dir);
	}
	return 0;
}

static int check_scratch(const struct spec *spec)
{
	const char *scratch = spec->scratch_dir;

	if (path_is_within(scratch, spec->checkout)) {
		return failure(EXIT_NOT_SET_UP,
			       "scratch folder '%s' is inside the checkout "
			       "'%s'",
			       scratch, spec->checkout);
	}
	if (path_is_within(spec->checkout, scratch)) {
		return failure(EXIT_NOT_SET_UP,
			       "checkout '%s' is inside the scratch folder "
			       "'%s'",
			       spec->checkout, scratch);
	}
	for (size_t i = 0; i < ARRAY_SIZE(shown_tops); i++) {
		if (path_is_within(scratch, shown_tops[i])) {
			return failure(EXIT_NOT_SET_UP,
				       "scratch folder '%s' is in '%s', which "
				       "every sandbox sees",
				       scratch, shown_tops[i]);
		}
	}
	return check_not_in_view(scratch);
}

/* The flag, else the configuration, else the default. */
static int resolve_scratch(struct spec *spec, const char *option)
{
	const struct config_value *value =
		&spec->config.values[CONFIG_SCRATCH_DIR];
	const struct expand expand = {
		.home = spec->home,
		.variables = environ,
		.moved = true,
	};
	AUTO_STRV paths = {0};

	if (!option && value->text) {
		expand_path(&expand, value->text, &paths);
		if (paths.count != 1) {
			return failure(EXIT_NOT_SET_UP,
				       "%s:%d: '%s' is not one path",
				       value->file, value->line, value->text);
		}
		option = paths.list[0];
	}
	return find_scratch(option, &spec->scratch_dir);
}

int spec_parse_verb(struct spec *ret_spec, const char *scratch_dir)
{
	struct spec *spec = ret_spec;
	int code;

	*spec = (struct spec){0};
	config_init(&spec->config);
	if (scratch_dir && !getenv("HOME")) {
		/* Whose configuration? */
		return find_scratch(scratch_dir, &spec->scratch_dir);
	}
	code = resolve_home(&spec->home);
	code = code ? code : config_load_file(&spec->config, NULL, spec->home);
	return code ? code : resolve_scratch(spec, scratch_dir);
}

static int load_config(struct spec *spec, const struct options *options)
{
	const struct config_value *enabled =
		&spec->config.values[CONFIG_ENABLED];
	int code = config_load_file(&spec->config, options->config, spec->home);

	code = code ? code
		    : config_load_checkout(&spec->config, spec->checkout);
	if (!code && !enabled->flag) {
		return failure(EXIT_NOT_SET_UP,
			       "%s:%d: the sandbox is turned off, and nothing "
			       "runs outside one",
			       enabled->file, enabled->line);
	}
	return code;
}

int spec_parse(struct spec *ret_spec, int argc, char **argv)
{
	struct options options = {0};
	struct spec *spec = ret_spec;
	int code;

	*spec = (struct spec){.role = ROLE_REVIEW};
	config_init(&spec->config);
	code = take_options(spec, &options, argc, argv);
	code = code ? code
		    : resolve_checkout(options.checkout, &spec->checkout,
				       &spec->cwd);
	code = code ? code : resolve_home(&spec->home);
	code = code ? code : load_config(spec, &options);
	code = code ? code : resolve_scratch(spec, options.scratch_dir);
	code = code ? code : check_checkout(spec);
	return code ? code : check_scratch(spec);
}

void spec_release(struct spec *spec)
{
	free(spec->name);
	free(spec->checkout);
	free(spec->cwd);
	free(spec->home);
	free(spec->scratch_dir);
	config_release(&spec->config);
	strv_release(&spec->sockets);
	strv_release(&spec->bins);
	*spec = (struct spec){0};
}
