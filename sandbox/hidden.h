/*
 * hidden.h - which paths the rules of data/hidden.yaml mean here, and whether
 * a folder that is to be shown has to do with them.
 *
 * A rule's path is hidden where it is by default, where a variable moved it,
 * and where links in it lead; it need not exist. Two paths are compared by
 * where they are on their file system (mountinfo's device and root), so a bind
 * mount of a hidden folder is the hidden folder, and what is mounted inside a
 * shown folder is looked at as well. Nothing is walked, nothing hidden is
 * opened: two system calls for each path at most.
 *
 * Hard links to a hidden file from elsewhere are found in views, by the daemon
 * (mask_set.h), and in no real folder.
 *
 * Calling sequence: hidden_init, ask, hidden_release. Threads: one. The tables
 * must outlive it.
 */
#ifndef SANDBOX_HIDDEN_H
#define SANDBOX_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

#include "compiler.h"
#include "mountinfo.h"

struct expand;
struct hidden_rule;
struct strv;
struct tables;

/* Where something is, whichever way one gets there. */
struct place {
	dev_t dev;
	char *path; /* from the file system's own root */
};

struct hidden_path {
	const struct hidden_rule *rule;
	char *path; /* absolute, with the links in its folder resolved */
	struct place place;
	bool except; /* shown in spite of a rule around it */
};

struct hidden {
	struct hidden_path *paths;
	size_t count;
	/* private */
	struct mountinfo mounts;
};

/* 0, or prints and returns EXIT_NOT_SET_UP. Release in any case. */
int hidden_init(struct hidden *ret_hidden, const struct tables *tables,
		const struct expand *expand) MUST_CHECK;
void hidden_release(struct hidden *hidden);

/* The rule that hides `path` (canonical), because it is a path of the rule's
 * or lies in one; NULL if none does. */
const struct hidden_rule *hidden_around(const struct hidden *hidden,
					const char *path);

/* A hidden path that shows in `top` (canonical), and where. */
struct hidden_hit {
	const struct hidden_rule *rule;
	char *at; /* absolute, in `top`; owned by the hits */
};

struct hidden_hits {
	struct hidden_hit *list;
	size_t count;
};

void hidden_find_within(const struct hidden *hidden, const char *top,
			struct hidden_hits *ret_hits);
void hidden_hits_release(struct hidden_hits *hits);

#endif
