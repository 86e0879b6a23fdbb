/*
 * What legato-diff tells of a journal: which changes, as lines, as a tree.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "history.h"
#include "index.h"
#include "journal_format.h"
#include "journal_words.h"
#include "log_line.h"
#include "log_select.h"
#include "log_tree.h"
#include "unit.h"

#define SECOND_NS INT64_C(1000000000)

static struct manifest manifest;
static struct history history;
static struct log_lines lines;

#define PROCESS(n, above, text)                                                \
	{                                                                      \
		.number = (n), .parent = (above), .pid = 100 + (n), .exe = "", \
		.command = (text), .command_size = sizeof(text), .cwd = "/"    \
	}

static const struct journal_process processes[] = {
	PROCESS(1, 0, "init"),
	PROCESS(2, 1, "make\0-j2"),
	PROCESS(3, 2, "/usr/bin/cc\0-c\0main.c"),
	PROCESS(4, 2, "mv\0b \033[31m\0c"),
};

static struct journal_record make_record(uint64_t sequence, uint64_t process,
					 enum journal_op op, const char *path,
					 const char *path2)
{
	return (struct journal_record){
		.sequence = sequence,
		.wall_ns = (int64_t)sequence * SECOND_NS,
		.last_wall_ns = (int64_t)sequence * SECOND_NS,
		.op = op,
		.state = JOURNAL_DONE,
		.view = "work",
		.path = path,
		.path2 = path2,
		.process = process,
		.offset = -1,
		.bytes = op == JOURNAL_WRITE ? 2048 : -1,
		.size_before = -1,
		.size_after = -1,
		.mode_before = -1,
		.mode_after = op == JOURNAL_CHMOD ? 0100755 : -1,
		.count = op == JOURNAL_WRITE ? 3 : 1,
	};
}

static void fold(void)
{
	struct journal_record records[] = {
		make_record(1, 3, JOURNAL_CREATE, "main.o.tmp", NULL),
		make_record(2, 3, JOURNAL_WRITE, "main.o.tmp", NULL),
		make_record(3, 3, JOURNAL_RENAME, "main.o.tmp", "main.o"),
		make_record(4, 3, JOURNAL_CREATE, "x.s", NULL),
		make_record(5, 3, JOURNAL_UNLINK, "x.s", NULL),
		make_record(6, 4, JOURNAL_RENAME, "b \033[31m", "c"),
		make_record(7, 2, JOURNAL_CHMOD, "run", NULL),
		make_record(8, 2, JOURNAL_UNLINK, "none", NULL),
		make_record(9, 2, JOURNAL_UNLINK, "gone", NULL),
		make_record(10, 2, JOURNAL_SETXATTR, "run", "user.x"),
	};
	struct index *index = NULL;
	int dirfd;

	records[7].result = -ENOENT;
	records[9].view = "tmp";
	records[9].state = JOURNAL_BEGUN;
	assert_int_equal(mkdir(JOURNAL_DIR, 0700), 0);
	dirfd = open(JOURNAL_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dirfd >= 0);
	assert_int_equal(index_open(&index, dirfd, INDEX_WRITE), 0);
	assert_int_equal(index_fold(index, processes, ARRAY_SIZE(processes),
				    records, ARRAY_SIZE(records)),
			 0);
	index_close(index);
	close(dirfd);
}

static int setup(void **state)
{
	struct execution execution = EXECUTION_INIT;

	(void)temp_setup(state);
	setenv("TZ", "UTC", 1);
	tzset();
	manifest_init(&manifest);
	assert_int_equal(manifest_add_view(&manifest, "work", MANIFEST_OVERLAY,
					   "/src", "/src"),
			 0);
	assert_int_equal(manifest_add_view(&manifest, "tmp", MANIFEST_SCRATCH,
					   "/base", "/tmp"),
			 0);
	fold();
	execution.dir_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(history_open(&history, &execution), 0);
	close(execution.dir_fd);
	lines = (struct log_lines){.manifest = &manifest, .history = &history};
	return 0;
}

static int teardown(void **state)
{
	history_close(&history);
	manifest_release(&manifest);
	return temp_teardown(state);
}

struct output {
	struct log_select select;
	struct log_tree tree;
	bool json, as_tree;
};

static int take(void *data, const struct journal_record *record)
{
	struct output *output = data;

	if (!log_select_takes(&output->select, &manifest, &history, record)) {
		return 0;
	}
	if (output->as_tree) {
		return log_tree_add(&output->tree, &lines, record);
	}
	if (output->json) {
		return log_line_json(&lines, record);
	}
	log_line_text(&lines, record);
	return 0;
}

static void assert_output(struct output *output, const char *wanted)
{
	AUTO_FREE char *text = NULL;
	size_t size;

	lines.out = open_memstream(&text, &size);
	lines.day = 0;
	assert_int_equal(history_read(&history, 0, take, output), 0);
	assert_int_equal(history.database_error, 0);
	if (output->as_tree) {
		assert_int_equal(log_tree_write(&output->tree, &lines, 0), 0);
		log_tree_release(&output->tree);
	}
	fclose(lines.out);
	assert_string_equal(text, wanted);
}

static void lines_for_people(void **state)
{
	struct output output = {.select = LOG_SELECT_ALL};

	(void)state;
	output.select.since_ns = 2 * SECOND_NS;
	output.select.until_ns = 3 * SECOND_NS;
	assert_output(&output,
		      "-- 1970-01-01\n"
		      "00:00:02.000 M write       main.o.tmp  2.0 KiB, 3 calls"
		      "                 cc[103]\n"
		      "00:00:03.000 R rename      main.o.tmp -> main.o"
		      "                         cc[103]\n");
	output.select.since_ns = 6 * SECOND_NS;
	output.select.until_ns = 8 * SECOND_NS;
	assert_output(&output, "-- 1970-01-01\n"
			       "00:00:06.000 R rename      \"b \\033[31m\" -> c"
			       "                            mv[104]\n"
			       "00:00:07.000 M chmod       run  0755"
			       "                                    make[102]\n"
			       "00:00:08.000 D unlink      none  = ENOENT"
			       "                               make[102]\n");
	output.select.since_ns = 10 * SECOND_NS;
	output.select.until_ns = INT64_MAX;
	assert_output(&output, "-- 1970-01-01\n"
			       "00:00:10.000 M setxattr    /tmp/run user.x"
			       "  unfinished                  make[102]\n");
}

static void a_tree_of_processes(void **state)
{
	struct output output = {.select = LOG_SELECT_ALL, .as_tree = true};

	(void)state;
	assert_output(&output, "make[102] make -j2\n"
			       "    M run\n"
			       "    D gone\n"
			       "    M /tmp/run\n"
			       "  cc[103] /usr/bin/cc -c main.c\n"
			       "      A main.o  2.0 KiB\n"
			       "      (2 temporary)\n"
			       "  mv[104] mv 'b ^[[31m' c\n"
			       "      R \"b \\033[31m\" -> c\n");
}

/* How many lines a selection has, in JSON: one each. */
static void assert_takes(const struct log_select *select, size_t wanted)
{
	struct output output = {.select = *select, .json = true};
	AUTO_FREE char *text = NULL;
	size_t size;
	size_t n = 0;

	lines.out = open_memstream(&text, &size);
	assert_int_equal(history_read(&history, 0, take, &output), 0);
	fclose(lines.out);
	for (size_t i = 0; i < size; i++) {
		n += text[i] == '\n';
	}
	assert_int_equal(n, wanted);
}

