/*
 * driver.c - drives a fuzz target where libFuzzer doesn't: replays every file
 * of a folder, then inputs made of them by simple changes, the same each time.
 *
 * usage: TARGET CORPUS SECONDS [SEED]
 *
 * An input that ends the process is left in `fuzz-input` in the current folder
 * ($FUZZ_OUT, if set).
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compiler.h"
#include "die.h"
#include "fuzz.h"

#define INPUT_BYTES 512
#define INPUTS_MAX  256

struct sample {
	uint8_t data[INPUT_BYTES];
	size_t size;
};

static struct sample samples[INPUTS_MAX];
static unsigned int sample_count;
static uint64_t random_state;

static unsigned int random_below(unsigned int limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)(random_state >> 16) % limit;
}

static void read_corpus(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		die("cannot open '%s'", path);
	}
	while ((entry = readdir(dir)) && sample_count < INPUTS_MAX) {
		struct sample *sample = &samples[sample_count];
		AUTO_FD fd =
			openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		ssize_t n = fd < 0 || *entry->d_name == '.'
				    ? -1
				    : read(fd, sample->data, INPUT_BYTES);

		if (n > 0) {
			sample->size = (size_t)n;
			sample_count++;
		}
	}
	closedir(dir);
}

/* Kept before it runs, and removed after: what is left is what failed. */
static void run(int out, const struct sample *sample)
{
	if (ftruncate(out, 0) ||
	    pwrite(out, sample->data, sample->size, 0) < 0) {
		die("cannot keep the input");
	}
	if (LLVMFuzzerTestOneInput(sample->data, sample->size)) {
		die("the target refused an input");
	}
}

static struct sample change(struct sample sample)
{
	unsigned int changes = 1 + random_below(8);

	while (changes--) {
		size_t at = random_below(INPUT_BYTES);

		if (random_below(4) == 0) {
			const struct sample *other =
				&samples[random_below(sample_count)];
			size_t from = random_below((unsigned int)other->size);
			size_t n = other->size - from;

			n = at + n > INPUT_BYTES ? INPUT_BYTES - at : n;
			memcpy(sample.data + at, other->data + from, n);
			sample.size =
				at + n > sample.size ? at + n : sample.size;
			continue;
		}
		if (at >= sample.size) {
			sample.size = at + 1;
		}
		sample.data[at] = (uint8_t)random_below(256);
	}
	return sample;
}

static time_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

int main(int argc, char **argv)
{
	const char *name = getenv("FUZZ_OUT");
	unsigned long count = 0;
	time_t end;
	int out;

	if (argc < 3) {
		fprintf(stderr, "usage: %s CORPUS SECONDS [SEED]\n", argv[0]);
		return 2;
	}
	random_state = argc > 3 ? strtoull(argv[3], NULL, 10) | 1 : 1;
	read_corpus(argv[1]);
	if (!sample_count) {
		die("no input in '%s'", argv[1]);
	}
	name = name ? name : "fuzz-input";
	out = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0) {
		die("cannot make '%s'", name);
	}
	end = now() + strtol(argv[2], NULL, 10);
	for (unsigned int i = 0; i < sample_count; i++, count++) {
		run(out, &samples[i]);
	}
	for (; now() < end; count++) {
		struct sample sample =
			change(samples[random_below(sample_count)]);

		run(out, &sample);
	}
	close(out);
	unlink(name);
	printf("1..1\nok 1 - %lu inputs, %u of them files\n", count,
	       sample_count);
	return 0;
}
