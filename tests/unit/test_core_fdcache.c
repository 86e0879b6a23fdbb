#include "fdcache.h"

#include <fcntl.h>
#include <pthread.h>

#include "unit.h"

#define CAPACITY 4
#define THREADS  8
#define ROUNDS   2000

static struct fdcache cache;

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static struct fdref *new_ref(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct fdref *ref;

	assert_true(fd >= 0);
	ref = fdref_new(fd, false);
	assert_non_null(ref);
	return ref;
}

/* Puts one into the cache and keeps no reference; returns the number. */
static int insert(uint64_t id, unsigned int slot)
{
	struct fdref *ref = new_ref();
	int fd = ref->fd;

	fdcache_insert(&cache, id, slot, ref);
	fdref_put(ref);
	return fd;
}

static bool has(uint64_t id, unsigned int slot)
{
	struct fdref *ref = fdcache_find(&cache, id, slot);

	fdref_put(ref);
	return ref;
}

static int setup(void **state)
{
	(void)state;
	return fdcache_init(&cache, CAPACITY);
}

static int teardown(void **state)
{
	(void)state;
	fdcache_release(&cache);
	return 0;
}

static void last_reference_closes(void **state)
{
	struct fdref *ref = new_ref();
	struct fdref *second = fdref_get(ref);
	int fd = ref->fd;

	(void)state;
	assert_ptr_equal(ref, second);
	fdref_put(ref);
	assert_true(is_open(fd));
	fdref_put(second);
	assert_false(is_open(fd));
	assert_null(fdref_get(NULL));
	fdref_put(NULL);
}

static void keys_are_node_and_slot(void **state)
{
	int fd = insert(7, 0);
	struct fdref *ref;

	(void)state;
	insert(7, 1);
	insert(8, 0);
	ref = fdcache_find(&cache, 7, 0);
	assert_non_null(ref);
	assert_int_equal(ref->fd, fd);
	fdref_put(ref);
	assert_true(has(7, 1));
	assert_true(has(8, 0));
	assert_false(has(8, 1));
	assert_false(has(6, 1)); /* 6 + 1 == 7 + 0 */
	fdcache_drop(&cache, 7, 0);
	assert_false(has(7, 0));
	assert_true(has(7, 1));
	assert_false(is_open(fd));
	fdcache_drop(&cache, 7, 0); /* what is not there */
}

static void least_recently_used_goes_first(void **state)
{
	int fds[CAPACITY + 1];

	(void)state;
	for (unsigned int i = 0; i < CAPACITY; i++) {
		fds[i] = insert(i, 0);
	}
	assert_true(has(0, 0)); /* used, so 1 is the oldest */
	fds[CAPACITY] = insert(CAPACITY, 0);
	assert_false(has(1, 0));
	assert_false(is_open(fds[1]));
	assert_true(has(0, 0));
	assert_true(is_open(fds[0]));
	for (unsigned int i = 2; i <= CAPACITY; i++) {
		assert_true(has(i, 0));
	}
}

static void never_holds_more_than_its_capacity(void **state)
{
	unsigned int held = 0;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		insert(i, i % 3);
	}
	for (unsigned int i = 0; i < 1000; i++) {
		held += has(i, i % 3);
	}
	assert_int_equal(held, CAPACITY);
}

static void capacity_of_one(void **state)
{
	struct fdcache small;
	struct fdref *a = new_ref();
	struct fdref *b = new_ref();

	(void)state;
	assert_int_equal(fdcache_init(&small, 1), 0);
	fdcache_insert(&small, 1, 0, a);
	fdcache_insert(&small, 2, 0, b);
	assert_null(fdcache_find(&small, 1, 0));
	fdref_put(fdcache_find(&small, 2, 0));
	fdcache_drop(&small, 2, 0);
	fdcache_insert(&small, 1, 0, a);
	fdref_put(a);
	fdref_put(b);
	fdcache_release(&small);
}

/* Evicted, dropped or replaced: what was handed out stays open. */
static void reference_outlives_the_entry(void **state)
{
	struct fdref *evicted;
	struct fdref *dropped;
	struct fdref *replaced;
	int fd;

	(void)state;
	insert(1, 0);
	evicted = fdcache_find(&cache, 1, 0);
	for (unsigned int i = 0; i < CAPACITY; i++) {
		insert(100 + i, 0);
	}
	assert_false(has(1, 0));
	insert(2, 0);
	dropped = fdcache_find(&cache, 2, 0);
	fdcache_drop(&cache, 2, 0);
	insert(3, 0);
	replaced = fdcache_find(&cache, 3, 0);
	fd = insert(3, 0);
	assert_int_not_equal(replaced->fd, fd);
	assert_true(is_open(evicted->fd));
	assert_true(is_open(dropped->fd));
	assert_true(is_open(replaced->fd));
	fd = evicted->fd;
	fdref_put(evicted);
	assert_false(is_open(fd));
	fd = dropped->fd;
	fdref_put(dropped);
	assert_false(is_open(fd));
	fd = replaced->fd;
	fdref_put(replaced);
	assert_false(is_open(fd));
	assert_true(has(3, 0));
}

static void release_closes_all(void **state)
{
	struct fdcache other;
	struct fdref *ref = new_ref();
	int fd = ref->fd;

	(void)state;
	assert_int_equal(fdcache_init(&other, 100), 0);
	fdcache_insert(&other, 1, 0, ref);
	fdref_put(ref);
	assert_true(is_open(fd));
	fdcache_release(&other);
	assert_false(is_open(fd));
	fdcache_release(&other);
}

/* Counts the failures: cmocka's asserts are for its own thread. */
static void *use_cache(void *data)
{
	unsigned int seed = (unsigned int)(uintptr_t)data;
	uintptr_t failures = 0;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		uint64_t id = (unsigned int)rand_r(&seed) % (2 * CAPACITY);
		struct fdref *ref = fdcache_find(&cache, id, 0);

		if (ref) {
			/* Nobody closes it, and so nobody else gets its
			 * number, while we hold it. */
			failures += !is_open(ref->fd);
			fdref_put(ref);
		} else {
			int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

			ref = fdref_new(fd, false);
			fdcache_insert(&cache, id, 0, ref);
			failures += !is_open(ref->fd);
			fdref_put(ref);
		}
		if (i % 7 == 0) {
			fdcache_drop(&cache, id, 0);
		}
	}
	return (void *)failures;
}

static void threads_never_see_a_closed_descriptor(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, use_cache,
						(void *)(i + 1)),
				 0);
	}
	for (unsigned int i = 0; i < THREADS; i++) {
		void *failures;

		pthread_join(threads[i], &failures);
		assert_null(failures);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_reference_closes),
		cmocka_unit_test_setup_teardown(keys_are_node_and_slot, setup,
						teardown),
		cmocka_unit_test_setup_teardown(least_recently_used_goes_first,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			never_holds_more_than_its_capacity, setup, teardown),
		cmocka_unit_test(capacity_of_one),
		cmocka_unit_test_setup_teardown(reference_outlives_the_entry,
						setup, teardown),
		cmocka_unit_test(release_closes_all),
		cmocka_unit_test_setup_teardown(
			threads_never_see_a_closed_descriptor, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
