#include "manifest.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"

static int here = AT_FDCWD;

static void fill(struct manifest *manifest)
{
	static const char *const command[] = {"make", "", "a b\n\"\377"};

	manifest_init(manifest);
	manifest->id = strdup("20261129-213501-kfqx");
	manifest->name = strdup("friendly");
	manifest->role = strdup("review");
	manifest->checkout = strdup("/home/me/gr\303\274n \377\n");
	manifest->command = calloc(4, sizeof(char *));
	for (size_t i = 0; i < 3; i++) {
		manifest->command[i] = strdup(command[i]);
	}
	manifest->created_ns = 1796000000123456789;
	manifest->ended_ns = 1796000001000000001;
	manifest->exit_code = 137;
	manifest->quota.bytes = INT64_MAX;
	manifest->quota.min_free = 4096;
	assert_int_equal(manifest_add_view(manifest, "work", MANIFEST_OVERLAY,
					   "/base \"\\", "/base \"\\"),
			 0);
	assert_int_equal(manifest_add_mask(manifest, "work", ".env"), 0);
	assert_int_equal(manifest_add_mask(manifest, "work", "a b/\377/c"), 0);
	assert_int_equal(manifest_add_mask(manifest, "none", "a"), -ENOENT);
	assert_int_equal(manifest_add_mask(manifest, "work", "../a"), -EINVAL);
	assert_int_equal(manifest_add_view(manifest, "tmp", MANIFEST_SCRATCH,
					   "/x/base", NULL),
			 0);
}

static void round_trip(void **state)
{
	struct manifest out;
	struct manifest in;

	(void)state;
	fill(&out);
	assert_int_equal(manifest_write(&out, here), 0);
	assert_int_equal(manifest_read(&in, here), 0);
	assert_string_equal(in.id, out.id);
	assert_string_equal(in.name, out.name);
	assert_string_equal(in.role, out.role);
	assert_string_equal(in.checkout, out.checkout);
	for (size_t i = 0; i < 3; i++) {
		assert_string_equal(in.command[i], out.command[i]);
	}
	assert_null(in.command[3]);
	assert_true(in.created_ns == out.created_ns);
	assert_true(in.ended_ns == out.ended_ns);
	assert_int_equal(in.exit_code, 137);
	assert_true(in.quota.bytes == INT64_MAX);
	assert_true(in.quota.files == QUOTA_NONE);
	assert_true(in.quota.min_free == 4096);
	assert_int_equal(in.n_views, 2);
	assert_string_equal(manifest_view(&in, "work")->base, "/base \"\\");
	assert_string_equal(manifest_view(&in, "work")->mount_at, "/base \"\\");
	assert_int_equal(manifest_view(&in, "work")->kind, MANIFEST_OVERLAY);
	assert_int_equal(manifest_view(&in, "tmp")->kind, MANIFEST_SCRATCH);
	assert_null(manifest_view(&in, "tmp")->mount_at);
	assert_null(manifest_view(&in, "tmp")->masks);
	assert_string_equal(manifest_view(&in, "work")->masks[0], ".env");
	assert_string_equal(manifest_view(&in, "work")->masks[1], "a b/\377/c");
	assert_null(manifest_view(&in, "work")->masks[2]);
	assert_null(manifest_view(&in, "none"));
	manifest_release(&in);
	manifest_release(&in);
	manifest_release(&out);
}

static void a_running_one_has_no_end(void **state)
{
	struct manifest out;
	struct manifest in;
	char *text;
	size_t size;

	(void)state;
	manifest_init(&out);
	out.id = strdup("x");
	assert_int_equal(manifest_write(&out, here), 0);
	text = temp_read(MANIFEST_FILE, &size);
	assert_null(strstr(text, "ended_ns"));
	assert_null(strstr(text, "exit_code"));
	free(text);
	assert_int_equal(manifest_read(&in, here), 0);
	assert_true(in.ended_ns == 0);
	assert_null(in.name);
	assert_null(in.command);
	assert_false(quota_limits_any(&in.quota));
	assert_int_equal(in.n_views, 0);
	manifest_release(&in);
	manifest_release(&out);
}

#define VIEWS_NONE    ",\"views\":[]}"
#define VIEW(members) "{\"format\":1,\"id\":\"x\",\"views\":[{" members "}]}"

#define OVERLAY_WITH(members)                                                  \
	VIEW("\"name\":\"w\",\"kind\":\"overlay\",\"base\":\"/b\"," members)

