/*
 * states.h - the states in which an operation may find a file.
 *
 * Each case runs once per state, in a folder of its own that holds the same
 * names (below) and differs only in how they came to be: phase 1 builds what
 * is in the base before the mount, phase 2 goes on through the view. On the
 * plain directory both phases run in the same place, so that the outcome is
 * the same tree by construction.
 *
 *   f g         files of one line              l -> f, ld -> d, lx -> nowhere
 *   big         300 KiB                        p  a FIFO
 *   h1 h2       two names of one file          s  a socket's name
 *   d/a d/b d/sub/x d/sub/deep/y               e  an empty folder
 *
 * "gone" and "goned" do not exist; in the states that delete they did.
 * All files and folders have times in 2001, so that a copy-up that touches
 * them shows; f has the attribute user.note.
 */
#ifndef TESTS_PARITY_STATES_H
#define TESTS_PARITY_STATES_H

#include <stddef.h>

#define STATE_BIG_BYTES (300 * 1024)

enum state {
	STATE_BASE,     /* all in the base */
	STATE_UPPER,    /* all made through the view */
	STATE_COPIED,   /* in the base, then touched, so copied up */
	STATE_MIXED,    /* half and half, in the same folders */
	STATE_WHITEOUT, /* deleted through the view and made again */
	STATE_SWAPPED,  /* the same, and the base's had other types */
	STATE_MOVED,    /* the folder around it was renamed in the view */
	STATE_COUNT,
};

#define STATE_BIT(state) (1U << (state))
#define STATE_ALL        (STATE_BIT(STATE_COUNT) - 1)
/* For what takes long: in the base, in the upper, half and half. */
#define STATE_FEW                                                              \
	(STATE_BIT(STATE_BASE) | STATE_BIT(STATE_UPPER) |                      \
	 STATE_BIT(STATE_MIXED))

const char *state_name(enum state state);

/*
 * Builds phase 1 or phase 2 of `state` below the present folder, where
 * phase 1 has to come first; the names are then in "w". Ends the process when
 * phase 1 can't be built; phase 2 returns 0, or -1 with errno and *ret_what.
 */
void state_build_base(enum state state);
int state_build_view(enum state state, const char **ret_what);

#endif