#define ASSERT_TAKES(wanted, ...)                                              \
	assert_takes(&(struct log_select){.since_ns = INT64_MIN,               \
					  .until_ns = INT64_MAX,               \
					  __VA_ARGS__},                        \
		     (wanted))

static void what_is_asked_for(void **state)
{
	uint32_t ops;

	(void)state;
	ASSERT_TAKES(10, .view = NULL);
	ASSERT_TAKES(1, .view = "tmp");
	ASSERT_TAKES(1, .path = "main.o");
	ASSERT_TAKES(3, .path = "main.*");
	ASSERT_TAKES(0, .path = "mai");
	ASSERT_TAKES(1, .path = "/src/main.o");
	ASSERT_TAKES(9, .path = "/src/");
	ASSERT_TAKES(2, .path = "run");
	ASSERT_TAKES(1, .path = "/tmp");
	ASSERT_TAKES(5, .process = "103");
	ASSERT_TAKES(5, .process = "#3");
	ASSERT_TAKES(5, .process = "-c main");
	ASSERT_TAKES(0, .process = "#99");
	ASSERT_TAKES(1, .failed = true);
	assert_int_equal(log_select_parse_ops(&ops, "rename,D"), 0);
	ASSERT_TAKES(5, .ops = ops);
	assert_int_equal(log_select_parse_ops(&ops, "sing"), -EINVAL);
	assert_int_equal(log_select_parse_ops(&ops, "rename,"), -EINVAL);
}

static void assert_time(const char *text, int64_t wanted_ns)
{
	int64_t ns = -1;

	/* 1970-01-03 00:00 */
	assert_int_equal(
		log_select_parse_time(&ns, text, 2 * 86400 * SECOND_NS), 0);
	assert_int_equal(ns, wanted_ns);
}

static void times(void **state)
{
	static const char *const bad[] = {
		"",      "m",   "10",   "10x", "1.5h",
		"25:00", "now", "10mm", "-1m", "1970-01-01T00:00:00Zz"};
	int64_t ns;

	(void)state;
	assert_time("1h", (2 * 86400 - 3600) * SECOND_NS);
	assert_time("2d", 0);
	assert_time("1970-01-02", 86400 * SECOND_NS);
	assert_time("1970-01-01T00:01", 60 * SECOND_NS);
	assert_time("1970-01-01 00:00:02.5", 5 * SECOND_NS / 2);
	assert_time("1970-01-01T00:00:03Z", 3 * SECOND_NS);
	assert_time("00:00:07", (2 * 86400 + 7) * SECOND_NS);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(log_select_parse_time(&ns, bad[i], 0),
				 -EINVAL);
	}
	assert_int_equal(log_select_parse_time(&ns, "99999999999999999999d", 0),
			 -EINVAL);
}

static void survives_a_damaged_database(void **state)
{
	struct output output = {.select = LOG_SELECT_ALL, .json = true};

	(void)state;
	temp_write(JOURNAL_DIR "/" INDEX_FILE, "nonsense, of some length", 24);
	lines.out = stdout;
	assert_int_equal(history_read(&history, 0, take, &output), 0);
	assert_int_equal(history.database_error, -EBADMSG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_for_people),
		TEST(a_tree_of_processes),
		TEST(what_is_asked_for),
		cmocka_unit_test(times),
		TEST(survives_a_damaged_database),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
