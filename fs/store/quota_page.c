#include "quota_page.h"

#include <assert.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "sys.h"

static const char page_magic[8] = "legatoQ";

static_assert(sizeof(struct quota_page) == 80, "the format is on disk");
static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "several processes map it");

static uint32_t check_of(const struct quota_page *page)
{
	return (uint32_t)XXH3_64bits(page, offsetof(struct quota_page, check));
}

static uint64_t check_of_limits(const struct quota_limits *limits)
{
	return XXH3_64bits(limits, sizeof(*limits));
}

/* relaxed, here and below: each value is right by itself */
static bool is_sound(struct quota_page *page)
{
	const struct quota_limits limits = quota_page_limits(page);
	const struct quota_amount used = quota_page_used(page);

	return check_of(page) == page->check &&
	       atomic_load_explicit(&page->limits_check,
				    memory_order_relaxed) ==
		       check_of_limits(&limits) &&
	       used.bytes >= 0 && used.files >= 0;
}

static int check_page(struct quota_page *page)
{
	if (memcmp(page->magic, page_magic, sizeof(page_magic)) != 0) {
		return -EBADMSG;
	}
	if (page->version != QUOTA_PAGE_VERSION) {
		return -EPROTONOSUPPORT;
	}
	return is_sound(page) ? 0 : -EBADMSG;
}

int quota_page_open(int dirfd, struct quota_page **ret_page)
{
	AUTO_FD fd = sys_openat(dirfd, QUOTA_PAGE_FILE, O_RDWR | O_NOFOLLOW, 0);
	struct quota_page *page;
	struct stat st;
	void *map;
	int error = fd < 0 ? fd : sys_fstat(fd, &st);

	if (error) {
		return error;
	}
	if (!S_ISREG(st.st_mode) || st.st_size != (off_t)sizeof(*page)) {
		return -EBADMSG;
	}
	error = sys_map(fd, sizeof(*page), &map);
	if (error) {
		return error;
	}
	page = map;
	error = check_page(page);
	if (error) {
		quota_page_close(page);
		return error;
	}
	*ret_page = page;
	return 0;
}

int quota_page_make(int dirfd, const struct quota_limits *limits,
		    struct quota_page **ret_page)
{
	struct quota_page page = {
		.version = QUOTA_PAGE_VERSION,
		.limit_bytes = limits->bytes,
		.limit_files = limits->files,
		.min_free = limits->min_free,
		.limits_check = check_of_limits(limits),
	};
	int error;

	memcpy(page.magic, page_magic, sizeof(page_magic));
	page.check = check_of(&page);
	/* Without a wait for the disk, since it can be counted again. */
	error = fdio_replace_mapped_file(dirfd, QUOTA_PAGE_FILE, &page,
					 sizeof(page));
	return error ? error : quota_page_open(dirfd, ret_page);
}

void quota_page_close(struct quota_page *page)
{
	if (page) {
		sys_unmap(page, sizeof(*page));
	}
}

struct quota_limits quota_page_limits(struct quota_page *page)
{
	return (struct quota_limits){
		.bytes = atomic_load_explicit(&page->limit_bytes,
					      memory_order_relaxed),
		.files = atomic_load_explicit(&page->limit_files,
					      memory_order_relaxed),
		.min_free = atomic_load_explicit(&page->min_free,
						 memory_order_relaxed),
	};
}

void quota_page_set_limits(struct quota_page *page,
			   const struct quota_limits *limits)
{
	atomic_store_explicit(&page->limit_bytes, limits->bytes,
			      memory_order_relaxed);
	atomic_store_explicit(&page->limit_files, limits->files,
			      memory_order_relaxed);
	atomic_store_explicit(&page->min_free, limits->min_free,
			      memory_order_relaxed);
	atomic_store_explicit(&page->limits_check, check_of_limits(limits),
			      memory_order_relaxed);
}

struct quota_amount quota_page_used(struct quota_page *page)
{
	return (struct quota_amount){
		.bytes = atomic_load_explicit(&page->used_bytes,
					      memory_order_relaxed),
		.files = atomic_load_explicit(&page->used_files,
					      memory_order_relaxed),
	};
}

struct quota_amount quota_page_nameless(struct quota_page *page)
{
	return (struct quota_amount){
		.bytes = atomic_load_explicit(&page->nameless_bytes,
					      memory_order_relaxed),
		.files = atomic_load_explicit(&page->nameless_files,
					      memory_order_relaxed),
	};
}

void quota_page_add(struct quota_page *page, int64_t bytes, int64_t files)
{
	if (bytes) {
		atomic_fetch_add_explicit(&page->used_bytes, bytes,
					  memory_order_relaxed);
	}
	if (files) {
		atomic_fetch_add_explicit(&page->used_files, files,
					  memory_order_relaxed);
	}
}

void quota_page_add_nameless(struct quota_page *page, int64_t bytes,
			     int64_t files)
{
	atomic_fetch_add_explicit(&page->nameless_bytes, bytes,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&page->nameless_files, files,
				  memory_order_relaxed);
}

void quota_page_forget_nameless(struct quota_page *page)
{
	const struct quota_amount gone = quota_page_nameless(page);

	quota_page_add_nameless(page, -gone.bytes, -gone.files);
	quota_page_add(page, -gone.bytes, -gone.files);
}
