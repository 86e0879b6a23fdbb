/*
 * repo.h - where the git repository of a checkout is, if not in it.
 *
 * .git is a file in a worktree and in a submodule ("gitdir: PATH"), and may be
 * a link. What it says may be written by anybody who wrote to the checkout, an
 * earlier agent too, so it is believed only where the other end agrees: a
 * worktree's repository names the worktree, a submodule's lies in the .git of a
 * folder above it. A repository that was put elsewhere (--separate-git-dir, a
 * link) has no such mark; it is taken unless it is the .git of another
 * checkout, whose content the agent would get to see.
 *
 * Nothing is run, and git's configuration is not read. Threads: one.
 */
#ifndef SANDBOX_REPO_H
#define SANDBOX_REPO_H

#include "compiler.h"

/* The canonical path of the folder that the sandbox needs beside the checkout
 * (canonical), NULL if it needs none; caller frees. 0, or prints and returns
 * EXIT_NOT_SET_UP. */
int repo_find(const char *checkout, char **ret_folder) MUST_CHECK;

#endif
