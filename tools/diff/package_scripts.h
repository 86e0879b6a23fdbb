/*
 * package_scripts.h - which scripts of a package.json changed.
 *
 * Its "scripts" are commands that npm and its like run, some of them without
 * being asked ("postinstall"); the rest of the file runs nothing.
 *
 * Threads: any; no state.
 */
#ifndef TOOLS_DIFF_PACKAGE_SCRIPTS_H
#define TOOLS_DIFF_PACKAGE_SCRIPTS_H

#include <stdbool.h>

#include "buf.h"
#include "change.h"
#include "compiler.h"
#include "sides.h"

/* Whether `path` is a package.json outside of node_modules. */
bool package_scripts_is_name(const char *path);

/* Adds "scripts changed: build, postinstall" to `buf`; nothing if none did, or
 * if a side is not JSON. 0 or -ENOMEM. */
int package_scripts_compare(struct buf *buf, const struct sides *sides,
			    const struct change *change) MUST_CHECK;

#endif
