/*
 * The calls of the micro workloads, without an interpreter in between.
 *
 *   client stat LIST REPEAT     stat each path in the file LIST, REPEAT times
 *   client absent DIR COUNT     stat COUNT names that are not there
 *   client create DIR COUNT     create and close COUNT files
 *   client rename DIR COUNT     rename each of them
 *   client unlink DIR COUNT     remove each of them
 *   client append FILE COUNT    append COUNT times 4 KiB
 *   client write FILE COUNT     write COUNT times 128 KiB in sequence
 *   client read FILE            read all in sequence, 128 KiB at a time
 *   client pread FILE COUNT     read COUNT times 4 KiB at random
 *   client pwrite FILE COUNT    write COUNT times 4 KiB at random
 *   client mmap FILE            touch each page of a shared read mapping
 *   client hold LIST            open all files in LIST, then read from each
 *   client page FILE            write one page in the middle, fsync, close
 *   client now                  print the monotonic clock, in ns
 *
 * Prints how much was done, which the caller checks.
 */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE  4096
#define CHUNK (128 * 1024)

static char buffer[CHUNK];

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0) {
		err(1, "%s", path);
	}
	return fd;
}

static off_t size_of(int fd)
{
	struct stat st;

	if (fstat(fd, &st)) {
		err(1, "fstat");
	}
	return st.st_size;
}

/* The same numbers in each run. */
static uint32_t next_random(void)
{
	static uint32_t state = 2463534242;

	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

/* The lines of a file, each ended by a NUL; an empty one ends them. */
static char *read_list(const char *list)
{
	FILE *file = fopen(list, "re");
	char *paths = NULL;
	size_t size = 0;

	if (!file || getdelim(&paths, &size, '\1', file) < 0) {
		err(1, "%s", list);
	}
	fclose(file);
	for (char *p = strchr(paths, '\n'); p; p = strchr(p + 1, '\n')) {
		*p = '\0';
	}
	return paths;
}

static long do_hold(const char *list)
{
	char *paths = read_list(list);
	int first = -1;
	int last = -1;
	long done = 0;

	for (char *p = paths; *p; p += strlen(p) + 1) {
		last = open_or_die(p, O_RDONLY);
		first = first < 0 ? last : first;
	}
	/* Nothing else opens or closes here: the numbers follow each other. */
	for (int fd = first; fd >= 0 && fd <= last; fd++) {
		done += read(fd, buffer, PAGE) > 0;
	}
	free(paths);
	return done;
}

static long do_stat(const char *list, long repeat)
{
	char *paths = read_list(list);
	long done = 0;
	struct stat st;

	for (long i = 0; i < repeat; i++) {
		for (char *p = paths; *p; p += strlen(p) + 1) {
			if (lstat(p, &st)) {
				err(1, "%s", p);
			}
			done++;
		}
	}
	free(paths);
	return done;
}

static long for_names(const char *verb, const char *dir, long count)
{
	long done = 0;
	char old[PAGE];
	char new[PAGE];
	struct stat st;

	for (long i = 0; i < count; i++) {
		snprintf(old, sizeof(old), "%s/f%06ld", dir, i);
		snprintf(new, sizeof(new), "%s/r%06ld", dir, i);
		if (strcmp(verb, "absent") == 0) {
			done += lstat(old, &st) != 0;
		} else if (strcmp(verb, "create") == 0) {
			close(open_or_die(old, O_CREAT | O_EXCL | O_WRONLY));
			done++;
		} else if (strcmp(verb, "rename") == 0) {
			done += rename(old, new) == 0;
		} else {
			done += unlink(new) == 0;
		}
	}
	return done;
}

static long do_write(const char *path, long count, int flags, size_t size)
{
	int fd = open_or_die(path, O_WRONLY | flags);
	long done = 0;

	memset(buffer, 'x', sizeof(buffer));
	while (done < count && write(fd, buffer, size) == (ssize_t)size) {
		done++;
	}
	close(fd);
	return done;
}

static long do_read(const char *path)
{
	int fd = open_or_die(path, O_RDONLY);
	long done = 0;
	ssize_t n;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
		done += n;
	}
	close(fd);
	return done;
}

static long do_random(const char *path, long count, bool writing)
{
	int fd = open_or_die(path, writing ? O_RDWR : O_RDONLY);
	uint32_t pages = (uint32_t)(size_of(fd) / PAGE);
	long done = 0;

	for (long i = 0; i < count; i++) {
		off_t at = (off_t)(next_random() % pages) * PAGE;
		ssize_t n = writing ? pwrite(fd, buffer, PAGE, at)
				    : pread(fd, buffer, PAGE, at);

		done += n == PAGE;
	}
	close(fd);
	return done;
}

static long do_mmap(const char *path)
{
	int fd = open_or_die(path, O_RDONLY);
	size_t size = (size_t)size_of(fd);
	const volatile char *map =
		mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	long sum = 0;
	long pages = 0;

	if (map == MAP_FAILED) {
		err(1, "mmap");
	}
	for (size_t at = 0; at < size; at += PAGE) {
		sum += map[at];
		pages++;
	}
	close(fd);
	return sum == -1 ? 0 : pages;
}

static long do_page(const char *path)
{
	int fd = open_or_die(path, O_RDWR);
	off_t middle = size_of(fd) / 2 / PAGE * PAGE;
	long done = pwrite(fd, buffer, PAGE, middle) == PAGE;

	if (fsync(fd)) {
		err(1, "fsync");
	}
	close(fd);
	return done;
}

static long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long run(const char *verb, const char *path, long count)
{
	if (strcmp(verb, "now") == 0) {
		return now();
	} else if (strcmp(verb, "stat") == 0) {
		return do_stat(path, count);
	} else if (strcmp(verb, "append") == 0) {
		return do_write(path, count, O_CREAT | O_APPEND, PAGE);
	} else if (strcmp(verb, "write") == 0) {
		return do_write(path, count, O_CREAT | O_TRUNC, CHUNK);
	} else if (strcmp(verb, "read") == 0) {
		return do_read(path);
	} else if (strcmp(verb, "pread") == 0) {
		return do_random(path, count, false);
	} else if (strcmp(verb, "pwrite") == 0) {
		return do_random(path, count, true);
	} else if (strcmp(verb, "mmap") == 0) {
		return do_mmap(path);
	} else if (strcmp(verb, "hold") == 0) {
		return do_hold(path);
	} else if (strcmp(verb, "page") == 0) {
		return do_page(path);
	}
	return for_names(verb, path, count);
}

int main(int argc, char **argv)
{
	if (argc < 2 || (argc < 3 && strcmp(argv[1], "now") != 0)) {
		errx(2, "usage: client VERB PATH [COUNT]");
	}
	printf("%ld\n", run(argv[1], argc > 2 ? argv[2] : "",
			    argc > 3 ? atol(argv[3]) : 1));
	return 0;
}
