#include "quota_limits.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* Longer ones are no number. */
#define VALUE_BYTES 32

struct key {
	const char *name;
	size_t offset; /* of the value in struct quota_limits */
	uint64_t unit; /* what K stands for */
	uint64_t none; /* no limit */
};

static const struct key keys[] = {
	{"size", offsetof(struct quota_limits, bytes), 1024, QUOTA_NONE},
	{"files", offsetof(struct quota_limits, files), 1000, QUOTA_NONE},
	{"min_free", offsetof(struct quota_limits, min_free), 1024, 0},
};

/* What the letter behind a number multiplies it by; 0: no such letter. */
static uint64_t factor_of(const char *suffix, uint64_t unit)
{
	static const char letters[] = "kmgt";
	const char *letter;
	uint64_t factor = unit;

	if (!*suffix) {
		return 1;
	}
	letter = strchr(letters, *suffix | 0x20);
	if (!letter ||
	    (suffix[1] && (unit != 1024 || (strcasecmp(suffix + 1, "b") &&
					    strcasecmp(suffix + 1, "ib"))))) {
		return 0;
	}
	for (; letter != letters; letter--) {
		factor *= unit;
	}
	return factor;
}

static int parse_number(const char *text, const struct key *key,
			uint64_t *ret_value)
{
	uint64_t value = 0;
	uint64_t factor;

	if (strcasecmp(text, "none") == 0) {
		*ret_value = key->none;
		return 0;
	}
	if (*text < '0' || *text > '9') {
		return -EINVAL;
	}
	for (; *text >= '0' && *text <= '9'; text++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value)) {
			return -EINVAL;
		}
	}
	factor = factor_of(text, key->unit);
	/* Disks count with a sign. */
	if (!factor || __builtin_mul_overflow(value, factor, &value) ||
	    value > INT64_MAX) {
		return -EINVAL;
	}
	*ret_value = value;
	return 0;
}

static const struct key *find_key(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strlen(keys[i].name) == len &&
		    memcmp(keys[i].name, name, len) == 0) {
			return &keys[i];
		}
	}
	return NULL;
}

static int set_value(const struct key *key, const char *value,
		     struct quota_limits *limits)
{
	uint64_t number;
	int error = parse_number(value, key, &number);

	if (!error) {
		memcpy((char *)limits + key->offset, &number, sizeof(number));
	}
	return error;
}

int quota_parse_value(const char *key, const char *value,
		      struct quota_limits *limits)
{
	const struct key *known = find_key(key, strlen(key));

	return known ? set_value(known, value, limits) : -ENOENT;
}

/* One "key=value" of `len` bytes; *seen has a bit for each key. */
static int parse_item(const char *item, size_t len, struct quota_limits *limits,
		      unsigned int *seen)
{
	const char *equals = memchr(item, '=', len);
	const struct key *key =
		equals ? find_key(item, (size_t)(equals - item)) : NULL;
	size_t value_len = equals ? len - (size_t)(equals + 1 - item) : 0;
	char value[VALUE_BYTES];
	unsigned int bit;

	if (!key || value_len >= sizeof(value)) {
		return -EINVAL;
	}
	bit = 1U << (key - keys);
	if (*seen & bit) {
		return -EINVAL;
	}
	*seen |= bit;
	memcpy(value, equals + 1, value_len);
	value[value_len] = '\0';
	return set_value(key, value, limits);
}

int quota_parse(const char *text, struct quota_limits *limits,
		const char **ret_bad)
{
	struct quota_limits parsed = *limits;
	unsigned int seen = 0;

	for (;;) {
		size_t len = strcspn(text, ",");
		int error = parse_item(text, len, &parsed, &seen);

		if (error) {
			*ret_bad = text;
			return error;
		}
		if (!text[len]) {
			*limits = parsed;
			return 0;
		}
		text += len + 1;
	}
}

bool quota_limits_any(const struct quota_limits *limits)
{
	return limits->bytes != QUOTA_NONE || limits->files != QUOTA_NONE ||
	       limits->min_free;
}
