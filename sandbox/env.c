#include "env.h"

#include <fnmatch.h>
#include <string.h>

#include "config.h"
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
	{"PWD", true},
	{"OLDPWD", true},
	{"*BYPASS", true},
	{"*COMPASS", true},

	/* secrets, by what people call them */
	{"*TOKEN*", false},
	{"*SECRET*", false},
	{"*PASSWORD*", false},
	{"*PASSWD*", false},
	{"*PASSPHRASE*", false},
	{"*PASS", false},
	{"*PASSCODE*", false},
	{"*_PASS_*", false},
	{"*_PWD", false},
	{"*_PW", false},
	{"*BINDPW", false},
	{"*_PSK", false},
	{"*_OTP", false},
	{"*_OTP_*", false},
	{"*CREDENTIAL*", false},
	{"*_CRED", false},
	{"*_CREDS", false},
	{"*APIKEY*", false},
	{"*_KEY", false},
	{"*_KEYS", false},
	{"*_KEY_*", false},
	{"*AUTHKEY*", false},
	{"*ACCESSKEY*", false},
	{"*ACCOUNTKEY*", false},
	{"*PRIVATEKEY*", false},
	{"*PRIVKEY*", false},
	{"*SIGNINGKEY*", false},
	{"*_PEM", false},
	{"*_PAT", false},
	{"*_JWT", false},
	{"JWT", false},
	{"*_JWT_*", false},
	{"*_SAS", false},
	{"*_SAS_*", false},
	{"*_BEARER", false},
	{"*_AUTH", false},
	{"*_AUTH_*", false},
	{"*BASICAUTH*", false},
	{"*MNEMONIC*", false},
	{"*AUTHORIZATION*", false},
	{"*COOKIE*", false},
	{"*_DSN", false},
	{"*DATABASE_URL*", false},
	{"*CONNECTION_STRING*", false},
	{"*CONNSTR*", false},
	{"*CONN_STR*", false},
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
	{"SCW_*", false},
	{"OVH_*", false},
	{"LINODE_*", false},
	{"B2_*", false},
	{"MC_HOST_*", false},
	{"DATABRICKS_*", false},
	{"SNOWFLAKE_*", false},
	{"SNOWSQL_*", false},
	{"FIREBASE_*", false},
	{"SUPABASE_*", false},
	{"KUBE*", false},
	{"*_KUBECONFIG", false},
	{"HELM_*", false},
	{"VAULT_*", false},
	{"CONSUL_HTTP_*", false},
	{"NOMAD_*", false},
	{"PULUMI_*", false},
	{"TF_VAR_*", false},
	{"OP_*", false},
	{"BW_*", false},
	{"DOPPLER_*", false},
	{"SOPS_*", false},
	{"LPASS_*", false},
	{"INFISICAL_*", false},
	{"CONJUR_*", false},
	{"ETCDCTL_*", false},
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
	{"ARTIFACTORY_*", false},
	{"JFROG_*", false},
	{"CLOJARS_*", false},
	{"SONATYPE_*", false},
	{"MAVEN_GPG_*", false},
	{"NIX_CONFIG", false},

	/* CI systems, as far as no word above gives them away */
	{"ACTIONS_*_URL", false},
	{"ENCRYPTED_*_IV", false},
	{"SONAR_LOGIN", false},
	{"BUILDKITE_AGENT_*", false},
	{"CI_JOB_JWT*", false},
	{"CI_REPOSITORY_URL", false},

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
	{"SESSION_MANAGER", false},
	{"LIBVIRT_*", false},
	{"CONTAINERD_*", false},
	{"ZELLIJ*", false},
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
	/* whoever made them */
	"*://*:*@*", /* a URL with a password */
	"*-----BEGIN *PRIVATE KEY*",
	"PuTTY-User-Key-File-*",
	"AGE-SECRET-KEY-*",
	"eyJ*.eyJ*.*", /* a JSON web token */
	"Bearer *",
	"*Authorization: *",
	"*[Pp]assword=*",
	"*[Pp]wd=*;*",
	"*[?&]sig=*",

	/* code and CI: GitHub, GitLab, Atlassian, Buildkite */
	"ghp_*",
	"gho_*",
	"ghr_*",
	"ghs_*",
	"ghu_*",
	"github_pat_*",
	"glpat-*",
	"glptt-*",
	"gldt-*",
	"glrt-*",
	"glcbt-*",
	"glft-*",
	"glsoat-*",
	"glagent-*",
	"gloas-*",
	"ATATT3*",
	"ATCTT3*",
	"ATBB[A-Za-z0-9]*",
	"bkua_*",

	/* package registries: npm, PyPI, RubyGems, Docker, JFrog */
	"npm_[A-Za-z0-9]*",
	"pypi-*",
	"rubygems_*",
	"dckr_[op]at_*",
	"AKCp[0-9]*",

	/* clouds: Amazon, Google, Azure, and smaller ones */
	"AKIA[A-Z0-9]*",
	"ASIA[A-Z0-9]*",
	"ABSK[A-Za-z0-9]*",
	"AIza*",
	"ya29.*",
	"GOCSPX-*",
	"*AccountKey=*",
	"*SharedAccessKey=*",
	"do[opr]_v1_*",
	"HRKU-*",
	"FlyV1 *",
	"sbp_*",
	"sb_secret_*",
	"pscale_*_*",
	"dapi[0-9a-f][0-9a-f]*",
	"tskey-*",

	/* stores of secrets: Vault, Terraform, Doppler, Pulumi, 1Password */
	"hv[bsr].*",
	"*.atlasv1.*",
	"dp.[a-z]*.*",
	"pul-*",
	"ops_eyJ*",

	/* models: OpenAI, Anthropic, Hugging Face, Groq, NVIDIA, others */
	"sk-*",
	"hf_[A-Za-z0-9]*",
	"gsk_*",
	"nvapi-*",
	"r8_*",
	"xai-*",
	"pplx-*",
	"tgp_v1_*",
	"lsv2_*",
	"tvly-*",

	/* services: Slack, Discord, Stripe, SendGrid, Shopify, others */
	"xox[a-z]-*",
	"xoxe.xox*",
	"xapp-*",
	"*hooks.slack.com/services/*",
	"*discord*.com/api/webhooks/*",
	"[rs]k_live_*",
	"[rs]k_test_*",
	"whsec_*",
	"SG.*.*",
	"shp[a-z][a-z]_*",
	"lin_api_*",
	"ntn_*",
	"figd_*",
	"glsa_*",
	"glc_*",
	"NRAK-*",
	"sntry[su]_*",
	"PMAK-*",
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

