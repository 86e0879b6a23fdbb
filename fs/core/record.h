/*
 * record.h - putting a change on the record: what each operation calls.
 *
 *	struct recording recording;
 *	int error = record_begin(&recording, &(struct record_change){...});
 *
 *	error = error ? error : the change;
 *	return record_end(&recording, error);
 *
 * The change is made only if it could be begun: nothing is done off the record
 * (journal.h says when it can't be). It is begun where its paths stand still:
 * under the locks under which it is made, or, for data, under the node's, so
 *that sequences are in an order in which the changes can be told.
 *
 * What is recorded: each attempt to change that the file system's rules allow,
 * with its result. What they refuse before (a name that is there, a directory
 * that isn't empty) changes nothing and isn't recorded.
 *
 * Where no journal is kept (fs->recorder is NULL) all this does nothing.
 */
#ifndef FS_CORE_RECORD_H
#define FS_CORE_RECORD_H

#include <sys/stat.h>

#include "journal.h"
#include "view.h"

struct recording {
	/* How it goes: to be filled in by the operation where it knows. */
	struct journal_outcome outcome;
	/* private */
	struct recorder *recorder; /* NULL: not recorded */
	struct journal_ref ref;
	int64_t bytes_before; /* of the calls before this one */
};

/* A node's change has `node`; a name's has `parent` and `name`. */
struct record_change {
	enum journal_op op;
	const struct caller *caller;
	struct node *node;
	struct node *parent;
	const char *name;
	struct node *parent2; /* of the second name */
	const char *name2;    /* alone: a whole path, or an attribute's name */
	const struct stat *before; /* what is changed; NULL: not known */
	off_t offset;              /* with `bytes` */
	off_t bytes;               /* asked for; -1: there are none */
	enum journal_room room;
};

/* Who asks, for caller->process; 0 where it isn't known or not recorded. The
 * caller holds no lock. */
uint64_t record_process(const struct fs *fs, pid_t thread);

/* The thread reads or writes the file: pages that the kernel writes later by
 * itself are put down to it. 0 (the kernel) changes nothing. */
static inline void record_user(struct node *node, pid_t thread)
{
	if (thread) {
		/* relaxed: a guess, which nothing hangs on */
		atomic_store_explicit(&node->last_user, thread,
				      memory_order_relaxed);
	}
}

/*
 * 0, or why it can't be recorded: -ENOSPC, -EIO, ... (recording is then to be
 * ended too). The caller holds the tree lock, and what guards the names in
 * `change`: the directory's lock, or the node's.
 */
int record_begin(struct recording *recording,
		 const struct record_change *change) MUST_CHECK;

/* The same, taking and dropping the locks of change->node. The caller holds
 * none. */
int record_begin_node(struct recording *recording,
		      const struct record_change *change) MUST_CHECK;

/* The same for a copy of data from another node, or the same one. */
int record_begin_copy(struct recording *recording,
		      const struct record_change *change,
		      struct node *from) MUST_CHECK;

/* The same for a write, which goes on with the record of the last one where
 * it is of the same process and the names are as they were. */
int record_begin_write(struct recording *recording, struct node *node,
		       const struct caller *caller, off_t off,
		       size_t size) MUST_CHECK;

/* What it is now, for the record. */
void record_after(struct recording *recording, const struct stat *st);

/* Ends it with 0 or -errno, which it returns. Must be called once. */
int record_end(struct recording *recording, int error) MUST_CHECK;

/* Ends it with the bytes that were written, or -errno. */
ssize_t record_end_bytes(struct recording *recording, ssize_t n) MUST_CHECK;

/* The name was not to be seen (masks.h): recorded as refused. The caller holds
 * the tree lock. */
void record_refused(struct node *parent, const char *name,
		    const struct caller *caller);

#endif
