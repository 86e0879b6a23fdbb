/*
 * hint.h - "did you mean": the nearest of several words.
 *
 * Pure. Threads: any.
 */
#ifndef SANDBOX_HINT_H
#define SANDBOX_HINT_H

struct strv;

/* The word of `words` that one or two slips of the finger make of `text`, or
 * NULL. It is the list's. */
const char *hint_nearest(const char *text, const struct strv *words);

#endif
