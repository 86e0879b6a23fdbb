#include "given.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "err.h"
#include "expand.h"
#include "failure.h"
#include "hidden.h"
#include "seen.h"
#include "spec.h"
#include "tables.h"

#define SOCKET_NAME_MAX 32
#define PATH_DEFAULT    "/usr/local/bin:/usr/bin:/bin"

/* Variables that programs look for; others find theirs by name. */
static const struct {
	const char *name;
	const char *variable;
} services[] = {
	{"ssh-agent", "SSH_AUTH_SOCK"},
	{"wayland", "WAYLAND_DISPLAY"},
};

static int refuse(const char *option, const char *path, const char *reason,
		  const char *what)
{
	return failure(EXIT_NOT_SET_UP, "cannot show '%s' (%s): %s%s", path,
		       option, reason, what);
}

/* ------------------------------------------------------------------ sockets */

bool given_socket_valid(const char *text)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]) &&
		    !strchr("_-", text[i])) {
			return false;
		}
	}
	return len > 0 && len <= SOCKET_NAME_MAX &&
	       isalpha((unsigned char)text[0]) && text[len] == '=' &&
	       text[len + 1] != '\0';
}

static void add_socket_variables(struct seen *seen, const char *name,
				 const char *target)
{
	AUTO_FREE char *upper = text_copy(name);

	for (char *c = upper; *c; c++) {
		*c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
	}
	strv_addf(&seen->variables, "LEGATO_SOCKET_%s=%s", upper, target);
	for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
		if (strcmp(services[i].name, name) == 0) {
			strv_addf(&seen->variables, "%s=%s",
				  services[i].variable, target);
		}
	}
}

static int add_socket(struct seen *seen, const struct hidden *hidden,
		      const char *text)
{
	const char *equals = strchr(text, '=');
	const char *path = equals + 1;
	AUTO_FREE char *name = text_copy(text);
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *target = NULL;
	const struct hidden_rule *rule;
	struct stat st;

	name[equals - text] = '\0';
	target = text_format(GIVEN_SOCKETS_AT "/%s", name);
	if (!real || stat(real, &st) < 0) {
		return refuse("--socket", path, err_text(errno), "");
	}
	if (!S_ISSOCK(st.st_mode)) {
		return refuse("--socket", path, "it is no socket", "");
	}
	rule = hidden_around(hidden, real);
	if (rule && !rule->asked) {
		return refuse("--socket", path,
			      "it is never seen, by the rule ", rule->name);
	}
	for (size_t i = 0; i < seen->count; i++) {
		if (strcmp(seen->list[i].target, target) == 0) {
			return refuse("--socket", path,
				      "there is another one of that name", "");
		}
	}
	seen_add(seen, real, target, "socket")->file = true;
	add_socket_variables(seen, name, target);
	return 0;
}

/* ------------------------------------------------------------------ programs
 */

/* A folder, or a file that can be executed. */
static int check_bin(const char *path, const char *real,
		     const struct hidden *hidden, const struct stat *st)
{
	const struct hidden_rule *rule = hidden_around(hidden, real);
	struct hidden_hits hits;
	int code = 0;

	if (!S_ISDIR(st->st_mode) &&
	    !(S_ISREG(st->st_mode) && access(real, X_OK) == 0)) {
		return refuse("--bin", path, "it is no folder and no program",
			      "");
	}
	if (rule) {
		return refuse("--bin", path, "it is never seen, by the rule ",
			      rule->name);
	}
	hidden_find_within(hidden, real, &hits);
	if (hits.count > 0) {
		code = refuse("--bin", path,
			      "it holds what is never seen, by the rule ",
			      hits.list[0].rule->name);
	}
	hidden_hits_release(&hits);
	return code;
}

static int add_bin(struct seen *seen, const struct hidden *hidden, size_t i,
		   const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *target = NULL;
	struct stat st;
	bool is_file;
	int code;

	if (!real || stat(real, &st) < 0) {
		return refuse("--bin", path, err_text(errno), "");
	}
	code = check_bin(path, real, hidden, &st);
	if (code) {
		return code;
	}
	is_file = S_ISREG(st.st_mode);
	/* By the name that was given: it may be a link to another one. */
	target = is_file ? text_format(GIVEN_BINS_AT "/%zu/%s", i,
				       strrchr(path, '/')
					       ? strrchr(path, '/') + 1
					       : path)
			 : text_format(GIVEN_BINS_AT "/%zu", i);
	seen_add(seen, real, target, "bin")->file = is_file;
	return 0;
}

/* What the configuration sets, else the caller's. */
static const char *path_without(const struct spec *spec)
{
	const struct config_value *set = &spec->config.values[CONFIG_ENV_SET];
	const char *path = expand_lookup(environ, "PATH");

	for (size_t i = 0; i < set->n_items; i++) {
		if (strncmp(set->items[i].text, "PATH=", 5) == 0) {
			path = set->items[i].text + 5;
		}
	}
	return path && *path ? path : PATH_DEFAULT;
}

static void put_first_on_path(struct seen *seen, const struct spec *spec)
{
	AUTO_BUF path = BUF_INIT;

	for (size_t i = 0; i < spec->bins.count; i++) {
		buf_addf(&path, GIVEN_BINS_AT "/%zu:", i);
	}
	buf_adds(&path, path_without(spec));
	die_if_no_memory(buf_error(&path));
	strv_addf(&seen->variables, "PATH=%s", path.data);
}

int given_add(struct seen *seen, const struct spec *spec,
	      const struct hidden *hidden)
{
	int code = 0;

	for (size_t i = 0; !code && i < spec->sockets.count; i++) {
		code = add_socket(seen, hidden, spec->sockets.list[i]);
	}
	for (size_t i = 0; !code && i < spec->bins.count; i++) {
		code = add_bin(seen, hidden, i, spec->bins.list[i]);
	}
	if (!code && spec->bins.count > 0) {
		put_first_on_path(seen, spec);
	}
	return code;
}
