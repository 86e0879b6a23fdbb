#include "expand.h"

#include <string.h>

#include "strv.h"

#include "unit.h"

static char *const variables[] = {
	"CARGO_HOME=/big//cargo/",
	"KUBECONFIG=/a/k1:~/k2:rel/k3",
	"DOCKER_HOST=unix:///run/d.sock",
	"BUS=unix:path=/run/bus,guid=1",
	"TCP=tcp://host:1",
	"EMPTY=",
	"UP=../up",
	NULL,
};

static void expect(const char *text, bool moved, const char *wanted)
{
	const struct expand expand = {
		.home = "/home/me",
		.variables = variables,
		.cwd = "/work",
		.moved = moved,
	};
	AUTO_STRV paths = {0};
	char joined[256] = "";

	assert_true(expand_valid(text));
	expand_path(&expand, text, &paths);
	for (size_t i = 0; i < paths.count; i++) {
		strncat(joined, i ? " " : "",
			sizeof(joined) - strlen(joined) - 1);
		strncat(joined, paths.list[i],
			sizeof(joined) - strlen(joined) - 1);
	}
	if (strcmp(joined, wanted) != 0) {
		fail_msg("%s is '%s', not '%s'", text, joined, wanted);
	}
}

static void paths_expand(void **state)
{
	(void)state;
	expect("/etc", true, "/etc");
	expect("/", true, "/");
	expect("/a//b/./c/", true, "/a/b/c");
	expect("~", true, "/home/me");
	expect("~/.ssh", true, "/home/me/.ssh");
	expect("${CARGO_HOME:-~/.cargo}/bin", true, "/big/cargo/bin");
	expect("${CARGO_HOME:-~/.cargo}/bin", false, "/home/me/.cargo/bin");
	expect("${NONE:-${CARGO_HOME:-~/.cargo}/x}/y", true, "/big/cargo/x/y");
	expect("${NONE:-${ALSO_NONE:-~/.c}/x}/y", true, "/home/me/.c/x/y");
	expect("${EMPTY:-/d}", true, "/d");
	expect("${NONE}", true, "");
	expect("${CARGO_HOME}", false, "");
}

static void values_are_lists_and_addresses(void **state)
{
	(void)state;
	expect("${KUBECONFIG:-~/.kube}", true,
	       "/a/k1 /home/me/k2 /work/rel/k3");
	expect("${DOCKER_HOST:-/x}", true, "/run/d.sock");
	expect("${BUS}", true, "/run/bus");
	expect("${TCP:-/x}", true, "");
	expect("${UP:-/x}", true, "");
}

static void what_is_no_path_is_told(void **state)
{
	static const char *const texts[] = {
		"",          "a/b",     "~me",         "/a/../b", "/..",
		"~/../x",    "${A",     "${}",         "${A:-}",  "${A:-b}",
		"${A:-/b}c", "${A-/b}", "${A:-/b}/..", "${a b}",  "$A/b",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (expand_valid(texts[i])) {
			fail_msg("'%s' is taken for a path", texts[i]);
		}
	}
	assert_true(expand_valid("/a/..b/c.."));
}

static void variable(const char *text, const char *wanted, const char *after)
{
	const struct expand expand = {.variables = variables};
	AUTO_FREE char *rest = NULL;
	AUTO_FREE char *name = expand_variable(&expand, text, &rest);

	assert_string_equal(name ? name : "", wanted);
	assert_string_equal(rest ? rest : "", after);
}

static void the_variable_is_told(void **state)
{
	(void)state;
	variable("${CARGO_HOME:-~/.cargo}/bin", "CARGO_HOME", "/bin");
	variable("${NONE:-${CARGO_HOME:-/c}/d}/e", "CARGO_HOME", "/d/e");
	variable("${NONE:-/c}/d", "", "");
	variable("${NONE}", "", "");
	variable("~/x", "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_expand),
		cmocka_unit_test(values_are_lists_and_addresses),
		cmocka_unit_test(what_is_no_path_is_told),
		cmocka_unit_test(the_variable_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
