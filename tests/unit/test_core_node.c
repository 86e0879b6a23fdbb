#include "node.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "view.h"

#define THREADS 32
#define MANY    20000 /* the tables begin with 1024 buckets */

/* The list root is the only node; the view is a name for nodes to be in. */
static struct fs fs;
static struct view view;
static struct nodes *const nodes = &fs.nodes;

static int setup(void **state)
{
	(void)state;
	view = (struct view){.fs = &fs, .index = 1};
	return fs_init(&fs, 8, 8, true);
}

static int teardown(void **state)
{
	size_t count = nodes_count(nodes);

	(void)state;
	fs_release(&fs);
	assert_int_equal(count, 1);
	return 0;
}

#define NODE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static struct node_seed file_seed(struct node *parent, const char *name,
				  ino_t ino)
{
	return (struct node_seed){
		.view = &view,
		.parent = parent,
		.name = name,
		.type = S_IFREG,
		.dev = 1,
		.ino = ino,
		.reported_ino = ino,
	};
}

static struct node_seed dir_seed(struct node *parent, const char *name)
{
	return (struct node_seed){
		.view = &view, .parent = parent, .name = name, .type = S_IFDIR};
}

static struct node *intern(struct node_seed seed)
{
	struct node *node;
	bool made;

	assert_int_equal(nodes_intern(nodes, &seed, &node, &made), 0);
	return node;
}

static struct node *file(ino_t ino)
{
	return intern(file_seed(fs.root, "f", ino));
}

static bool is_known(ino_t ino)
{
	struct node_seed seed = file_seed(fs.root, "f", ino);
	struct node *node = nodes_find(nodes, &seed);

	node_put(nodes, node);
	return node;
}

static bool has_id(uint64_t id)
{
	struct node *node = nodes_get(nodes, id);

	node_put(nodes, node);
	return node;
}

static void root_has_the_id_of_fuse(void **state)
{
	(void)state;
	assert_int_equal(fs.root->id, 1);
	assert_true(has_id(1));
	assert_false(has_id(0));
	assert_false(has_id(2));
	assert_false(has_id(UINT64_MAX));
}

static void one_file_has_one_node(void **state)
{
	struct node *a = file(10);
	struct node *b = intern(file_seed(fs.root, "another name", 10));
	struct node *c = file(11);
	struct node_seed seed = file_seed(fs.root, "f", 10);
	struct node *other_disk;

	(void)state;
	seed.dev = 2;
	other_disk = intern(seed);
	assert_ptr_equal(a, b);
	assert_ptr_not_equal(a, c);
	assert_ptr_not_equal(a, other_disk);
	assert_int_equal(nodes_count(nodes), 4);
	node_put(nodes, a);
	assert_true(is_known(10));
	node_put(nodes, b);
	assert_false(is_known(10));
	node_put(nodes, c);
	node_put(nodes, other_disk);
}

/* The disk gives an inode's number again, as a file of another type. */
static void types_are_told_apart(void **state)
{
	struct node_seed seed = file_seed(fs.root, "f", 10);
	struct node *a = file(10);
	struct node *b;

	(void)state;
	seed.type = S_IFLNK;
	b = intern(seed);
	assert_ptr_not_equal(a, b);
	node_put(nodes, a);
	node_put(nodes, b);
}

static void directory_is_parent_and_name(void **state)
{
	struct node *a = intern(dir_seed(fs.root, "a"));
	struct node *a_again = intern(dir_seed(fs.root, "a"));
	struct node *b = intern(dir_seed(fs.root, "b"));
	struct node *a_below = intern(dir_seed(a, "a"));

	(void)state;
	assert_ptr_equal(a, a_again);
	assert_ptr_not_equal(a, b);
	assert_ptr_not_equal(a, a_below);
	node_put(nodes, a_again);
	node_put(nodes, b);
	node_put(nodes, a);
	/* A child keeps it. */
	assert_int_equal(nodes_count(nodes), 3);
	node_put(nodes, a_below);
}

static void interning_takes_the_lowers_over_once(void **state)
{
	struct node_seed seed = dir_seed(fs.root, "a");
	struct lowers *lowers = calloc(1, sizeof(*lowers));
	struct lowers *second = calloc(1, sizeof(*second));
	struct node *node;
	struct node *again;
	bool made;

	(void)state;
	seed.lowers = lowers;
	assert_int_equal(nodes_intern(nodes, &seed, &node, &made), 0);
	assert_true(made);
	assert_null(seed.lowers);
	assert_ptr_equal(node->lowers, lowers);
	seed.lowers = second;
	assert_int_equal(nodes_intern(nodes, &seed, &again, &made), 0);
	assert_false(made);
	assert_ptr_equal(seed.lowers, second);
	assert_ptr_equal(again->lowers, lowers);
	lowers_free(second);
	node_put(nodes, node);
	node_put(nodes, again);
}

