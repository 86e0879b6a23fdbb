#include "lock.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "legato-config.h"
#include "unit.h"

/* Runs `body` in a child that may abort; returns the signal that ended it. */
static int signal_of(void (*body)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		const struct rlimit none = {0, 0};
		int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		dup2(null, STDERR_FILENO);
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static struct lock low;
static struct lock high;
static struct lock twin;
static struct rwlock tree;

static int locks_setup(void **state)
{
	(void)state;
	lock_init(&low, LOCK_RANK_DIR, 1);
	lock_init(&high, LOCK_RANK_TABLE, 0);
	lock_init(&twin, LOCK_RANK_DIR, 2);
	rwlock_init(&tree, LOCK_RANK_TREE);
	return 0;
}

static int locks_teardown(void **state)
{
	(void)state;
	lock_release(&low);
	lock_release(&high);
	lock_release(&twin);
	rwlock_release(&tree);
	return 0;
}

static void take_upward(void)
{
	rwlock_take_shared(&tree);
	lock_take(&low);
	lock_take(&twin);
	lock_take(&high);
	lock_drop(&low);
	lock_drop(&high);
	lock_drop(&twin);
	rwlock_drop(&tree);
	rwlock_take_exclusive(&tree);
	rwlock_drop(&tree);
}

static void take_scoped(void)
{
	for (int i = 0; i < 3; i++) {
		AUTO_UNLOCK struct lock *held = lock_taken(&low);

		(void)held;
	}
	lock_take(&low);
	lock_drop(&low);
}

static void take_downward(void)
{
	lock_take(&high);
	lock_take(&low);
}

static void take_same_rank_backward(void)
{
	lock_take(&twin);
	lock_take(&low);
}

static void take_twice(void)
{
	lock_take(&low);
	lock_take(&low);
}

static void take_tree_under_dir(void)
{
	lock_take(&low);
	rwlock_take_shared(&tree);
}

static void take_shared_twice(void)
{
	rwlock_take_shared(&tree);
	rwlock_take_shared(&tree);
}

static void drop_what_is_not_held(void)
{
	lock_take(&low);
	lock_drop(&high);
}

static void right_orders_pass(void **state)
{
	(void)state;
	assert_int_equal(signal_of(take_upward), 0);
	assert_int_equal(signal_of(take_scoped), 0);
}

static void breaches_abort(void **state)
{
	static void (*const breaches[])(void) = {
		take_downward,     take_same_rank_backward,
		take_twice,        take_tree_under_dir,
		take_shared_twice, drop_what_is_not_held,
	};

	(void)state;
	if (!LEGATO_LOCK_CHECKS) {
		skip();
	}
	for (size_t i = 0; i < ARRAY_SIZE(breaches); i++) {
		assert_int_equal(signal_of(breaches[i]), SIGABRT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right_orders_pass),
		cmocka_unit_test(breaches_abort),
	};

	return cmocka_run_group_tests(tests, locks_setup, locks_teardown);
}
