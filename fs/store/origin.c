#include "origin.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>

#include "origin_format.h"
#include "sys.h"

#define NS_PER_S 1000000000ULL

static uint64_t to_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * NS_PER_S + (uint64_t)time->tv_nsec;
}

void origin_from_stat(struct origin *ret_origin, const struct stat *st)
{
	*ret_origin = (struct origin){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size_bytes = (uint64_t)st->st_size,
		.mtime_ns = to_ns(&st->st_mtim),
		.ctime_ns = to_ns(&st->st_ctim),
	};
}

int origin_add_birth(struct origin *origin, int dirfd, const char *name)
{
	struct timespec birth;
	int error = sys_birth_time(dirfd, name, &birth);

	if (!error) {
		origin->birth_ns = to_ns(&birth);
	}
	return error;
}

bool origin_matches(const struct origin *origin, const struct stat *st)
{
	struct origin now;

	origin_from_stat(&now, st);
	return now.dev == origin->dev && now.ino == origin->ino &&
	       now.size_bytes == origin->size_bytes &&
	       now.mtime_ns == origin->mtime_ns &&
	       now.ctime_ns == origin->ctime_ns;
}

void origin_key(const struct origin *origin, char ret_key[ORIGIN_KEY_BYTES])
{
	snprintf(ret_key, ORIGIN_KEY_BYTES, "%" PRIx64 "-%" PRIx64 "-%" PRIx64,
		 origin->dev, origin->ino, origin->birth_ns);
}

int origin_write(int dirfd, const char *name, const struct origin *origin)
{
	struct origin_record record = {
		.version = origin->partial_tag ? ORIGIN_VERSION_PARTIAL
					       : ORIGIN_VERSION,
		.number_variant = origin->number_variant,
		.partial_tag = htole32((uint32_t)origin->partial_tag),
		.dev = htole64(origin->dev),
		.ino = htole64(origin->ino),
		.size_bytes = htole64(origin->size_bytes),
		.mtime_ns = htole64(origin->mtime_ns),
		.ctime_ns = htole64(origin->ctime_ns),
		.birth_ns = htole64(origin->birth_ns),
	};

	return sys_setxattrat(dirfd, name, ORIGIN_ATTR, &record, sizeof(record),
			      0);
}

static bool is_known(const struct origin_record *record)
{
	return record->version == ORIGIN_VERSION ||
	       (record->version == ORIGIN_VERSION_PARTIAL &&
		record->partial_tag);
}

int origin_read(int dirfd, const char *name, struct origin *ret_origin)
{
	struct origin_record record;
	ssize_t n = sys_getxattrat(dirfd, name, ORIGIN_ATTR, &record,
				   sizeof(record));

	if (n == -ENODATA || n == -EOPNOTSUPP) {
		return 0;
	}
	if (n < 0 && n != -ERANGE) {
		return (int)n;
	}
	if (n != sizeof(record) || !is_known(&record)) {
		return -EBADMSG;
	}
	*ret_origin = (struct origin){
		.number_variant = record.number_variant,
		.dev = le64toh(record.dev),
		.ino = le64toh(record.ino),
		.size_bytes = le64toh(record.size_bytes),
		.mtime_ns = le64toh(record.mtime_ns),
		.ctime_ns = le64toh(record.ctime_ns),
		.birth_ns = le64toh(record.birth_ns),
		.partial_tag = record.version == ORIGIN_VERSION_PARTIAL
				       ? le32toh(record.partial_tag)
				       : 0,
	};
	return 1;
}
