#include "libgit.h"

#include <git2.h>
#include <pthread.h>

static void initialize(void)
{
	git_libgit2_init();
}

void libgit_need(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, initialize);
}
