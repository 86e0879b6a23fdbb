/*
 * sshconf.h - the system's ssh configuration, for an ordinary user.
 *
 * ssh refuses an included file ("Bad owner or permissions") that belongs to
 * neither root nor the user. In the user namespace of an ordinary user's
 * sandbox what is root's seems to be nobody's. So the files that
 * /etc/ssh/ssh_config includes, and those that they include, are copied into
 * the execution's folder, where they are the user's, and the copies stand in
 * their places, read-only. As root there is no namespace, and nothing to do.
 *
 * Calling sequence: sshconf_plan while mounts are planned, sshconf_make once
 * the execution's folder is there. Threads: one.
 */
#ifndef SANDBOX_SSHCONF_H
#define SANDBOX_SSHCONF_H

#include "compiler.h"

struct mounts;

#define SSHCONF_FOLDER "ssh" /* in the execution's folder */

/* Adds the mounts. What can't be read is left as it is. */
void sshconf_plan(struct mounts *mounts, const char *execution_path);

/* Makes the copies for what was planned. 0 or -errno. */
int sshconf_make(const struct mounts *mounts, int execution_fd) MUST_CHECK;

#endif
