#include "env.h"

#include <fnmatch.h>
#include <string.h>

#include "failure.h"

struct rule {
	const char *pattern; /* fnmatch, whatever the case */
	bool passes;
};

/*
 * The first rule that matches a name decides; no match passes. Exceptions
 * stand above the broad patterns that they are exceptions of.
 */
static const struct rule name_rules[] = {
	{"GIT_AUTHOR_*", true},
	{"GIT_COMMITTER_*", true},
	{"TOKENIZERS_PARALLELISM", true},
	{"SSH_CONNECTION", true},
	{"SSH_CLIENT", true},
	{"SSH_TTY", true},

	/* secrets, by what people call them */
	{"*TOKEN*", false},
	{"*SECRET*", false},
	{"*PASSWORD*", false},
	{"*PASSWD*", false},
	{"*PASSPHRASE*", false},
	{"*_PASS", false},
	{"PASS", false},
	{"*_PW", false},
	{"*CREDENTIAL*", false},
	{"*_CREDS", false},
	{"*APIKEY*", false},
	{"*_KEY", false},
	{"*_KEYS", false},
	{"*_KEY_*", false},
	{"*_PAT", false},
	{"*_AUTH", false},
	{"*AUTHORIZATION*", false},
	{"*COOKIE*", false},
	{"*_DSN", false},
	{"*DATABASE_URL*", false},
	{"*CONNECTION_STRING*", false},
	{"*WEBHOOK*", false},
	{"PGPASSFILE", false},
	{"PGSERVICEFILE", false},
	{"NETRC", false},

	/* clouds and password stores */
	{"AWS_*", false},
	{"AZURE_*", false},
	{"ARM_*", false},
	{"GOOGLE_*", false},
	{"GCLOUD_*", false},
	{"GCP_*", false},
	{"CLOUDSDK_*", false},
	{"DIGITALOCEAN_*", false},
	{"HCLOUD_*", false},
	{"OCI_*", false},
	{"IBMCLOUD_*", false},
	{"ALIBABA_CLOUD_*", false},
	{"CLOUDFLARE_*", false},
	{"CF_*", false},
	{"HEROKU_*", false},
	{"KUBE*", false},
	{"HELM_*", false},
	{"VAULT_*", false},
	{"CONSUL_HTTP_*", false},
	{"NOMAD_*", false},
	{"PULUMI_*", false},
	{"TF_VAR_*", false},
	{"OP_*", false},
	{"BW_*", false},
	{"DOPPLER_*", false},
	{"KRB5*", false},
	{"RCLONE_*", false},
	{"RESTIC_*", false},
	{"BORG_*", false},

	/* package registries */
	{"TWINE_*", false},
	{"PYPI_*", false},
	{"UV_PUBLISH_*", false},
	{"UV_INDEX_*", false},
	{"POETRY_HTTP_BASIC_*", false},
	{"POETRY_PYPI_*", false},
	{"CARGO_REGISTR*", false},
	{"NPM_CONFIG_*AUTH*", false},
	{"NPM_CONFIG_//*", false},
	{"BUNDLE_*__*", false},
	{"ORG_GRADLE_PROJECT_*", false},
	{"NUGET_*", false},

	/* ways to another process: agents, containers, the session, editors */
	{"DOCKER_*", false},
	{"CONTAINER_HOST", false},
	{"PODMAN_*", false},
	{"BUILDKIT_HOST", false},
	{"SSH_*", false},
	{"*ASKPASS*", false},
	{"GIT_SSH*", false},
	{"GIT_CONFIG*", false},
	{"GPG_*", false},
	{"GNUPGHOME", false},
	{"GNOME_KEYRING_*", false},
	{"DBUS_*", false},
	{"XDG_RUNTIME_DIR", false},
	{"XDG_SESSION_*", false},
	{"DISPLAY", false},
	{"XAUTHORITY", false},
	{"WAYLAND_*", false},
	{"PULSE_*", false},
	{"PIPEWIRE_*", false},
	{"AT_SPI_*", false},
	{"*_SOCK", false},
	{"*SOCKET*", false},
	{"I3SOCK", false},
	{"SWAYSOCK", false},
	{"TMUX*", false},
	{"STY", false},
	{"KITTY_LISTEN_ON", false},
	{"VSCODE_*", false},
	{"NVIM*", false},
	{"LISTEN_*", false},
	{"SYSTEMD_*", false},
	{"INVOCATION_ID", false},
	{"JOURNAL_STREAM", false},
	{"LEGATO_*", false},

	/* names of files that are not in the sandbox */
	{"LD_PRELOAD", false},
	{"LD_AUDIT", false},
	{"TMP", false},
	{"TEMP", false},
	{"TMPDIR", false},
};