static void hostile_content_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"null",
		"[]",
		"7",
		"\"text\"",
		"{}",
		"{\"format\":\"1\",\"id\":\"x\"" VIEWS_NONE,
		"{\"format\":1" VIEWS_NONE,
		"{\"format\":1,\"id\":7" VIEWS_NONE,
		"{\"format\":1,\"id\":\"a\\u0000b\"" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\"}",
		"{\"format\":1,\"id\":\"x\",\"views\":{}}",
		"{\"format\":1,\"id\":\"x\",\"views\":[7]}",
		"{\"format\":1,\"id\":\"x\",\"command\":\"c\"" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\",\"command\":[1]" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\",\"command\":[\"a\","
		"null]" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\",\"checkout\":[]" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\"" VIEWS_NONE " trailing",
		"{\"format\":1,\"id\":\"x\",\"quota\":[]" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\",\"quota\":{\"size\":"
		"\"1G\"}" VIEWS_NONE,
		"{\"format\":1,\"id\":\"x\",\"quota\":{\"files\":-"
		"1}" VIEWS_NONE,
		VIEW(""),
		VIEW("\"name\":\"w\",\"kind\":\"overlay\""),
		VIEW("\"name\":\"w\",\"base\":\"/b\""),
		VIEW("\"name\":\"w\",\"kind\":\"other\",\"base\":\"/b\""),
		VIEW("\"name\":\"w\",\"kind\":\"overlay\",\"base\":\"rel\""),
		VIEW("\"name\":\"\",\"kind\":\"overlay\",\"base\":\"/b\""),
		VIEW("\"name\":\"..\",\"kind\":\"overlay\",\"base\":\"/b\""),
		VIEW("\"name\":\"a/b\",\"kind\":\"overlay\",\"base\":\"/b\""),
		VIEW("\"name\":\"w\",\"kind\":\"overlay\",\"base\":\"/b\"},"
		     "{\"name\":\"w\",\"kind\":\"overlay\",\"base\":\"/b\""),
		OVERLAY_WITH("\"masks\":{}"),
		OVERLAY_WITH("\"masks\":[7]"),
		OVERLAY_WITH("\"masks\":[\"\"]"),
		OVERLAY_WITH("\"masks\":[\"/a\"]"),
		OVERLAY_WITH("\"masks\":[\"a/\"]"),
		OVERLAY_WITH("\"masks\":[\"a//b\"]"),
		OVERLAY_WITH("\"masks\":[\"a/../b\"]"),
		OVERLAY_WITH("\"masks\":[\"a\\u0000b\"]"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct manifest manifest;

		temp_write(MANIFEST_FILE, texts[i], strlen(texts[i]));
		if (manifest_read(&manifest, here) != -EBADMSG) {
			fail_msg("not refused: %s", texts[i]);
		}
	}
}

static void wrong_numbers_are_refused_or_zero(void **state)
{
	static const char text[] =
		"{\"format\":1,\"id\":\"x\",\"created_ns\":\"soon\","
		"\"ended_ns\":1e300,\"exit_code\":[]" VIEWS_NONE;
	struct manifest manifest;
	int error;

	(void)state;
	temp_write(MANIFEST_FILE, text, strlen(text));
	error = manifest_read(&manifest, here);
	assert_true(error == 0 || error == -EBADMSG);
	if (!error) {
		assert_true(manifest.created_ns == 0);
		manifest_release(&manifest);
	}
}

static void deep_nesting_does_not_overflow(void **state)
{
	enum {
		DEPTH = 1000000
	};
	char *text = malloc(DEPTH);
	struct manifest manifest;

	(void)state;
	memset(text, '[', DEPTH);
	temp_write(MANIFEST_FILE, text, DEPTH);
	free(text);
	assert_int_equal(manifest_read(&manifest, here), -EBADMSG);
}

static void another_format_is_left_alone(void **state)
{
	static const char text[] = "{\"format\":2,\"id\":[],\"new\":true}";
	struct manifest manifest;
	char *after;
	size_t size;

	(void)state;
	temp_write(MANIFEST_FILE, text, strlen(text));
	assert_int_equal(manifest_read(&manifest, here), -EPROTONOSUPPORT);
	after = temp_read(MANIFEST_FILE, &size);
	assert_string_equal(after, text);
	free(after);
}

static void not_a_file(void **state)
{
	struct manifest manifest;

	(void)state;
	assert_int_equal(manifest_read(&manifest, here), -ENOENT);
	temp_write("elsewhere", "{}", 2);
	assert_int_equal(symlink("elsewhere", MANIFEST_FILE), 0);
	assert_int_equal(manifest_read(&manifest, here), -ELOOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_IN_FOLDER(round_trip),
		UNIT_TEST_IN_FOLDER(a_running_one_has_no_end),
		UNIT_TEST_IN_FOLDER(hostile_content_is_refused),
		UNIT_TEST_IN_FOLDER(wrong_numbers_are_refused_or_zero),
		UNIT_TEST_IN_FOLDER(deep_nesting_does_not_overflow),
		UNIT_TEST_IN_FOLDER(another_format_is_left_alone),
		UNIT_TEST_IN_FOLDER(not_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
