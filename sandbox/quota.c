/* quota: what an execution may use, shown and changed while it lives. */
#include "quota.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "duration.h"
#include "err.h"
#include "failure.h"
#include "quota_count.h"
#include "usage.h"

#define RECOUNT_OPERAND "recount"

static void print_page(struct quota_page *page)
{
	const struct quota_limits limits = quota_page_limits(page);
	const struct quota_amount used = quota_page_used(page);
	char text[32];

	size_format(text, sizeof(text), used.bytes);
	printf("%-9s %s", "used", text);
	if (limits.bytes != QUOTA_NONE) {
		size_format(text, sizeof(text), (int64_t)limits.bytes);
		printf(" of %s", text);
	}
	printf(", %" PRId64, used.files);
	if (limits.files != QUOTA_NONE) {
		printf(" of %" PRIu64, limits.files);
	}
	fputs(" files\n", stdout);
	if (limits.min_free) {
		size_format(text, sizeof(text), (int64_t)limits.min_free);
		printf("%-9s %s of the scratch disk\n", "min free", text);
	}
}

/* The page's values can be negative for a moment, between two threads. */
static uint64_t at_least_0(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static void add_page(yyjson_mut_doc *doc, yyjson_mut_val *object,
		     struct quota_page *page)
{
	const struct quota_limits limits = quota_page_limits(page);
	const struct quota_amount used = quota_page_used(page);
	const struct quota_amount nameless = quota_page_nameless(page);
	yyjson_mut_val *item = yyjson_mut_obj_add_obj(doc, object, "used");

	yyjson_mut_obj_add_uint(doc, item, "bytes", at_least_0(used.bytes));
	yyjson_mut_obj_add_uint(doc, item, "files", at_least_0(used.files));
	yyjson_mut_obj_add_uint(doc, item, "nameless_bytes",
				at_least_0(nameless.bytes));
	yyjson_mut_obj_add_uint(doc, item, "nameless_files",
				at_least_0(nameless.files));
	item = yyjson_mut_obj_add_obj(doc, object, "quota");
	if (limits.bytes != QUOTA_NONE) {
		yyjson_mut_obj_add_uint(doc, item, "size", limits.bytes);
	}
	if (limits.files != QUOTA_NONE) {
		yyjson_mut_obj_add_uint(doc, item, "files", limits.files);
	}
	if (limits.min_free) {
		yyjson_mut_obj_add_uint(doc, item, "min_free", limits.min_free);
	}
}

void quota_add_json(yyjson_mut_doc *doc, yyjson_mut_val *object,
		    const struct entry *entry)
{
	struct quota_page *page;

	if (!quota_page_open(entry->execution.dir_fd, &page)) {
		add_page(doc, object, page);
		quota_page_close(page);
	}
}

void quota_print(const struct entry *entry)
{
	struct quota_page *page;

	if (!quota_page_open(entry->execution.dir_fd, &page)) {
		print_page(page);
		quota_page_close(page);
	}
}

static int recount(const struct entry *entry, struct quota_page *page)
{
	int error = entry->manifest_error
			    ? entry->manifest_error
			    : quota_recount(entry->execution.dir_fd,
					    &entry->manifest, page);

	if (error == -EAGAIN) {
		return failure(EXIT_TROUBLE,
			       "cannot count what '%s' uses: it changes too "
			       "fast",
			       entry->execution.id);
	}
	return error ? failure(EXIT_TROUBLE, "cannot count what '%s' uses: %s",
			       entry->execution.id, err_text(error))
		     : 0;
}

static int change(struct quota_page *page, const char *text)
{
	struct quota_limits limits = quota_page_limits(page);
	const char *bad;

	if (quota_parse(text, &limits, &bad)) {
		return failure(EXIT_USAGE,
			       "bad quota '%s': see legato-sandbox(1)", bad);
	}
	quota_page_set_limits(page, &limits);
	return 0;
}

static int run_quota(const struct entry *entry, const char *operand)
{
	struct quota_page *page;
	int error = quota_page_open(entry->execution.dir_fd, &page);
	int code = 0;

	if (error) {
		return failure(EXIT_TROUBLE,
			       "cannot read the quota of '%s': %s",
			       entry->execution.id, err_text(error));
	}
	if (operand) {
		code = strcmp(operand, RECOUNT_OPERAND) == 0
			       ? recount(entry, page)
			       : change(page, operand);
	}
	if (!code) {
		print_page(page);
	}
	quota_page_close(page);
	return code;
}

int verb_quota(int argc, char **argv)
{
	struct verb_options options;
	struct entry entry;
	int code = verb_options_parse(&options, argc, argv, 0, 1, 2);

	if (!code) {
		int error =
			entry_open(&entry, options.scratch_dir, argv[optind]);

		if (error) {
			code = entry_failure(argv[optind], error);
		} else {
			code = run_quota(&entry, argv[optind + 1]);
			entry_release(&entry);
		}
	}
	free(options.scratch_dir);
	return code;
}
