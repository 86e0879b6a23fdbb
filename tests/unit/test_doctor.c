/* What doctor says of systems that aren't this one. */
#include "doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static char top[] = "/tmp/test-doctor-XXXXXX";

static void write_setting(const char *path, const char *text)
{
	char whole[256];
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", top, path);
	for (char *slash = whole + sizeof(top); (slash = strchr(slash, '/'));
	     slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	file = fopen(whole, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

/* The finding with one setting; `wanted` is in its text or fix. */
static void check_setting(const char *path, const char *text,
			  const char *wanted)
{
	struct finding finding = {.text = BUF_INIT, .fix = BUF_INIT};

	write_setting(path, text);
	doctor_explain_namespaces(&finding, top);
	write_setting(path, "");
	assert_int_equal(finding.state, FINDING_FAILS);
	if (!strstr(finding.text.data, wanted) &&
	    !strstr(finding.fix.data, wanted)) {
		fail_msg("'%s' is not in '%s' '%s'", wanted, finding.text.data,
			 finding.fix.data);
	}
	buf_release(&finding.text);
	buf_release(&finding.fix);
}

static void refused_namespaces_are_explained(void **state)
{
	(void)state;
	check_setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		      "1\n", "profile bwrap /usr/bin/bwrap");
	check_setting("/proc/sys/kernel/unprivileged_userns_clone", "0\n",
		      "kernel.unprivileged_userns_clone=1");
	check_setting("/proc/sys/user/max_user_namespaces", "0\n",
		      "user.max_user_namespaces=");
	check_setting("/proc/sys/user/max_user_namespaces", "15000\n",
		      "container");
}

static void kernels_have_versions(void **state)
{
	(void)state;
	assert_int_equal(doctor_kernel_version("6.18.44-x"), 6018);
	assert_int_equal(doctor_kernel_version("6.1.0"), 6001);
	assert_int_equal(doctor_kernel_version("5.4"), 5004);
	assert_int_equal(doctor_kernel_version(""), 0);
	assert_int_equal(doctor_kernel_version("x.y"), 0);
}

static int make_top(void **state)
{
	(void)state;
	return mkdtemp(top) ? 0 : -1;
}

static int remove_top(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command); /* NOLINT */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_namespaces_are_explained),
		cmocka_unit_test(kernels_have_versions),
	};

	return cmocka_run_group_tests(tests, make_top, remove_top);
}
