/*
 * change.h - one line of the net difference, and the queue of them.
 *
 * Model: git's diffcore. collect.h fills the queue with what the upper
 * touches, each path once; independent steps (moved.h, rename.h, noise.h)
 * then rewrite it; the formats only read it.
 *
 * Invariants:
 * - `path` is relative to the view's root, never empty; the root itself is
 *   CHANGE_ROOT_PATH.
 * - A: only the new side exists. D: only the old one. M, T, R and
 *   CHANGE_NONE: both. T: the kinds differ. R: `old_path` is where the old
 *   side lies; everywhere else it lies at `path`.
 * - CHANGE_NONE (touched, but equal) is in the queue only until
 *   change_list_finish(), because the steps need its identity.
 *
 * Calling sequence: `struct change_list list = CHANGE_LIST_INIT;`, add,
 * steps, change_list_finish(), read items[0..n), change_list_release().
 * Pointers into the list are valid until the next add.
 *
 * Errors: -ENOMEM is the only one. Threads: one at a time.
 */
#ifndef TOOLS_DIFF_CHANGE_H
#define TOOLS_DIFF_CHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "compiler.h"
#include "origin.h"

enum change_letter {
	CHANGE_NONE = '=',
	CHANGE_ADDED = 'A',
	CHANGE_MODIFIED = 'M',
	CHANGE_DELETED = 'D',
	CHANGE_RENAMED = 'R',
	CHANGE_TYPE = 'T',
};

/* The letters that a reader sees, in the order in which they are told:
 * deletions first. */
#define CHANGE_LETTERS   "DTRMA"
#define CHANGE_N_LETTERS 5

enum change_kind {
	KIND_NONE = 0,
	KIND_FILE = 'f',
	KIND_DIR = 'd',
	KIND_LINK = 'l',
	KIND_FIFO = 'p',
	KIND_SOCKET = 's',
	KIND_BLOCK = 'b',
	KIND_CHAR = 'c',
};

#define CHANGE_ROOT_PATH "."

/* What differs, where both sides exist with the same kind. */
enum change_flags {
	CHANGE_CONTENT = 1 << 0, /* bytes, link target, device number */
	CHANGE_MODE = 1 << 1,
	CHANGE_XATTR = 1 << 2,
	/* A directory that is told only because all of them were asked for: it
	 * was added or deleted, and its content tells of it. */
	CHANGE_FILLED = 1 << 3,
};

/* Why a change is folded into a count unless everything is asked for. */
enum change_noise {
	NOISE_NONE,
	NOISE_GIT,       /* below a .git */
	NOISE_IGNORED,   /* by the base's ignore rules, and not tracked */
	NOISE_GENERATED, /* in a new folder that only programs write to */
	NOISE_N,
};

/* Where the new side's content is. */
enum change_place {
	PLACE_UPPER,  /* at `path` */
	PLACE_BASE,   /* elsewhere: a directory that was renamed shows it */
	PLACE_LINKS,  /* the copy of a base file with several names */
	PLACE_STAGED, /* kept by an apply until it is done (plan.h) */
};

struct change_side {
	enum change_kind kind; /* KIND_NONE: nothing is there */
	mode_t mode;           /* permission bits, 07777 */
	dev_t rdev;            /* KIND_BLOCK, KIND_CHAR */
	nlink_t n_links;
	struct origin id; /* identity, size and times when collected */
};

struct change {
	enum change_letter letter;
	unsigned int flags; /* enum change_flags */
	enum change_noise noise;
	char *path;              /* owned */
	char *old_path;          /* owned; R only */
	enum change_place place; /* of the new side */
	char *place_path;        /* owned; NULL for PLACE_UPPER */
	struct change_side old_side;
	struct change_side new_side;
	bool has_origin; /* it is known which base file the new side is or was
			  */
	struct origin origin;
	uint64_t taken_ns; /* until when the view showed the old side; 0: not
			      known, or told by `origin` */
	bool is_moved;     /* the base's entry changed since then (moved.h) */
};

struct change_list {
	struct change *items;
	size_t n;
	/* private */
	size_t capacity;
};

#define CHANGE_LIST_INIT                                                       \
	{                                                                      \
		.n = 0                                                         \
	}
#define AUTO_CHANGE_LIST AUTO(change_list_release) struct change_list

/* How many of each letter, and the bytes that the new sides' files hold. */
struct change_counts {
	size_t letters[CHANGE_N_LETTERS]; /* indexed as CHANGE_LETTERS */
	size_t total;
	uint64_t new_bytes;
};

void change_side_from_stat(struct change_side *ret_side, const struct stat *st);

/* Appends a change of nothing (CHANGE_NONE, no sides) that takes `path`;
 * NULL when out of memory, and then `path` is freed. */
struct change *change_list_add(struct change_list *list, char *path);

/* Adds to `equal` the files with several names that are CHANGE_NONE. 0 or
 * -ENOMEM. */
int change_list_keep_linked(struct change_list *list,
			    struct change_list *equal) MUST_CHECK;

/* The change at `path` of a finished list, or NULL. */
const struct change *change_list_find(const struct change_list *list,
				      const char *path);

/* Drops what is CHANGE_NONE and sorts by path, bytewise as git does. */
void change_list_finish(struct change_list *list);

void change_list_release(struct change_list *list);

void change_count(struct change_counts *counts, const struct change *change);

/* Where the old side of `change` lies. Borrowed. */
const char *change_old_path(const struct change *change);

#endif
