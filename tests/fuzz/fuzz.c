#include "fuzz.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "log.h"
#include "temp.h"

#define MAX_FDS 8

const struct caller fuzz_caller = {.umask = 022};

static unsigned int fds_before;

uint8_t input_byte(struct input *input)
{
	if (!input->size) {
		return 0;
	}
	input->size--;
	return *input->data++;
}

uint32_t input_word(struct input *input)
{
	uint32_t word = 0;

	for (int i = 0; i < 4; i++) {
		word = word << 8 | input_byte(input);
	}
	return word;
}

unsigned int input_choice(struct input *input, unsigned int count)
{
	return input_byte(input) % count;
}

static const char longest[] =
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde";
static_assert(sizeof(longest) == 256, "a component's most, and NUL");

const char *input_name(struct input *input)
{
	static const char *const names[] = {
		"a",     "b",     "c",           "d",      "e",    "f",
		".wh.a", ".wh.d", ".wh..wh.opq", "\xff\n", longest};

	return names[input_choice(input, ARRAY_SIZE(names))];
}

const char *input_attr(struct input *input)
{
	static const char *const attrs[] = {
		"user.a",
		"user.overlay.opaque",
		"user.overlay.redirect",
		"user.overlay.metacopy",
		"user.overlay.whiteout",
		"user.overlay.overlay.opaque",
		"user.legato.origin",
		"user.legato.whiteout",
		"user.fuseoverlayfs.opaque",
		"trusted.overlay.opaque",
		"trusted.overlay.redirect",
		"trusted.overlay.metacopy",
		"trusted.overlay.whiteout",
		"system.posix_acl_access",
		"system.posix_acl_default",
		"security.capability",
	};

	return attrs[input_choice(input, ARRAY_SIZE(attrs))];
}

const uint8_t *input_bytes(struct input *input, size_t wanted, size_t *ret_size)
{
	const uint8_t *bytes = input->data;

	*ret_size = wanted < input->size ? wanted : input->size;
	input->data += *ret_size;
	input->size -= *ret_size;
	return bytes;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (dir && readdir(dir)) {
		count++;
	}
	if (dir) {
		closedir(dir);
	}
	return count;
}

static void must(int result, const char *what)
{
	if (result) {
		perror(what);
		abort();
	}
}

void fuzz_enter(void)
{
	static const char *const folders[] = {"upper", "work", "links", "base",
					      "base2"};
	static bool ready;

	if (!ready) {
		/* In memory, where that has attributes (Linux 6.6). */
		setenv("TMPDIR", "/dev/shm", 0);
		log_setup(open("/dev/null", O_WRONLY | O_CLOEXEC),
			  LOG_LEVEL_WARN);
		umask(0);
		ready = true;
	}
	fds_before = count_fds();
	temp_new();
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		must(mkdir(folders[i], 0755), folders[i]);
	}
}

void fuzz_leave(void)
{
	temp_remove();
	if (count_fds() != fds_before) {
		fprintf(stderr, "descriptors are left\n");
		abort();
	}
}

bool fuzz_start(struct fs *fs, bool foreign)
{
	static const char *const lowers[] = {"base", "base2"};
	const struct view_config config = {
		.name = "work",
		.dirfd = AT_FDCWD,
		.upper = "upper",
		.work = "work",
		.links = "links",
		.lowers = lowers,
		.lower_count = ARRAY_SIZE(lowers),
		.has_origins = true,
		.has_foreign_marks = foreign,
	};
	int error = fs_init(fs, MAX_FDS, MAX_FDS, false);

	must(error, "fs_init");
	/* Ending a watch waits for the whole machine: a few inputs a second
	 * would be left. */
	if (fs->watches.fd >= 0) {
		close(fs->watches.fd);
		fs->watches.fd = -1;
	}
	error = fs_add_view(fs, &config);
	error = error ? error : fs_start(fs);
	fuzz_check(error, "start");
	if (error) {
		fs_release(fs);
	}
	return !error;
}

void fuzz_stop(struct fs *fs)
{
	size_t count = nodes_count(&fs->nodes);

	fs_release(fs);
	if (count != 1) {
		fprintf(stderr, "%zu nodes are left\n", count);
		abort();
	}
}

void fuzz_check(int64_t result, const char *what)
{
	/* EBADMSG and EAGAIN are said within the core only. */
	if (result < -ERANGE - 200 || result == -EBADMSG || result == -EAGAIN) {
		fprintf(stderr, "%s: %lld\n", what, (long long)result);
		abort();
	}
}
