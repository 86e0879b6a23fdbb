#include "numbers.h"

#include <stdlib.h>

#include "err.h"
#include "log.h"
#include "sys.h"

#define VARIANT_SHIFT 56
#define VARIANT_COUNT 127 /* 1 to 127: the highest bit stays free */
#define MIN_SLOTS     64

void numbers_init(struct numbers *numbers)
{
	lock_init(&numbers->lock, LOCK_RANK_TABLE, UINT64_MAX);
}

void numbers_release(struct numbers *numbers)
{
	free(numbers->slots);
	lock_release(&numbers->lock);
}

static uint64_t mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15ULL; /* 2^64 / golden ratio, Knuth 6.4 */
	return x ^ x >> 32;
}

/* The slot where the number is or would be. There is always a free one. */
static struct number *find_slot(struct numbers *numbers, uint64_t dev,
				uint64_t ino)
{
	size_t at = mix(ino ^ dev << 40) & numbers->mask;

	while (numbers->slots[at].ino && (numbers->slots[at].ino != ino ||
					  numbers->slots[at].dev != dev)) {
		at = (at + 1) & numbers->mask;
	}
	return &numbers->slots[at];
}

/* At most half of the slots are used. */
static int grow_locked(struct numbers *numbers)
{
	size_t count = numbers->slots ? numbers->mask + 1 : 0;
	struct number *old = numbers->slots;
	struct number *slots;
	size_t more = count ? count * 2 : MIN_SLOTS;

	if (numbers->used * 2 < count) {
		return 0;
	}
	slots = calloc(more, sizeof(*slots));
	if (!slots) {
		return -ENOMEM;
	}
	numbers->slots = slots;
	numbers->mask = more - 1;
	for (size_t i = 0; i < count; i++) {
		if (old[i].ino) {
			*find_slot(numbers, old[i].dev, old[i].ino) = old[i];
		}
	}
	free(old);
	return 0;
}

void numbers_take(struct numbers *numbers, uint64_t dev, uint64_t ino)
{
	int error;

	lock_take(&numbers->lock);
	error = grow_locked(numbers);
	if (!error) {
		struct number *slot = find_slot(numbers, dev, ino);

		numbers->used += !slot->ino;
		*slot = (struct number){.dev = dev, .ino = ino};
	}
	lock_drop(&numbers->lock);
	if (error) {
		log_warn("inode number %llu not kept: %s",
			 (unsigned long long)ino, err_name(error));
	}
}

bool numbers_is_taken(struct numbers *numbers, uint64_t dev, uint64_t ino)
{
	bool taken;

	lock_take(&numbers->lock);
	taken = numbers->slots && find_slot(numbers, dev, ino)->ino;
	lock_drop(&numbers->lock);
	return taken;
}

int numbers_tell_apart(struct numbers *numbers, int dirfd, const char *name,
		       struct stat *st)
{
	struct timespec birth;
	int error;

	if (!numbers_is_taken(numbers, st->st_dev, st->st_ino)) {
		return 0;
	}
	error = sys_birth_time(dirfd, name, &birth);
	if (!error) {
		uint64_t hash = mix((uint64_t)birth.tv_sec * 1000000000 +
				    (uint64_t)birth.tv_nsec);

		st->st_ino = numbers_with(st->st_ino,
					  (uint8_t)(1 + hash % VARIANT_COUNT));
	}
	return error;
}

uint8_t numbers_variant(uint64_t ino)
{
	return (uint8_t)(ino >> VARIANT_SHIFT);
}

uint64_t numbers_with(uint64_t ino, uint8_t variant)
{
	return ino ^ (uint64_t)variant << VARIANT_SHIFT;
}