static void ids_are_never_used_again(void **state)
{
	uint64_t last = fs.root->id;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct node *node = file(10);
		uint64_t id = node->id;

		assert_true(id > last);
		last = id;
		node_put(nodes, node);
		assert_false(has_id(id));
	}
}

static void lookups_hold_one_reference(void **state)
{
	struct node *node = file(10);
	uint64_t id = node->id;

	(void)state;
	for (int i = 0; i < 3; i++) {
		node_add_lookup(nodes, node);
	}
	node_put(nodes, node);
	assert_true(has_id(id));
	node = nodes_get(nodes, id);
	node_forget(nodes, node, 2);
	node_put(nodes, node);
	assert_true(has_id(id));
	node = nodes_get(nodes, id);
	node_forget(nodes, node, 1);
	/* Ours is still there. */
	assert_true(has_id(id));
	node_put(nodes, node);
	assert_false(has_id(id));
}

/* A broken kernel forgets more than it looked up. */
static void forgetting_is_clamped(void **state)
{
	struct node *node = file(10);
	uint64_t id = node->id;

	(void)state;
	node_forget(nodes, node, 1);
	assert_true(has_id(id));
	node_add_lookup(nodes, node);
	node_forget(nodes, node, UINT64_MAX);
	node_forget(nodes, node, 5);
	node_forget(nodes, node, 0);
	assert_true(has_id(id));
	node_add_lookup(nodes, node);
	node_put(nodes, node);
	assert_true(has_id(id));
	node = nodes_get(nodes, id);
	node_forget(nodes, node, 1);
	node_put(nodes, node);
	assert_false(has_id(id));
}

static void rekeying_keeps_the_id(void **state)
{
	struct node *node = file(10);
	uint64_t id = node->id;
	struct node *other;

	(void)state;
	node_rekey(nodes, node, 1, 20);
	assert_int_equal(node->id, id);
	assert_true(has_id(id));
	assert_false(is_known(10));
	assert_true(is_known(20));
	other = file(20);
	assert_ptr_equal(other, node);
	node_put(nodes, other);
	other = file(10);
	assert_ptr_not_equal(other, node);
	node_put(nodes, other);
	node_put(nodes, node);
	assert_false(is_known(20));
}

static void unkeyed_is_found_by_id_only(void **state)
{
	struct node *node = file(10);
	struct node *other;

	(void)state;
	node_unkey(nodes, node);
	node_unkey(nodes, node);
	assert_false(is_known(10));
	assert_true(has_id(node->id));
	/* Its number is used again: another file. */
	other = file(10);
	assert_ptr_not_equal(other, node);
	node_rekey(nodes, node, 1, 30);
	assert_false(is_known(30));
	node_put(nodes, node);
	assert_true(is_known(10));
	node_put(nodes, other);
}

static void moving_a_directory(void **state)
{
	struct node *a = intern(dir_seed(fs.root, "a"));
	struct node *b = intern(dir_seed(fs.root, "b"));
	struct node *child = intern(dir_seed(a, "c"));
	uint64_t id = child->id;
	struct node *found;

	(void)state;
	node_move_nofail(nodes, child, b, strdup("d"));
	assert_ptr_equal(child->parent, b);
	assert_string_equal(child->name, "d");
	found = intern(dir_seed(b, "d"));
	assert_ptr_equal(found, child);
	assert_int_equal(found->id, id);
	node_put(nodes, found);
	found = intern(dir_seed(a, "c"));
	assert_ptr_not_equal(found, child);
	node_put(nodes, found);
	/* The reference on the parent moved, too. */
	id = a->id;
	node_put(nodes, a);
	assert_false(has_id(id));
	id = b->id;
	node_put(nodes, b);
	assert_true(has_id(id));
	node_put(nodes, child);
	assert_false(has_id(id));
}

static void moving_a_file_keeps_its_key(void **state)
{
	struct node *a = intern(dir_seed(fs.root, "a"));
	struct node *node = file(10);
	struct node *found;

	(void)state;
	node_move_nofail(nodes, node, a, strdup("g"));
	found = file(10);
	assert_ptr_equal(found, node);
	assert_string_equal(found->name, "g");
	node_put(nodes, found);
	node_put(nodes, node);
	node_put(nodes, a);
}

/* Each directory holds its parent: no recursion on the way back. */
static void deep_chain_is_freed_by_its_last_child(void **state)
{
	struct node *node = node_get(fs.root);

	(void)state;
	for (int i = 0; i < MANY; i++) {
		struct node *child = intern(dir_seed(node, "d"));

		node_put(nodes, node);
		node = child;
	}
	assert_int_equal(nodes_count(nodes), MANY + 1);
	node_put(nodes, node);
	assert_int_equal(nodes_count(nodes), 1);
}

