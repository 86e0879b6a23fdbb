/*
 * confine.h - what the daemon gives up before it answers the first request.
 *
 * A request, or a layer's content, that finds an error in the daemon must not
 * find the person's account behind it. So once all is mounted and open, all
 * threads lose, for good:
 * - every system call but those that serving takes: none that runs a program,
 *   makes a process, a socket or a mount, traces, signals others, or changes
 *   who it is (a seccomp filter that allows by name; other calls seem not to
 *   exist, so that a library that tries something new goes on without);
 * - new privileges by a program's set-user-id bit (no_new_privs);
 * - being traced and dumped by others of the same user (not dumpable).
 *
 * It may still open what its user may open, as it finds the paths of a layer's
 * files and reads of processes who they are.
 *
 * Calling sequence: confine, once, after keeper_start, owner_start and the
 * mount. Threads: it changes all there are, and what they start.
 */
#ifndef FS_FUSE_CONFINE_H
#define FS_FUSE_CONFINE_H

/* Where the kernel has no such filter, the log has a line, and the rest is
 * done. With a sanitizer, whose run-time library does all that is given up
 * here, it does nothing but say so. */
void confine(void);

#endif
