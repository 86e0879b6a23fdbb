#include "xattr.h"

#include <string.h>

#include "unit.h"

static const char *const ordinary[] = {
	"user.mime_type",  "user.overlay",
	"user.overlayfoo", "user.legato",
	"user.legato2.x",  "security.capability",
	"trusted.overlay", "system.posix_acl_access",
	"user.\n\377",
};

static const char *const reserved[] = {
	"user.overlay.opaque",  "user.overlay.",
	"user.legato.origin",   "trusted.overlay.opaque",
	"user.overlay.overlay", "user.overlay.overlayfoo",
};

static void private_is_by_prefix_with_its_dot(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++) {
		assert_false(xattr_is_private(ordinary[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		assert_true(xattr_is_private(reserved[i]));
	}
}

static void round_trip(const char *name)
{
	char disk[XATTR_NAME_BYTES];
	char storage[XATTR_NAME_BYTES];

	assert_int_equal(xattr_to_disk(name, disk), 0);
	assert_false(xattr_is_private(disk));
	assert_string_equal(xattr_to_view(disk, storage), name);
}

static void every_name_comes_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ordinary); i++) {
		round_trip(ordinary[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		round_trip(reserved[i]);
	}
	/* what a view over a view writes */
	round_trip("user.overlay.overlay.opaque");
	round_trip("user.overlay.overlay.overlay.opaque");
	round_trip("user.legato.legato.origin");
}

static void escapes_as_the_kernel_does(void **state)
{
	char disk[XATTR_NAME_BYTES];

	(void)state;
	assert_int_equal(xattr_to_disk("user.overlay.opaque", disk), 0);
	assert_string_equal(disk, "user.overlay.overlay.opaque");
	assert_int_equal(xattr_to_disk("user.mime_type", disk), 0);
	assert_string_equal(disk, "user.mime_type");
}

static void private_names_have_no_view(void **state)
{
	char storage[XATTR_NAME_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reserved); i++) {
		assert_null(xattr_to_view(reserved[i], storage));
	}
}

static void longest_names(void **state)
{
	char disk[XATTR_NAME_BYTES];
	char storage[XATTR_NAME_BYTES];
	char name[300];

	(void)state;
	memset(name, 'n', sizeof(name));
	memcpy(name, "user.", 5);
	name[255] = '\0';
	assert_int_equal(xattr_to_disk(name, disk), 0);
	assert_string_equal(xattr_to_view(disk, storage), name);
	name[255] = 'n';
	name[256] = '\0';
	assert_int_equal(xattr_to_disk(name, disk), -ERANGE);

	memcpy(name, "user.overlay.", 13);
	name[255] = '\0';
	assert_int_equal(xattr_to_disk(name, disk), -ERANGE);
	name[255 - 8] = '\0';
	assert_int_equal(xattr_to_disk(name, disk), 0);
	assert_int_equal(strlen(disk), 255);
	assert_string_equal(xattr_to_view(disk, storage), name);
}

#define LIST(text) text, sizeof(text)

static void expect_list(const char *disk, size_t size, const char *view,
			size_t view_size)
{
	char list[256];

	memcpy(list, disk, size);
	assert_int_equal(xattr_filter_list(list, size), view_size);
	assert_memory_equal(list, view, view_size);
}

static void lists_are_filtered_in_place(void **state)
{
	(void)state;
	expect_list("", 0, "", 0);
	expect_list(LIST("user.a\0user.b"), LIST("user.a\0user.b"));
	expect_list(LIST("user.overlay.opaque"), "", 0);
	expect_list(LIST("user.legato.origin\0user.a\0user.overlay.x"),
		    LIST("user.a"));
	expect_list(LIST("user.overlay.overlay.opaque\0user.legato.origin\0"
			 "user.z"),
		    LIST("user.overlay.opaque\0user.z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(private_is_by_prefix_with_its_dot),
		cmocka_unit_test(every_name_comes_back),
		cmocka_unit_test(escapes_as_the_kernel_does),
		cmocka_unit_test(private_names_have_no_view),
		cmocka_unit_test(longest_names),
		cmocka_unit_test(lists_are_filtered_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
