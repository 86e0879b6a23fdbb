#include "odd_table.h"

#include <fnmatch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "compiler.h"

/* Longer than any `first` below. */
#define MAX_FIRST 32

/* Matches a path that has the component `first`, anywhere, and behind it what
 * fits the pattern `rest`: NULL for nothing, "*" for one name, "**" for any
 * number. */
struct row {
	const char *first;
	const char *rest;
	const char *why;
};

#define BY_GIT    "git runs what it names"
#define BY_SHELL  "a shell reads it at its start"
#define BY_CI     "a CI service runs it"
#define BY_EDITOR "an editor runs what it names"
#define BY_LOGIN  "starts with the user's session"
#define BY_AGENT  "agents take it for instructions"
#define BY_NPM    "changes what package managers run"

/* Sorted by `first`, letter case ignored; a unit test holds it to that. */
static const struct row rows[] = {
	{".bash_login", NULL, BY_SHELL},
	{".bash_logout", NULL, "a shell reads it at its end"},
	{".bash_profile", NULL, BY_SHELL},
	{".bashrc", NULL, BY_SHELL},
	{".buildkite", "**", BY_CI},
	{".cargo", "config", "cargo runs what it names"},
	{".cargo", "config.toml", "cargo runs what it names"},
	{".circleci", "**", BY_CI},
	{".claude", "**", BY_AGENT},
	{".config", "autostart/*", BY_LOGIN},
	{".config", "environment.d/*", BY_LOGIN},
	{".config", "fish/**", BY_SHELL},
	{".config", "git/**", BY_GIT},
	{".config", "nvim/**", BY_EDITOR},
	{".config", "systemd/**", BY_LOGIN},
	{".cursor", "**", BY_AGENT},
	{".cursorrules", NULL, BY_AGENT},
	{".devcontainer", "**", "an editor builds and runs it"},
	{".devcontainer.json", NULL, "an editor builds and runs it"},
	{".dir-locals.el", NULL, BY_EDITOR},
	{".drone.yml", NULL, BY_CI},
	{".emacs", NULL, BY_EDITOR},
	{".emacs.d", "**", BY_EDITOR},
	{".envrc", NULL, "direnv runs it on entering the folder"},
	{".exrc", NULL, BY_EDITOR},
	{".forgejo", "workflows/**", BY_CI},
	{".gdbinit", NULL, "gdb runs it"},
	{".git", "config", BY_GIT},
	{".git", "config.worktree", BY_GIT},
	{".git", "hooks/**", "git runs it"},
	{".git", "info/attributes", "chooses filters that git runs"},
	{".git", "modules/**/config", BY_GIT},
	{".git", "modules/**/hooks/**", "git runs it"},
	{".gitattributes", NULL, "chooses filters that git runs"},
	{".gitconfig", NULL, BY_GIT},
	{".gitea", "workflows/**", BY_CI},
	{".githooks", "**", "git runs it where core.hooksPath says so"},
	{".github", "actions/**", BY_CI},
	{".github", "copilot-instructions.md", BY_AGENT},
	{".github", "workflows/**", BY_CI},
	{".gitlab-ci.yml", NULL, BY_CI},
	{".gitmodules", NULL, "git fetches what it names"},
	{".husky", "**", "git runs it where core.hooksPath says so"},
	{".idea", "**", BY_EDITOR},
	{".lldbinit", NULL, "lldb runs it"},
	{".local", "bin/**", "in the shell's search path"},
	{".local", "share/systemd/**", BY_LOGIN},
	{".mcp.json", NULL, "an agent starts what it names"},
	{".mise.toml", NULL, "mise runs it on entering the folder"},
	{".npmrc", NULL, BY_NPM},
	{".nvimrc", NULL, BY_EDITOR},
	{".pam_environment", NULL, BY_LOGIN},
	{".pnpmfile.cjs", NULL, BY_NPM},
	{".pre-commit-config.yaml", NULL,
	 "git runs it where pre-commit is set up"},
	{".profile", NULL, BY_SHELL},
	{".ssh", "**", "ssh obeys it"},
	{".tmux.conf", NULL, "tmux runs it"},
	{".travis.yml", NULL, BY_CI},
	{".vimrc", NULL, BY_EDITOR},
	{".vscode", "**", BY_EDITOR},
	{".woodpecker", "**", BY_CI},
	{".woodpecker.yml", NULL, BY_CI},
	{".yarnrc", NULL, BY_NPM},
	{".yarnrc.yml", NULL, BY_NPM},
	{".zlogin", NULL, BY_SHELL},
	{".zprofile", NULL, BY_SHELL},
	{".zshenv", NULL, BY_SHELL},
	{".zshrc", NULL, BY_SHELL},
	{"AGENTS.md", NULL, BY_AGENT},
	{"azure-pipelines.yml", NULL, BY_CI},
	{"bitbucket-pipelines.yml", NULL, BY_CI},
	{"CLAUDE.md", NULL, BY_AGENT},
	{"conftest.py", NULL, "pytest runs it whatever test is chosen"},
	{"GEMINI.md", NULL, BY_AGENT},
	{"Jenkinsfile", NULL, BY_CI},
	{"lefthook.yml", NULL, "git runs it where lefthook is set up"},
	{"sitecustomize.py", NULL, "python runs it at its start"},
	{"usercustomize.py", NULL, "python runs it at its start"},
};

/* Compares rows with a component that ends at a '/' or at its string's end. */
static int compare_first(const void *key, const void *element)
{
	const struct row *row = element;
	const char *component = key;
	size_t len = strcspn(component, "/");
	int order = strncasecmp(component, row->first, len);

	return order ? order : row->first[len] ? -1 : 0;
}

/* "**" is any number of names, since '*' of fnmatch without FNM_PATHNAME
 * takes slashes, too; "*" must not. */
static bool fits(const char *rest, const char *pattern)
{
	int flags = strstr(pattern, "**") ? 0 : FNM_PATHNAME;

	if (!pattern[0] || !rest[0]) {
		return pattern[0] == rest[0];
	}
	return fnmatch(pattern, rest, flags | FNM_CASEFOLD) == 0;
}

static const char *why_at(const char *component)
{
	size_t len = strcspn(component, "/");
	const char *rest = component + len + (component[len] == '/');
	const struct row *row =
		len < MAX_FIRST ? bsearch(component, rows, ARRAY_SIZE(rows),
					  sizeof(rows[0]), compare_first)
				: NULL;

	while (row && row > rows && compare_first(component, row - 1) == 0) {
		row--;
	}
	for (; row && row < rows + ARRAY_SIZE(rows) &&
	       compare_first(component, row) == 0;
	     row++) {
		if (fits(rest, row->rest ? row->rest : "")) {
			return row->why;
		}
	}
	return NULL;
}

/* git makes them with each repository, and runs none. */
static bool is_sample_hook(const char *path)
{
	size_t len = strlen(path);
	size_t end = strlen(".sample");

	return len > end && strcmp(path + len - end, ".sample") == 0;
}

const char *odd_table_why(const char *path)
{
	const char *why = NULL;

	for (const char *at = path; at && !why; at = strchr(at, '/')) {
		at += *at == '/';
		why = why_at(at);
	}
	return is_sample_hook(path) ? NULL : why;
}