static bool matches_any(const struct config_value *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->n_items; i++) {
		if (fnmatch(patterns->items[i].text, name, 0) == 0) {
			return true;
		}
	}
	return false;
}

/* The configuration first, then the rules. */
static bool passes(const struct config *config, const char *name,
		   const char *value)
{
	if (matches_any(&config->values[CONFIG_ENV_DENY], name)) {
		return false;
	}
	return matches_any(&config->values[CONFIG_ENV_ALLOW], name) ||
	       env_passes(name, value);
}

static void take_variable(struct env *env, const struct config *config,
			  const char *variable)
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
	if (passes(config, name, equals + 1)) {
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
		bool chosen;

		chosen = has_name(&env->added, name);
		for (char *const *at = variables; *at && !chosen; at++) {
			chosen = strncmp(*at, name, strlen(name)) == 0 &&
				 (*at)[strlen(name)] == '=';
		}
		if (!chosen) {
			strv_addf(&env->added, "%s=%s", name, value);
		}
	}
}

/* The first that sets a name stands. */
static void add_once(struct env *env, const char *variable)
{
	AUTO_FREE char *name =
		text_format("%.*s", (int)strcspn(variable, "="), variable);

	if (!has_name(&env->added, name)) {
		strv_add(&env->added, variable);
	}
}

/* The last of two stands, but none over ours. */
static void add_configured(struct env *env, const struct config_value *value)
{
	for (size_t i = value->n_items; i-- > 0;) {
		add_once(env, value->items[i].text);
	}
}

void env_build(struct env *ret_env, char *const *variables,
	       const struct env_additions *additions)
{
	*ret_env = (struct env){0};
	strv_addf(&ret_env->added, "HOME=%s", additions->home);
	strv_addf(&ret_env->added, "TMPDIR=%s", additions->tmp);
	strv_addf(&ret_env->added, "LEGATO_EXECUTION=%s", additions->execution);
	for (size_t i = 0; i < additions->moved->count; i++) {
		add_once(ret_env, additions->moved->list[i]);
	}
	add_configured(ret_env, &additions->config->values[CONFIG_ENV_SET]);
	add_identity(ret_env, variables, "NAME", additions->git_name);
	add_identity(ret_env, variables, "EMAIL", additions->git_email);
	for (char *const *at = variables; *at; at++) {
		take_variable(ret_env, additions->config, *at);
	}
}

void env_release(struct env *env)
{
	strv_release(&env->passed);
	strv_release(&env->added);
	strv_release(&env->dropped);
}
