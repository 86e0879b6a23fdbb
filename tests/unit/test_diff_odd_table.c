#include "odd_table.h"

#include "compiler.h"
#include "unit.h"

/* Rows from everywhere in the table: one out of order would not be found. */
static void files_that_run_are_known(void **state)
{
	static const char *const paths[] = {
		".bash_login",
		"home/.bashrc",
		".buildkite/a/b/c.yml",
		".cargo/config.toml",
		".claude/settings.json",
		".config/autostart/x.desktop",
		".config/systemd/user/x.service",
		".dir-locals.el",
		".envrc",
		"deep/down/.envrc",
		".git/config",
		".git/hooks/post-commit",
		".GIT/Hooks/post-commit",
		"nested/.git/hooks/pre-push",
		".git/modules/sub/config",
		".gitattributes",
		".gitconfig",
		".github/workflows/ci.yml",
		".gitlab-ci.yml",
		".gitmodules",
		".husky/pre-commit",
		".local/bin/ls",
		".npmrc",
		".profile",
		".ssh/authorized_keys",
		".vimrc",
		".vscode/tasks.json",
		".zshrc",
		"AGENTS.md",
		"sub/CLAUDE.md",
		"conftest.py",
		"Jenkinsfile",
		"lefthook.yml",
		"usercustomize.py",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!odd_table_why(paths[i])) {
			fail_msg("%s", paths[i]);
		}
	}
}

static void other_files_are_not(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"main.c",
		".git",
		".git/HEAD",
		".git/hooks/pre-commit.sample",
		".git/objects/ab/config",
		".config/other/config",
		".config/autostart/deep/x",
		".github/README.md",
		"bashrc",
		".bashrc.d",
		".envrc/x",
		"a.envrc",
		"an-extremely-long-name-that-no-row-has-at-all-in-its-table",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (odd_table_why(paths[i])) {
			fail_msg("%s", paths[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_that_run_are_known),
		cmocka_unit_test(other_files_are_not),
	};

	return cmocka_run_group_tests_name("diff_odd_table", tests, NULL, NULL);
}
