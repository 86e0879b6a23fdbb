/*
 * compiler.h - attributes and the cleanup idiom.
 *
 * A resource that a function owns until it hands it over is declared with
 * AUTO_FD or AUTO_FREE and handed over with TAKE_FD or TAKE_PTR, which leave
 * an empty value behind, so that every early return is right by construction.
 */
#ifndef FS_BASE_COMPILER_H
#define FS_BASE_COMPILER_H

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define ARRAY_SIZE(a)     (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member)                                        \
	((type *)((char *)(ptr)-offsetof(type, member)))

static inline void auto_close_fd(const int *fd)
{
	if (*fd >= 0) {
		int saved = errno;

		close(*fd);
		errno = saved;
	}
}

static inline void auto_free_ptr(void *ptr)
{
	int saved = errno;

	free(*(void **)ptr);
	errno = saved;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#define AUTO(release) __attribute__((cleanup(release)))
#define AUTO_FD       AUTO(auto_close_fd) int
#define AUTO_FREE     AUTO(auto_free_ptr)
#define TAKE_FD(fd)   take_fd(&(fd))
#define TAKE_PTR(ptr)                                                          \
	({                                                                     \
		__typeof__(ptr) taken_ = (ptr);                                \
		(ptr) = NULL;                                                  \
		taken_;                                                        \
	})

#endif
