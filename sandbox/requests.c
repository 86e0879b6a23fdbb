#include "requests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "stats_page.h"

#define NS_PER_US 1000U

struct request_kind {
	unsigned int opcode;
	struct stats_row row;
};

static int more_first(const void *a, const void *b)
{
	const struct request_kind *x = a;
	const struct request_kind *y = b;

	return x->row.count < y->row.count   ? 1
	       : x->row.count > y->row.count ? -1
	       : x->opcode > y->opcode       ? 1
					     : -1;
}

static int read_kinds(const struct execution *execution,
		      struct request_kind kinds[STATS_OPCODES],
		      size_t *ret_count)
{
	struct stats_row rows[STATS_OPCODES];
	int error = stats_page_read(execution->dir_fd, rows);

	*ret_count = 0;
	for (unsigned int i = 0; !error && i < STATS_OPCODES; i++) {
		if (rows[i].count) {
			kinds[(*ret_count)++] = (struct request_kind){
				.opcode = i, .row = rows[i]};
		}
	}
	qsort(kinds, *ret_count, sizeof(*kinds), more_first);
	return error;
}

static const char *name_of(const struct request_kind *kind)
{
	const char *name = stats_opcode_name(kind->opcode);

	return name ? name : "(unknown)";
}

static uint64_t mean_us(const struct stats_row *row)
{
	return row->total_ns / row->count / NS_PER_US;
}

int requests_print(const struct execution *execution)
{
	struct request_kind kinds[STATS_OPCODES];
	uint64_t all = 0;
	size_t count;
	int error = read_kinds(execution, kinds, &count);

	if (error) {
		return error;
	}
	printf("%-16s %10s %9s %9s %9s %9s\n", "request", "count", "failed",
	       "mean us", "50% <", "99% <");
	for (size_t i = 0; i < count; i++) {
		const struct stats_row *row = &kinds[i].row;

		printf("%-16s %10" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
		       " %9" PRIu64 "\n",
		       name_of(&kinds[i]), row->count, row->failed,
		       mean_us(row), stats_row_quantile(row, 0.5),
		       stats_row_quantile(row, 0.99));
		all += row->count;
	}
	printf("%-16s %10" PRIu64 "\n", "all", all);
	return 0;
}

int requests_to_json(const struct execution *execution, yyjson_mut_doc *doc,
		     yyjson_mut_val **ret_array)
{
	struct request_kind kinds[STATS_OPCODES];
	yyjson_mut_val *array = yyjson_mut_arr(doc);
	size_t count;
	int error = read_kinds(execution, kinds, &count);

	for (size_t i = 0; i < count; i++) {
		const struct stats_row *row = &kinds[i].row;
		yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
		yyjson_mut_val *buckets;

		yyjson_mut_obj_add_str(doc, object, "request",
				       name_of(&kinds[i]));
		yyjson_mut_obj_add_uint(doc, object, "count", row->count);
		yyjson_mut_obj_add_uint(doc, object, "failed", row->failed);
		yyjson_mut_obj_add_uint(doc, object, "total_ns", row->total_ns);
		/* [n]: below 2^n microseconds */
		buckets = yyjson_mut_obj_add_arr(doc, object, "buckets");
		for (unsigned int b = 0; b < STATS_BUCKETS; b++) {
			yyjson_mut_arr_add_uint(doc, buckets, row->buckets[b]);
		}
	}
	*ret_array = array;
	return error;
}