/* Values that are secrets under any name. Case matters. */
static const char *const value_patterns[] = {
	"*://*:*@*", /* a URL with a password */
	"*-----BEGIN *PRIVATE KEY*",
	"ghp_*",
	"gho_*",
	"ghs_*",
	"ghu_*",
	"github_pat_*",
	"glpat-*",
	"sk-*",
	"xox[abprs]-*",
	"AKIA[A-Z0-9]*",
	"hvs.*",
	"npm_[A-Za-z0-9]*",
	"dop_v1_*",
	"Bearer *",
};

static bool name_passes(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(name_rules); i++) {
		if (fnmatch(name_rules[i].pattern, name, FNM_CASEFOLD) == 0) {
			return name_rules[i].passes;
		}
	}
	return true;
}

bool env_passes(const char *name, const char *value)
{
	if (!name_passes(name)) {
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(value_patterns); i++) {
		if (fnmatch(value_patterns[i], value, 0) == 0) {
			return false;
		}
	}
	return true;
}

static bool has_name(const struct strv *list, const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < list->count; i++) {
		if (strncmp(list->list[i], name, len) == 0 &&
		    list->list[i][len] == '=') {
			return true;
		}
	}
	return false;
}

static void take_variable(struct env *env, const char *variable)
{
	const char *equals = strchr(variable, '=');
	AUTO_FREE char *name = NULL;

	/* A name that is empty or has no value is none that a shell could
	 * have set. */
	if (!equals || equals == variable) {
		return;
	}
	name = text_format("%.*s", (int)(equals - variable), variable);
	/* The first of two is the one that getenv finds. */
	if (has_name(&env->added, name) || has_name(&env->passed, name)) {
		return;
	}
	if (env_passes(name, equals + 1)) {
		strv_add(&env->passed, variable);
	} else {
		strv_add(&env->dropped, name);
	}
}

/* The caller's own choice of identity stands. */
static void add_identity(struct env *env, char *const *variables,
			 const char *what, const char *value)
{
	static const char *const who[] = {"AUTHOR", "COMMITTER"};

	for (size_t i = 0; value && i < ARRAY_SIZE(who); i++) {
		AUTO_FREE char *name = text_format("GIT_%s_%s", who[i], what);
		bool chosen = false;

		for (char *const *at = variables; *at && !chosen; at++) {
			chosen = strncmp(*at, name, strlen(name)) == 0 &&
				 (*at)[strlen(name)] == '=';
		}
		if (!chosen) {
			strv_addf(&env->added, "%s=%s", name, value);
		}
	}
}

void env_build(struct env *ret_env, char *const *variables,
	       const struct env_additions *additions)
{
	*ret_env = (struct env){0};
	strv_addf(&ret_env->added, "HOME=%s", additions->home);
	strv_addf(&ret_env->added, "TMPDIR=%s", additions->tmp);
	strv_addf(&ret_env->added, "LEGATO_EXECUTION=%s", additions->execution);
	add_identity(ret_env, variables, "NAME", additions->git_name);
	add_identity(ret_env, variables, "EMAIL", additions->git_email);
	for (char *const *at = variables; *at; at++) {
		take_variable(ret_env, *at);
	}
}

void env_release(struct env *env)
{
	strv_release(&env->passed);
	strv_release(&env->added);
	strv_release(&env->dropped);
}
