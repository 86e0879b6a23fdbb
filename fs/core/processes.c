#include "processes.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>

#include "err.h"
#include "log.h"
#include "process_facts.h"
#include "sys.h"

#define NS_PER_S INT64_C(1000000000)

/* See processes.h. */
#define CHECK_SHARE  8
#define CHECK_MAX_NS (1000 * 1000)

/* A process whose parents go on for ever isn't one of ours. */
#define PARENTS_MAX 32

struct process_entry {
	pid_t thread; /* 0: free */
	int stat_fd;  /* owned */
	uint64_t number;
	struct process_image image;
	int64_t known_ns; /* since when the program is known */
	bool used;        /* since the hand came by */
};

/* What is known of a thread, before it has a place. */
struct learned {
	struct process_entry entry;
	struct process_facts facts;
	uint64_t parent;
};

/* What this thread of ours was told last. */
struct remembered {
	uint64_t instance;
	pid_t thread;
	uint64_t number;
	int64_t until_ns;
};

#define REMEMBERED 16U

static _Thread_local struct remembered remembered[REMEMBERED];

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int processes_init(struct processes *processes, struct journal *journal,
		   unsigned int max)
{
	static atomic_ulong instances;

	*processes = (struct processes){
		.journal = journal,
		/* relaxed: only uniqueness matters */
		.instance = 1 + atomic_fetch_add_explicit(&instances, 1,
							  memory_order_relaxed),
		.last_parent = getppid(),
		.entries = calloc(max, sizeof(*processes->entries)),
		.max = max,
	};
	if (!processes->entries) {
		return -ENOMEM;
	}
	lock_init(&processes->lock, LOCK_RANK_PROCESSES, 0);
	processes->proc_fd =
		sys_openat(AT_FDCWD, "/proc", O_PATH | O_DIRECTORY, 0);
	if (processes->proc_fd < 0) {
		log_warn("processes are not recorded: '/proc': %s",
			 err_name(processes->proc_fd));
	}
	return 0;
}

static void entry_release(struct process_entry *entry)
{
	if (entry->thread) {
		auto_close_fd(&entry->stat_fd);
	}
	*entry = (struct process_entry){0};
}

void processes_release(struct processes *processes)
{
	if (!processes->entries) {
		return;
	}
	for (unsigned int i = 0; i < processes->max; i++) {
		entry_release(&processes->entries[i]);
	}
	free(processes->entries);
	auto_close_fd(&processes->proc_fd);
	lock_release(&processes->lock);
}

/* Where a thread may be in the table: few places, near those of its like. */
#define PLACES 8U

static struct process_entry *place_at(struct processes *processes, pid_t thread,
				      unsigned int i)
{
	return &processes->entries[((unsigned int)thread + i) % processes->max];
}

static struct process_entry *find_locked(struct processes *processes,
					 pid_t thread)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		struct process_entry *entry = place_at(processes, thread, i);

		if (entry->thread == thread) {
			return entry;
		}
	}
	return NULL;
}

/* A place for a thread that has none: free, or not used for long. */
static struct process_entry *place_locked(struct processes *processes,
					  pid_t thread)
{
	struct process_entry *entry = NULL;

	for (unsigned int i = 0; i < PLACES && !entry; i++) {
		struct process_entry *place = place_at(processes, thread, i);

		entry = place->thread ? NULL : place;
	}
	while (!entry) {
		struct process_entry *place =
			place_at(processes, thread, processes->hand++ % PLACES);

		entry = place->used ? NULL : place;
		place->used = false;
	}
	entry_release(entry);
	return entry;
}

/* The number that the table has for the thread, if it still runs the program
 * that it ran then; else 0. */
static uint64_t check_locked(struct processes *processes, pid_t thread,
			     int64_t *ret_known_ns)
{
	struct process_entry *entry = find_locked(processes, thread);
	struct process_image image;

	if (!entry) {
		return 0;
	}
	if (process_stat_read(entry->stat_fd, &image) ||
	    image.program != entry->image.program) {
		entry_release(entry);
		return 0;
	}
	entry->used = true;
	*ret_known_ns = entry->known_ns;
	return entry->number;
}

static uint64_t identify(struct processes *processes, pid_t thread,
			 unsigned int depth, int64_t *ret_known_ns);

static bool is_outside(const struct processes *processes, pid_t pid)
{
	return pid <= 1 || pid == processes->last_parent || pid == getpid();
}

