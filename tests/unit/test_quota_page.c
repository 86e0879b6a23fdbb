#include "quota_page.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "quota_count.h"
#include "unit.h"

static const struct quota_limits limits = {
	.bytes = 1 << 20, .files = 100, .min_free = 7};

static struct quota_page *make_page(void)
{
	struct quota_page *page;

	assert_int_equal(quota_page_make(AT_FDCWD, &limits, &page), 0);
	return page;
}

static void values_stay(void **state)
{
	struct quota_page *page;
	struct quota_limits read;

	(void)state;
	page = make_page();
	quota_page_add(page, 4096, 2);
	quota_page_add_nameless(page, 512, 1);
	quota_page_close(page);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), 0);
	read = quota_page_limits(page);
	assert_memory_equal(&read, &limits, sizeof(limits));
	assert_int_equal(quota_page_used(page).bytes, 4096);
	assert_int_equal(quota_page_used(page).files, 2);
	quota_page_forget_nameless(page);
	assert_int_equal(quota_page_used(page).bytes, 4096 - 512);
	assert_int_equal(quota_page_used(page).files, 1);
	assert_int_equal(quota_page_nameless(page).bytes, 0);
	assert_int_equal(quota_page_nameless(page).files, 0);
	quota_page_close(page);
}

/* Killed in the next instruction, what was added is there. */
static void it_survives_a_kill(void **state)
{
	struct quota_page *page;
	int status;
	pid_t pid;

	(void)state;
	page = make_page();
	pid = fork();
	if (pid == 0) {
		quota_page_add(page, 123, 4);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	quota_page_close(page);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), 0);
	assert_int_equal(quota_page_used(page).bytes, 123);
	assert_int_equal(quota_page_used(page).files, 4);
	quota_page_close(page);
}

/* Another process's limits are the daemon's at once. */
static void limits_are_shared(void **state)
{
	static const struct quota_limits more = {
		.bytes = QUOTA_NONE, .files = 1, .min_free = 0};
	struct quota_page *page;
	struct quota_page *other;

	(void)state;
	page = make_page();
	assert_int_equal(quota_page_open(AT_FDCWD, &other), 0);
	quota_page_set_limits(other, &more);
	assert_true(quota_page_limits(page).bytes == QUOTA_NONE);
	assert_true(quota_page_limits(page).files == 1);
	quota_page_close(other);
	quota_page_close(page);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), 0);
	quota_page_close(page);
}

static void flip(size_t offset)
{
	size_t size;
	char *bytes = temp_read(QUOTA_PAGE_FILE, &size);

	assert_int_equal(size, sizeof(struct quota_page));
	bytes[offset] = (char)(bytes[offset] ^ 0x80);
	temp_write(QUOTA_PAGE_FILE, bytes, size);
	free(bytes);
}

static void broken_ones_are_told(void **state)
{
	static const size_t offsets[] = {
		0,
		offsetof(struct quota_page, check),
		offsetof(struct quota_page, limit_bytes),
		offsetof(struct quota_page, limit_files) + 3,
		offsetof(struct quota_page, min_free),
		offsetof(struct quota_page, limits_check),
		offsetof(struct quota_page, used_bytes) + 7,
		offsetof(struct quota_page, used_files) + 7,
	};
	struct quota_page *page;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		quota_page_close(make_page());
		flip(offsets[i]);
		if (quota_page_open(AT_FDCWD, &page) != -EBADMSG) {
			fail_msg("a flipped byte at %zu", offsets[i]);
		}
	}
}

static void torn_ones_are_told(void **state)
{
	struct quota_page *page;

	(void)state;
	assert_int_equal(quota_page_open(AT_FDCWD, &page), -ENOENT);
	for (size_t size = 0; size < sizeof(*page); size += 8) {
		quota_page_close(make_page());
		assert_int_equal(truncate(QUOTA_PAGE_FILE, (off_t)size), 0);
		assert_int_equal(quota_page_open(AT_FDCWD, &page), -EBADMSG);
	}
	assert_int_equal(truncate(QUOTA_PAGE_FILE, 8192), 0);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), -EBADMSG);
	assert_int_equal(unlink(QUOTA_PAGE_FILE), 0);
	assert_int_equal(mkfifo(QUOTA_PAGE_FILE, 0600), 0);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), -EBADMSG);
	assert_int_equal(unlink(QUOTA_PAGE_FILE), 0);
	assert_int_equal(symlink("elsewhere", QUOTA_PAGE_FILE), 0);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), -ELOOP);
}

static void another_version_is_left_alone(void **state)
{
	struct quota_page *page;
	char *before;
	char *after;
	size_t size;

	(void)state;
	quota_page_close(make_page());
	flip(offsetof(struct quota_page, version));
	before = temp_read(QUOTA_PAGE_FILE, &size);
	assert_int_equal(quota_page_open(AT_FDCWD, &page), -EPROTONOSUPPORT);
	after = temp_read(QUOTA_PAGE_FILE, &size);
	assert_memory_equal(before, after, size);
	free(before);
	free(after);
}

static void count_into(struct quota_page *page)
{
	struct manifest manifest;

	manifest_init(&manifest);
	assert_int_equal(
		manifest_add_view(&manifest, "a", MANIFEST_OVERLAY, "/", NULL),
		0);
	assert_int_equal(manifest_add_view(&manifest, "none", MANIFEST_SCRATCH,
					   "/", NULL),
			 0);
	assert_int_equal(quota_recount(AT_FDCWD, &manifest, page), 0);
	manifest_release(&manifest);
}

static int64_t bytes_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return (int64_t)st.st_blocks * 512;
}

static void a_count_is_of_inodes(void **state)
{
	static const char *const dirs[] = {"views",         "views/a",
					   "views/a/upper", "views/a/work",
					   "views/a/links", "views/a/upper/d"};
	char data[10000] = "x";
	struct quota_page *page = make_page();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		assert_int_equal(mkdir(dirs[i], 0700), 0);
	}
	temp_write("views/a/work/not-counted", data, sizeof(data));
	temp_write("views/a/upper/f", data, sizeof(data));
	temp_write("views/a/upper/d/g", data, 1);
	assert_int_equal(link("views/a/upper/f", "views/a/upper/d/f2"), 0);
	assert_int_equal(link("views/a/upper/f", "views/a/links/key"), 0);
	assert_int_equal(symlink("x", "views/a/links/key.n"), 0);
	quota_page_add(page, 5000000, 0);
	quota_page_add_nameless(page, 4096, 1);
	count_into(page);
	/* upper, links, d, f, g, key.n, and the nameless one. */
	assert_int_equal(quota_page_used(page).files, 7);
	assert_int_equal(quota_page_used(page).bytes,
			 4096 + bytes_of("views/a/upper") +
				 bytes_of("views/a/links") +
				 bytes_of("views/a/upper/d") +
				 bytes_of("views/a/upper/f") +
				 bytes_of("views/a/upper/d/g") +
				 bytes_of("views/a/links/key.n"));
	quota_page_close(page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIT_TEST_IN_FOLDER(values_stay),
		UNIT_TEST_IN_FOLDER(it_survives_a_kill),
		UNIT_TEST_IN_FOLDER(limits_are_shared),
		UNIT_TEST_IN_FOLDER(broken_ones_are_told),
		UNIT_TEST_IN_FOLDER(torn_ones_are_told),
		UNIT_TEST_IN_FOLDER(another_version_is_left_alone),
		UNIT_TEST_IN_FOLDER(a_count_is_of_inodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
