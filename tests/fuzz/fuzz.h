/*
 * fuzz.h - what the fuzz targets share: bytes read as decisions, and a view on
 * folders in memory, served without a mount.
 *
 * A target has the entry point of libFuzzer. Built with clang and
 * -Dfuzz=true, libFuzzer drives it; else driver.c does, which replays files and
 * makes simple changes to them.
 *
 * What is wrong ends the process (abort), as libFuzzer wants it.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lookup.h"
#include "view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input; zeros once it is at its end. */
struct input {
	const uint8_t *data;
	size_t size;
};

uint8_t input_byte(struct input *input);
uint32_t input_word(struct input *input);
/* One of `count`. */
unsigned int input_choice(struct input *input, unsigned int count);
/* One of a fixed set of components: plain ones, marks, bytes, 255 of them. */
const char *input_name(struct input *input);
/* Attributes: a user's, the format's, ACLs. */
const char *input_attr(struct input *input);
/* Points to up to `wanted` bytes of the input: *ret_size of them. */
const uint8_t *input_bytes(struct input *input, size_t wanted,
			   size_t *ret_size);

/* Goes to new folders upper, work, links, base and base2, for one input. */
void fuzz_enter(void);
/* Removes all that is in them. */
void fuzz_leave(void);

/* Serves them; false where the core refuses (a hostile layer may make it). */
bool fuzz_start(struct fs *fs, bool foreign);
/* Ends it: only the root's node may be left, and no descriptor. */
void fuzz_stop(struct fs *fs);

/* A result that a program may see: no error of the kernel's inside. */
void fuzz_check(int64_t result, const char *what);

extern const struct caller fuzz_caller;

#endif
