#include "state.h"

#include <fts.h>
#include <sys/stat.h>
#include <time.h>

#include "duration.h"
#include "err.h"
#include "failure.h"
#include "sys.h"

#define BLOCK_BYTES 512

int entry_open(struct entry *ret_entry, const char *scratch_dir, const char *id)
{
	struct entry entry = {.execution = EXECUTION_INIT};
	int error = execution_open(&entry.execution, scratch_dir, id);

	if (error) {
		return error;
	}
	/* The lock first: a run that ends meanwhile writes its end before it
	 * lets go. */
	entry.state = execution_is_living(&entry.execution) ? STATE_LIVING
							    : STATE_KILLED;
	manifest_init(&entry.manifest);
	entry.manifest_error =
		manifest_read(&entry.manifest, entry.execution.dir_fd);
	if (entry.state == STATE_KILLED && entry.manifest.ended_ns != 0) {
		entry.state = STATE_ENDED;
	}
	*ret_entry = entry;
	return 0;
}

void entry_release(struct entry *entry)
{
	execution_release(&entry->execution);
	manifest_release(&entry->manifest);
}

const char *state_name(enum state state)
{
	static const char *const names[] = {
		[STATE_LIVING] = "living",
		[STATE_ENDED] = "ended",
		[STATE_KILLED] = "killed",
	};

	return names[state];
}

int64_t state_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

int64_t entry_time_ns(const struct entry *entry)
{
	struct stat st;

	if (entry->manifest.ended_ns) {
		return entry->manifest.ended_ns;
	}
	if (entry->manifest.created_ns) {
		return entry->manifest.created_ns;
	}
	if (sys_fstat(entry->execution.dir_fd, &st) < 0) {
		return state_now_ns();
	}
	return (int64_t)st.st_mtim.tv_sec * NS_PER_SECOND + st.st_mtim.tv_nsec;
}

int64_t entry_size_bytes(const struct entry *entry)
{
	AUTO_FREE char *views =
		text_format("%s/" EXECUTION_VIEWS_DIR, entry->execution.path);
	char *paths[] = {views, NULL};
	FTS *walk =
		fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
	int64_t blocks = 0;
	const FTSENT *file;

	while (walk && (file = fts_read(walk)) != NULL) {
		/* A folder is seen twice; one that can't be read counts
		 * without its content. */
		if (file->fts_info != FTS_DP && file->fts_info != FTS_NS) {
			blocks += file->fts_statp->st_blocks;
		}
	}
	if (walk) {
		fts_close(walk);
	}
	return blocks * BLOCK_BYTES;
}

int entry_failure(const char *id, int error)
{
	switch (error) {
	case -ENOENT:
		return failure(EXIT_TROUBLE, "no execution '%s'", id);
	case -ENOTUNIQ:
		return failure(EXIT_TROUBLE,
			       "more than one execution is meant by '%s'", id);
	default:
		return failure(EXIT_TROUBLE, "cannot open execution '%s': %s",
			       id, err_text(error));
	}
}
