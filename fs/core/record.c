#include "record.h"

#include <time.h>

#include "recorder.h"

#define NS_PER_S INT64_C(1000000000)

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t record_process(const struct fs *fs, pid_t thread)
{
	return fs->recorder
		       ? processes_identify(&fs->recorder->processes, thread)
		       : 0;
}

static void add_name(const struct node *parent, const char *name,
		     struct buf *path)
{
	size_t start = path->len;

	view_node_path(parent, path);
	if (path->len > start && *name) {
		buf_addc(path, '/');
	}
	buf_adds(path, name);
}

/* The path of what a change is about, and of the second. */
static void add_paths(const struct record_change *change, struct buf *path,
		      struct buf *path2)
{
	if (change->node) {
		view_node_path(change->node, path);
	} else {
		add_name(change->parent, change->name, path);
	}
	if (change->parent2) {
		add_name(change->parent2, change->name2, path2);
	} else if (change->name2) {
		buf_adds(path2, change->name2);
	}
}

/* Whether a path is changed by it, or comes to mean another file. */
static bool changes_names(enum journal_op op)
{
	return op == JOURNAL_RENAME || op == JOURNAL_EXCHANGE ||
	       op == JOURNAL_UNLINK || op == JOURNAL_RMDIR ||
	       op == JOURNAL_LINK;
}

static struct view *view_of(const struct record_change *change)
{
	return change->node ? change->node->view : change->parent->view;
}

/* Who it was, as far as the kernel says: pages of a map come from nobody, and
 * are put down to whoever used the file last. */
static void set_process(struct journal_record *record,
			const struct record_change *change,
			struct recorder *recorder)
{
	record->process = change->caller->process;
	if (!change->caller->pid && change->node) {
		/* relaxed: a guess */
		record->process = processes_recall(
			&recorder->processes,
			(pid_t)atomic_load_explicit(&change->node->last_user,
						    memory_order_relaxed));
		record->by_opener = true;
	}
}

static struct journal_record record_of(const struct record_change *change,
				       struct recorder *recorder)
{
	struct journal_record record = {
		.op = change->op,
		.wall_ns = clock_ns(CLOCK_REALTIME),
		.mono_ns = clock_ns(CLOCK_MONOTONIC),
		.view = view_of(change)->name,
		.offset = change->bytes >= 0 ? change->offset : -1,
		.bytes = change->bytes,
		.size_before = -1,
		.mode_before = -1,
		.nameless = change->name && !*change->name,
	};

	if (change->before) {
		record.ino = change->before->st_ino;
		record.mode_before = (int32_t)change->before->st_mode;
		record.size_before = S_ISREG(change->before->st_mode)
					     ? change->before->st_size
					     : -1;
	}
	set_process(&record, change, recorder);
	return record;
}

static void set_node_locked(struct journal_record *record,
			    const struct node *node)
{
	record->ino = node->ino;
	record->nameless = node->removed || node->name_gone;
}

static struct journal_outcome
expected_outcome(const struct journal_record *record)
{
	return (struct journal_outcome){
		.ino = record->ino,
		.bytes = record->bytes,
		.size_after = -1,
		.mode_after = -1,
		.count = 1,
		.last_wall_ns = record->wall_ns,
	};
}

static unsigned long epoch_of(const struct recorder *recorder)
{
	/* relaxed: names change under the tree lock, which orders it */
	return atomic_load_explicit(&recorder->epoch, memory_order_relaxed);
}

static int begin_recorded(struct recording *recording,
			  const struct record_change *change,
			  struct journal_record *record)
{
	struct recorder *recorder = view_of(change)->fs->recorder;
	AUTO_BUF path = BUF_INIT;
	AUTO_BUF path2 = BUF_INIT;
	int error;

	add_paths(change, &path, &path2);
	error = buf_error(&path);
	error = error ? error : buf_error(&path2);
	if (error) {
		return error;
	}
	record->path = path.data;
	record->path2 = change->name2 ? path2.data : NULL;
	if (changes_names(change->op)) {
		/* relaxed: as epoch_of */
		atomic_fetch_add_explicit(&recorder->epoch, 1,
					  memory_order_relaxed);
	}
	error = journal_begin(recorder->journal, record, epoch_of(recorder),
			      change->room, &recording->ref);
	if (error) {
		recorder_tell_refused(recorder, error);
		return error;
	}
	recording->outcome = expected_outcome(record);
	recording->recorder = recorder;
	return 0;
}

