/* Where the control groups of a sandbox go, on recorded systems. */
#include "cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define TOP "/sys/fs/cgroup"

static const struct limits all = {.values = {[LIMIT_MEMORY] = 1 << 20,
					     [LIMIT_PIDS] = 10,
					     [LIMIT_CPU] = 500}};

static const char v1_mounts[] =
	"tmpfs " TOP " tmpfs rw,mode=755 0 0\n"
	"cgroup " TOP "/cpu,cpuacct cgroup rw,relatime,cpu,cpuacct 0 0\n"
	"cgroup " TOP "/memory cgroup rw,relatime,memory 0 0\n"
	"cgroup " TOP "/pids cgroup rw,relatime,pids 0 0\n"
	"cgroup2 " TOP "/unified cgroup2 rw,relatime 0 0\n";
static const char v1_self[] = "5:pids:/user.slice\n"
			      "4:memory:/a:b/c\n"
			      "2:cpu,cpuacct:/\n"
			      "0::/user.slice\n";
static const char v2_mounts[] =
	"proc /proc proc rw 0 0\n"
	"cgroup2 " TOP " cgroup2 rw,nosuid,nsdelegate 0 0\n";
static const char v2_self[] = "0::/user.slice/user-0.slice/session-3.scope\n";

static void v1_has_a_group_for_each(void **state)
{
	struct cgroup_plan plan;

	(void)state;
	cgroup_plan(&plan, v1_self, v1_mounts, "x", &all);
	assert_int_equal(plan.count, 3);
	assert_string_equal(plan.folders[LIMIT_MEMORY].path,
			    TOP "/memory/a:b/c/legato-x");
	assert_string_equal(plan.folders[LIMIT_PIDS].path,
			    TOP "/pids/user.slice/legato-x");
	assert_string_equal(plan.folders[LIMIT_CPU].path,
			    TOP "/cpu,cpuacct/legato-x");
	assert_true(plan.folders[LIMIT_CPU].limits[LIMIT_CPU]);
	assert_false(plan.folders[LIMIT_CPU].limits[LIMIT_PIDS]);
	cgroup_plan_release(&plan);
}

static void controllers_mounted_together_share_one(void **state)
{
	struct cgroup_plan plan;

	(void)state;
	cgroup_plan(&plan, "3:memory,pids:/\n",
		    "cgroup /cg cgroup rw,memory,pids 0 0\n", "x", &all);
	assert_int_equal(plan.count, 1);
	assert_string_equal(plan.folders[0].path, "/cg/legato-x");
	assert_true(plan.folders[0].limits[LIMIT_MEMORY]);
	assert_true(plan.folders[0].limits[LIMIT_PIDS]);
	cgroup_plan_release(&plan);
}

static void v2_has_one_in_a_folder_of_ours(void **state)
{
	struct cgroup_plan plan;

	(void)state;
	cgroup_plan(&plan, v2_self, v2_mounts, "x", &all);
	assert_int_equal(plan.count, 1);
	assert_string_equal(plan.folders[0].path, TOP "/legato/legato-x");
	assert_string_equal(plan.folders[0].shared, TOP "/legato");
	assert_true(plan.folders[0].is_v2);
	for (int i = 0; i < LIMIT_COUNT; i++) {
		assert_true(plan.folders[0].limits[i]);
	}
	cgroup_plan_release(&plan);
}

static void what_is_not_limited_needs_none(void **state)
{
	const struct limits pids = {.values = {[LIMIT_PIDS] = 10}};
	struct cgroup_plan plan;

	(void)state;
	cgroup_plan(&plan, v1_self, v1_mounts, "x", &(struct limits){0});
	assert_int_equal(plan.count, 0);
	cgroup_plan(&plan, v1_self, v1_mounts, "x", &pids);
	assert_int_equal(plan.count, 1);
	cgroup_plan_release(&plan);
}

static void odd_files_plan_nothing(void **state)
{
	static const char *const texts[] = {
		"", "\n", ":", "1:", "nonsense", "1:memory", "cgroup", "a b c"};
	struct cgroup_plan plan;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		cgroup_plan(&plan, texts[i], v1_mounts, "x",
			    &(struct limits){.values = {[LIMIT_PIDS] = 1}});
		assert_int_equal(plan.count, 0);
		cgroup_plan(&plan, v1_self, texts[i], "x", &all);
		assert_int_equal(plan.count, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v1_has_a_group_for_each),
		cmocka_unit_test(controllers_mounted_together_share_one),
		cmocka_unit_test(v2_has_one_in_a_folder_of_ours),
		cmocka_unit_test(what_is_not_limited_needs_none),
		cmocka_unit_test(odd_files_plan_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
