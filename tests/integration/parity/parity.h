/*
 * parity.h - the table of cases.
 *
 * A case is a function that does what programs do to files and records what
 * comes back. It runs in a process of its own, in a folder that states.h
 * describes, first on a plain directory and then on the view; it must not
 * know which. All that differs is a failure, or stands in
 * expected-differences.md.
 *
 * After each case the tree that it leaves behind is recorded too.
 */
#ifndef TESTS_PARITY_PARITY_H
#define TESTS_PARITY_PARITY_H

#include "record.h"
#include "states.h"

enum parity_who {
	PARITY_ANYONE,
	PARITY_ROOT, /* needs root: other users, trusted attributes */
	PARITY_USER, /* needs a user whom permissions bind */
};

struct parity_case {
	const char *name;
	void (*run)(void);
	unsigned int states; /* STATE_BIT()s */
	enum parity_who who;
	/* More for the base, in "w" of phase 1; may be NULL. */
	void (*prepare)(void);
};

/* One array per file cases_*.c, ended by an entry without a name. */
extern const struct parity_case cases_calls[];
extern const struct parity_case cases_create[];
extern const struct parity_case cases_data[];
extern const struct parity_case cases_dir[];
extern const struct parity_case cases_limits[];
extern const struct parity_case cases_link[];
extern const struct parity_case cases_map[];
extern const struct parity_case cases_meta[];
extern const struct parity_case cases_open[];
extern const struct parity_case cases_owner[];
extern const struct parity_case cases_remove[];
extern const struct parity_case cases_rename[];
extern const struct parity_case cases_special[];
extern const struct parity_case cases_xattr[];

/* Compares two transcripts; prints TAP; 0 when nothing unexpected differs. */
int compare(const char *plain, const char *view, const char *expected);

#endif