int record_begin(struct recording *recording,
		 const struct record_change *change)
{
	struct recorder *recorder = view_of(change)->fs->recorder;
	struct journal_record record;

	*recording = (struct recording){0};
	if (!recorder) {
		return 0;
	}
	record = record_of(change, recorder);
	if (change->node) {
		/* A write after this is another. */
		change->node->last_write = 0;
		set_node_locked(&record, change->node);
	}
	return begin_recorded(recording, change, &record);
}

int record_begin_node(struct recording *recording,
		      const struct record_change *change)
{
	struct node *node = change->node;
	int error;

	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	error = record_begin(recording, change);
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
	return error;
}

int record_begin_copy(struct recording *recording,
		      const struct record_change *change, struct node *from)
{
	struct record_change with_source = *change;
	AUTO_BUF path = BUF_INIT;

	if (change->node->view->fs->recorder) {
		if (from->view != change->node->view) {
			buf_addf(&path, "../%s/", from->view->name);
		}
		rwlock_take_shared(&from->view->tree);
		lock_take(&from->lock);
		view_node_path(from, &path);
		lock_drop(&from->lock);
		rwlock_drop(&from->view->tree);
	}
	with_source.name2 = path.data;
	return record_begin_node(recording, &with_source);
}

/* Goes on with the record of the last write. */
static bool resume_write(struct recording *recording, struct node *node,
			 const struct journal_record *record)
{
	struct recorder *recorder = node->view->fs->recorder;
	bool resumed;

	lock_take(&node->lock);
	resumed = journal_resume(recorder->journal, node->last_write, record,
				 epoch_of(recorder), &recording->ref,
				 &recording->outcome);
	lock_drop(&node->lock);
	if (resumed) {
		recording->recorder = recorder;
		recording->bytes_before = recording->outcome.bytes;
		recording->outcome.count++;
		recording->outcome.last_wall_ns = record->wall_ns;
	}
	return resumed;
}

static int begin_write(struct recording *recording,
		       const struct record_change *change,
		       struct journal_record *record)
{
	struct node *node = change->node;
	int error;

	rwlock_take_shared(&node->view->tree);
	lock_take(&node->lock);
	set_node_locked(record, node);
	error = begin_recorded(recording, change, record);
	node->last_write = error ? 0
				 : journal_token(recording->recorder->journal,
						 &recording->ref);
	lock_drop(&node->lock);
	rwlock_drop(&node->view->tree);
	return error;
}

int record_begin_write(struct recording *recording, struct node *node,
		       const struct caller *caller, off_t off, size_t size)
{
	const struct record_change change = {
		.op = JOURNAL_WRITE,
		.caller = caller,
		.node = node,
		.offset = off,
		.bytes = (off_t)size,
	};
	struct journal_record record;

	*recording = (struct recording){0};
	if (!node->view->fs->recorder) {
		return 0;
	}
	record = record_of(&change, node->view->fs->recorder);
	return resume_write(recording, node, &record)
		       ? 0
		       : begin_write(recording, &change, &record);
}

void record_after(struct recording *recording, const struct stat *st)
{
	recording->outcome.ino = st->st_ino;
	recording->outcome.mode_after = (int32_t)st->st_mode;
	recording->outcome.size_after = S_ISREG(st->st_mode) ? st->st_size : -1;
}

int record_end(struct recording *recording, int error)
{
	if (recording->recorder) {
		recording->outcome.result = error;
		journal_done(recording->recorder->journal, &recording->ref,
			     &recording->outcome);
	}
	return error;
}

ssize_t record_end_bytes(struct recording *recording, ssize_t n)
{
	int error = n < 0 ? (int)n : 0;

	recording->outcome.bytes = recording->bytes_before + (n > 0 ? n : 0);
	error = record_end(recording, error);
	return error ? error : n;
}

void record_refused(struct node *parent, const char *name,
		    const struct caller *caller)
{
	struct recording recording;
	int error = record_begin(&recording, &(struct record_change){
						     .op = JOURNAL_REFUSED,
						     .caller = caller,
						     .parent = parent,
						     .name = name,
						     .bytes = -1,
					     });

	/* Nothing is changed, so nothing is refused for want of room. */
	(void)!record_end(&recording, error ? error : -ENOENT);
}