static void tables_grow(void **state)
{
	static struct node *made[MANY];

	(void)state;
	for (ino_t i = 0; i < MANY; i++) {
		made[i] = file(i);
	}
	assert_int_equal(nodes_count(nodes), MANY + 1);
	/* Half of them move, after the tables grew. */
	for (ino_t i = 0; i < MANY; i += 2) {
		node_rekey(nodes, made[i], 1, MANY + i);
	}
	for (ino_t i = 0; i < MANY; i++) {
		struct node *by_id = nodes_get(nodes, made[i]->id);
		struct node *by_key = file(i % 2 ? i : MANY + i);

		assert_ptr_equal(by_id, made[i]);
		assert_ptr_equal(by_key, made[i]);
		node_put(nodes, by_id);
		node_put(nodes, by_key);
	}
	assert_int_equal(nodes_count(nodes), MANY + 1);
	for (ino_t i = 0; i < MANY; i++) {
		node_put(nodes, made[i]);
		assert_false(is_known(i % 2 ? i : MANY + i));
	}
	assert_int_equal(nodes_count(nodes), 1);
}

/* Threads: cmocka's asserts are for its own, so results are compared after. */

static pthread_barrier_t barrier;

static void *intern_cold(void *data)
{
	struct node_seed seed = file_seed(fs.root, "f", *(const ino_t *)data);
	struct node *node = NULL;
	bool made;

	pthread_barrier_wait(&barrier);
	if (nodes_intern(nodes, &seed, &node, &made)) {
		return NULL;
	}
	return node;
}

static void threads_make_one_node(void **state)
{
	pthread_t threads[THREADS];
	void *made[THREADS];

	(void)state;
	for (ino_t ino = 1; ino <= 50; ino++) {
		pthread_barrier_init(&barrier, NULL, THREADS);
		for (int i = 0; i < THREADS; i++) {
			assert_int_equal(pthread_create(&threads[i], NULL,
							intern_cold, &ino),
					 0);
		}
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], &made[i]);
		}
		pthread_barrier_destroy(&barrier);
		assert_non_null(made[0]);
		assert_int_equal(nodes_count(nodes), 2);
		for (int i = 0; i < THREADS; i++) {
			assert_ptr_equal(made[i], made[0]);
			node_put(nodes, made[i]);
		}
		assert_int_equal(nodes_count(nodes), 1);
	}
}

/* As the kernel's LOOKUP and FORGET race for one file. */
static void *lookup_and_forget(void *data)
{
	uint64_t wrong = 0;

	(void)data;
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 2000; i++) {
		struct node_seed seed = file_seed(fs.root, "f", i % 3);
		struct node *node;
		struct node *by_id;
		bool made;
		uint64_t id;

		if (nodes_intern(nodes, &seed, &node, &made)) {
			return data;
		}
		id = node->id;
		node_add_lookup(nodes, node);
		node_put(nodes, node);
		/* The lookup keeps it: its number must lead to it. */
		by_id = nodes_get(nodes, id);
		wrong += by_id != node;
		if (by_id) {
			node_forget(nodes, by_id, 1);
			node_put(nodes, by_id);
		}
	}
	return (void *)(uintptr_t)wrong;
}

static void lookup_and_forget_race(void **state)
{
	pthread_t threads[THREADS];

	(void)state;
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL,
						lookup_and_forget, &fs),
				 0);
	}
	for (int i = 0; i < THREADS; i++) {
		void *wrong;

		pthread_join(threads[i], &wrong);
		assert_null(wrong);
	}
	pthread_barrier_destroy(&barrier);
	assert_int_equal(nodes_count(nodes), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		NODE_TEST(root_has_the_id_of_fuse),
		NODE_TEST(one_file_has_one_node),
		NODE_TEST(types_are_told_apart),
		NODE_TEST(directory_is_parent_and_name),
		NODE_TEST(interning_takes_the_lowers_over_once),
		NODE_TEST(ids_are_never_used_again),
		NODE_TEST(lookups_hold_one_reference),
		NODE_TEST(forgetting_is_clamped),
		NODE_TEST(rekeying_keeps_the_id),
		NODE_TEST(unkeyed_is_found_by_id_only),
		NODE_TEST(moving_a_directory),
		NODE_TEST(moving_a_file_keeps_its_key),
		NODE_TEST(deep_chain_is_freed_by_its_last_child),
		NODE_TEST(tables_grow),
		NODE_TEST(threads_make_one_node),
		NODE_TEST(lookup_and_forget_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
