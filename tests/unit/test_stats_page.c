#include "stats_page.h"

#include <fcntl.h>
#include <string.h>

#include "unit.h"

#define US UINT64_C(1000) /* nanoseconds */

enum {
	LOOKUP = 1,
	STATX = 52
};

static int here = AT_FDCWD;

static void counts_are_added_up_over_threads(void **state)
{
	struct stats_row rows[STATS_OPCODES];
	struct stats_page *page;

	(void)state;
	assert_int_equal(stats_page_create(&page, here), 0);
	for (unsigned int thread = 0; thread < 20; thread++) {
		stats_page_count(page, thread, LOOKUP, thread % 2, 3 * US);
	}
	stats_page_count(page, 1, STATX, false, 0);
	stats_page_count(page, 1, 4096, false, 1); /* none of ours */
	assert_int_equal(stats_page_read(here, rows), 0);
	assert_int_equal(rows[LOOKUP].count, 20);
	assert_int_equal(rows[LOOKUP].failed, 10);
	assert_int_equal(rows[LOOKUP].total_ns, 60 * US);
	assert_int_equal(rows[LOOKUP].buckets[2], 20); /* 2 to 4 us */
	assert_int_equal(rows[STATX].count, 1);
	assert_int_equal(rows[STATX].buckets[0], 1);
	assert_int_equal(rows[0].count, 1);
	assert_int_equal(rows[2].count, 0);
	stats_page_release(page);
	assert_int_equal(stats_page_read(here, rows), 0);
	assert_int_equal(rows[LOOKUP].count, 20);
}

static void making_it_again_counts_anew(void **state)
{
	struct stats_row rows[STATS_OPCODES];
	struct stats_page *page;

	(void)state;
	assert_int_equal(stats_page_create(&page, here), 0);
	stats_page_count(page, 0, LOOKUP, false, US);
	stats_page_release(page);
	assert_int_equal(stats_page_create(&page, here), 0);
	assert_int_equal(stats_page_read(here, rows), 0);
	assert_int_equal(rows[LOOKUP].count, 0);
	stats_page_release(page);
}

static void what_is_no_page_is_refused(void **state)
{
	static const char other[1 << 20] = "another file";
	struct stats_row rows[STATS_OPCODES];
	struct stats_page *page;
	size_t size;
	char *data;

	(void)state;
	assert_int_equal(stats_page_create(&page, here), 0);
	stats_page_release(page);
	data = temp_read(STATS_FILE, &size);
	temp_write(STATS_FILE, data, size - 1);
	assert_int_equal(stats_page_read(here, rows), -EBADMSG);
	temp_write(STATS_FILE, "", 0);
	assert_int_equal(stats_page_read(here, rows), -EBADMSG);
	temp_write(STATS_FILE, other, sizeof(other));
	assert_int_equal(stats_page_read(here, rows), -EBADMSG);
	data[8]++; /* the version */
	temp_write(STATS_FILE, data, size);
	assert_int_equal(stats_page_read(here, rows), -EPROTONOSUPPORT);
	free(data);
}

static void quantiles_are_the_ends_of_buckets(void **state)
{
	struct stats_row row = {.count = 0};

	(void)state;
	assert_int_equal(stats_row_quantile(&row, 0.5), 0);
	row.count = 100;
	row.buckets[1] = 50;
	row.buckets[5] = 49;
	row.buckets[STATS_BUCKETS - 1] = 1;
	assert_int_equal(stats_row_quantile(&row, 0.5), 2);
	assert_int_equal(stats_row_quantile(&row, 0.51), 32);
	assert_int_equal(stats_row_quantile(&row, 0.99), 32);
	assert_int_equal(stats_row_quantile(&row, 1), 1 << 19);
}

static void requests_have_fuse_names(void **state)
{
	(void)state;
	assert_string_equal(stats_opcode_name(LOOKUP), "LOOKUP");
	assert_string_equal(stats_opcode_name(44), "READDIRPLUS");
	assert_null(stats_opcode_name(0));
	assert_null(stats_opcode_name(STATS_OPCODES));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_added_up_over_threads),
		cmocka_unit_test(making_it_again_counts_anew),
		cmocka_unit_test(what_is_no_page_is_refused),
		cmocka_unit_test(quantiles_are_the_ends_of_buckets),
		cmocka_unit_test(requests_have_fuse_names),
	};

	return cmocka_run_group_tests(tests, temp_setup, temp_teardown);
}
