/*
 * verbs.h - what legato-diff can do, one source file for each.
 *
 * `legato-diff VERB ...`, with the verb first; anything else is the verbless
 * form, which shows the changes. A new verb is a function here, a source
 * verb_NAME.c and a row in the table in main.c.
 *
 * Threads: main thread only.
 */
#ifndef TOOLS_DIFF_VERBS_H
#define TOOLS_DIFF_VERBS_H

/*
 * Runs with argv[0] the verb itself (so that getopt_long sees its options
 * only); libgit2 and the owner's helper are up. Returns the exit status.
 */
typedef int verb_fn(int argc, char **argv);

/* verb_show.c: the changes themselves; the verbless form. */
verb_fn show_main;

/* verb_apply.c: takes changes over into the real tree. */
verb_fn apply_main;
/* verb_export.c: changes in a form for other programs. */
verb_fn export_main;
/* verb_log.c: the journal as a timeline. */
verb_fn log_main;
/* verb_why.c: who changed a path last. */
verb_fn why_main;
/* verb_verify.c: whether the journal and the views agree. */
verb_fn verify_main;

/* verb_tui.c: the same on a terminal, to be marked. */
verb_fn tui_main;

#endif
