#include "ids.h"

#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "unit.h"

#define NOBODY 65534

static struct id_map parsed(const char *text)
{
	struct id_map map = {.squash = -1};

	assert_int_equal(ids_parse(&map, text), 0);
	return map;
}

static void without_ranges_nothing_changes(void **state)
{
	struct id_map map = {.squash = -1};

	(void)state;
	assert_int_equal(ids_shown(&map, 0), 0);
	assert_int_equal(ids_shown(&map, UINT32_MAX), UINT32_MAX);
	assert_int_equal(ids_on_disk(&map, 1000), 1000);
}

/* The order is fuse-overlayfs's and podman's: the disk's number first. */
static void the_disk_comes_first(void **state)
{
	struct id_map map = parsed("0:100000:10");

	(void)state;
	assert_int_equal(ids_shown(&map, 0), 100000);
	assert_int_equal(ids_shown(&map, 9), 100009);
	assert_int_equal(ids_shown(&map, 10), NOBODY);
	assert_int_equal(ids_shown(&map, 100003), NOBODY);
	assert_int_equal(ids_on_disk(&map, 100000), 0);
	assert_int_equal(ids_on_disk(&map, 100009), 9);
	assert_int_equal(ids_on_disk(&map, 100010), 100010);
	assert_int_equal(ids_on_disk(&map, 5), 5);
}

static void several_ranges(void **state)
{
	struct id_map map = parsed("0:1000:1:1:100000:999:1000:0:1");

	(void)state;
	assert_int_equal(map.count, 3);
	assert_int_equal(ids_shown(&map, 0), 1000);
	assert_int_equal(ids_shown(&map, 1), 100000);
	assert_int_equal(ids_shown(&map, 999), 100998);
	assert_int_equal(ids_shown(&map, 1000), 0);
	assert_int_equal(ids_shown(&map, 1001), NOBODY);
	assert_int_equal(ids_on_disk(&map, 0), 1000);
	assert_int_equal(ids_on_disk(&map, 1000), 0);
	assert_int_equal(ids_on_disk(&map, 100998), 999);
}

static void every_number_comes_back(void **state)
{
	struct id_map map = parsed("0:1000:1:1:100000:65535");

	(void)state;
	for (uint32_t disk = 0; disk < 65536; disk++) {
		uint32_t shown = ids_shown(&map, disk);

		assert_int_equal(ids_on_disk(&map, shown), disk);
	}
}

/* podman: "uidmapping=:0:1000:1:1:..." */
static void empty_pieces_are_passed_over(void **state)
{
	struct id_map map = parsed(":0:7:1::5:9:1:");

	(void)state;
	assert_int_equal(map.count, 2);
	assert_int_equal(ids_shown(&map, 5), 9);
}

static void parsing_again_replaces(void **state)
{
	struct id_map map = parsed("0:7:1:5:9:1");

	(void)state;
	assert_int_equal(ids_parse(&map, "3:4:1"), 0);
	assert_int_equal(map.count, 1);
	assert_int_equal(ids_shown(&map, 5), NOBODY);
}

static void what_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		"1",
		"1:2",
		"a:b:c",
		"1:2:3x",
		"1:2:3:4",
		"1:2:3:4:5",
		"-1:0:1",
		"0:-1:1",
		"0:0:-1",
		" 0:0:1",
		"+0:0:1",
		"0: 0:1",
		"0x1:0:1",
		"0:0:4294967296",
		"1.5:0:1",
		"4294967295:0:1",
		"0:4294967295:1",
		"4294967290:0:6",
		"0:4294967290:6",
		"99999999999999999999:0:1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct id_map map = {.squash = -1};

		if (ids_parse(&map, bad[i]) != -EINVAL) {
			fail_msg("'%s' was taken", bad[i]);
		}
	}
}

static void the_last_numbers(void **state)
{
	struct id_map map = parsed("4294967289:0:6");

	(void)state;
	assert_int_equal(ids_shown(&map, 4294967294), 5);
	assert_int_equal(ids_shown(&map, UINT32_MAX), NOBODY);
	map = parsed("0:0:4294967295");
	assert_int_equal(ids_shown(&map, 4294967294), 4294967294);
}

static void too_many_ranges(void **state)
{
	AUTO_BUF text = BUF_INIT;
	struct id_map map = {.squash = -1};

	(void)state;
	for (unsigned int i = 0; i < IDS_RANGES_MAX; i++) {
		buf_addf(&text, "%u:%u:1:", i, 1000 + i);
	}
	assert_int_equal(ids_parse(&map, text.data), 0);
	assert_int_equal(map.count, IDS_RANGES_MAX);
	buf_adds(&text, "500:600:1");
	assert_int_equal(ids_parse(&map, text.data), -E2BIG);
}

static void squashing_shows_one_and_keeps_the_disk(void **state)
{
	struct ids ids = IDS_INIT;
	struct stat st = {.st_uid = 5, .st_gid = 6};

	(void)state;
	ids_show(&ids, &st);
	assert_int_equal(st.st_uid, 5);
	assert_int_equal(st.st_gid, 6);
	ids.users.squash = 0;
	ids.groups.squash = 12;
	ids_show(&ids, &st);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_gid, 12);
	assert_int_equal(ids_on_disk(&ids.users, 1000), 1000);
	/* It goes before ranges. */
	assert_int_equal(ids_parse(&ids.users, "0:1000:10"), 0);
	assert_int_equal(ids_shown(&ids.users, 3), 0);
	assert_int_equal(ids_on_disk(&ids.users, 1003), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_ranges_nothing_changes),
		cmocka_unit_test(the_disk_comes_first),
		cmocka_unit_test(several_ranges),
		cmocka_unit_test(every_number_comes_back),
		cmocka_unit_test(empty_pieces_are_passed_over),
		cmocka_unit_test(parsing_again_replaces),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(the_last_numbers),
		cmocka_unit_test(too_many_ranges),
		cmocka_unit_test(squashing_shows_one_and_keeps_the_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