static uint64_t parent_of(struct processes *processes, pid_t ppid,
			  unsigned int depth)
{
	int64_t known_ns;

	return is_outside(processes, ppid) || depth == PARENTS_MAX
		       ? 0
		       : identify(processes, ppid, depth + 1, &known_ns);
}

/* The change itself will be refused where there is no room, and told why. */
static uint64_t put_on_record(struct processes *processes,
			      const struct learned *learned)
{
	const struct process_facts *facts = &learned->facts;
	struct journal_process process = {
		.parent = learned->parent,
		.pid = facts->pid,
		.ppid = facts->ppid,
		.uid = facts->uid,
		.start_ticks = learned->entry.image.start_ticks,
		.exe = facts->exe.data,
		.command = facts->command.data,
		.command_size = facts->command.len,
		.cwd = facts->cwd.data,
	};

	return journal_add_process(processes->journal, &process, JOURNAL_TAKES)
		       ? 0
		       : process.number;
}

/* Reads what a thread runs. `learned` is to be released on failure, too. */
static int learn(struct processes *processes, pid_t thread, unsigned int depth,
		 struct learned *learned)
{
	struct process_entry *entry = &learned->entry;
	int64_t known_ns;
	int error;

	entry->stat_fd = process_stat_open(processes->proc_fd, thread);
	if (entry->stat_fd < 0) {
		return entry->stat_fd;
	}
	/* Before it is read: it may change while it is. */
	entry->known_ns = now_ns();
	error = process_stat_read(entry->stat_fd, &entry->image);
	error = error ? error
		      : process_facts_read(processes->proc_fd, thread,
					   entry->stat_fd, &entry->image,
					   &learned->facts);
	if (error) {
		return error;
	}
	if (learned->facts.pid != thread) {
		entry->number = identify(processes, learned->facts.pid, depth,
					 &known_ns);
	} else {
		learned->parent =
			parent_of(processes, learned->facts.ppid, depth);
	}
	return 0;
}

/* Gives it a number, unless another thread of ours was faster. */
static uint64_t keep_locked(struct processes *processes,
			    struct learned *learned)
{
	struct process_entry *entry = &learned->entry;
	struct process_entry *place = find_locked(processes, entry->thread);

	if (place && place->image.program == entry->image.program &&
	    place->image.start_ticks == entry->image.start_ticks) {
		return place->number;
	}
	if (!entry->number) {
		entry->number = put_on_record(processes, learned);
	}
	if (!entry->number) {
		return 0;
	}
	place = place ? place : place_locked(processes, entry->thread);
	entry_release(place);
	*place = *entry;
	place->used = true;
	entry->stat_fd = -1;
	return place->number;
}

static uint64_t identify(struct processes *processes, pid_t thread,
			 unsigned int depth, int64_t *ret_known_ns)
{
	struct learned learned = {
		.entry = {.thread = thread, .stat_fd = -1},
		.facts = PROCESS_FACTS_INIT,
	};
	uint64_t number;

	lock_take(&processes->lock);
	number = check_locked(processes, thread, ret_known_ns);
	lock_drop(&processes->lock);
	if (number) {
		return number;
	}
	if (!learn(processes, thread, depth, &learned)) {
		lock_take(&processes->lock);
		number = keep_locked(processes, &learned);
		lock_drop(&processes->lock);
		*ret_known_ns = learned.entry.known_ns;
	}
	process_facts_release(&learned.facts);
	auto_close_fd(&learned.entry.stat_fd);
	return number;
}

static struct remembered *remembered_of(pid_t thread)
{
	return &remembered[(unsigned int)thread % REMEMBERED];
}

uint64_t processes_identify(struct processes *processes, pid_t thread)
{
	struct remembered *here = remembered_of(thread);
	int64_t now;
	int64_t known_ns = 0;
	int64_t pause;

	if (processes->proc_fd < 0 || thread <= 0) {
		return 0;
	}
	now = now_ns();
	if (here->instance == processes->instance && here->thread == thread &&
	    now < here->until_ns) {
		return here->number;
	}
	*here = (struct remembered){
		.instance = processes->instance,
		.thread = thread,
		.number = identify(processes, thread, 0, &known_ns),
	};
	pause = (now - known_ns) / CHECK_SHARE;
	here->until_ns = now + (pause < CHECK_MAX_NS ? pause : CHECK_MAX_NS);
	return here->number;
}

uint64_t processes_recall(struct processes *processes, pid_t thread)
{
	AUTO_UNLOCK struct lock *held = lock_taken(&processes->lock);
	const struct process_entry *entry = find_locked(processes, thread);

	(void)held;
	return entry ? entry->number : 0;
}
