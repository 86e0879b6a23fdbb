#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "cgroup.h"
#include "child.h"
#include "doctor.h"
#include "err.h"
#include "failure.h"
#include "fdio.h"
#include "programs.h"
#include "scratch.h"

#define FILE_BYTES_MAX      ((size_t)64 * 1024)
#define BWRAP_OLDEST        8  /* 0.8 */
#define BWRAP_FOLLOWS_BELOW 12 /* 0.12 */
#define KERNEL_OLDEST       6001
#define KERNEL_PASSTHROUGH  6009
#define WATCHES_WANTED      65536L
#define INSTANCES_WANTED    128L
#define PROFILE_FOR_BWRAP                                                      \
	"as root write /etc/apparmor.d/bwrap with\n"                           \
	"  abi <abi/4.0>,\n"                                                   \
	"  include <tunables/global>\n"                                        \
	"  profile bwrap /usr/bin/bwrap flags=(unconfined) {\n"                \
	"    userns,\n"                                                        \
	"    include if exists <local/bwrap>\n"                                \
	"  }\n"                                                                \
	"and load it: apparmor_parser -r /etc/apparmor.d/bwrap"

static PRINTF_LIKE(3, 4) void find(struct finding *finding,
				   enum finding_state state, const char *format,
				   ...)
{
	va_list args;
	char *text = NULL;

	va_start(args, format);
	die_if_no_memory(vasprintf(&text, format, args) < 0);
	va_end(args);
	finding->state = state;
	buf_adds(&finding->text, text);
	free(text);
}

/* A file's text without its last newline; "" for one that isn't there. */
static void read_setting(const char *root, const char *path, struct buf *text)
{
	AUTO_FREE char *whole = text_format("%s%s", root, path);
	AUTO_FD fd = open(whole, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		(void)!fdio_read_all(fd, text, FILE_BYTES_MAX);
	}
	if (text->len > 0 && text->data[text->len - 1] == '\n') {
		buf_truncate(text, text->len - 1);
	}
}

static long setting_number(const char *path, long otherwise)
{
	AUTO_BUF text = BUF_INIT;

	read_setting("", path, &text);
	return isdigit((unsigned char)text.data[0])
		       ? strtol(text.data, NULL, 10)
		       : otherwise;
}

int doctor_kernel_version(const char *release)
{
	int major = 0;
	int minor = 0;

	(void)sscanf(release, "%d.%d", &major, &minor);
	return major * 1000 + minor;
}

static int this_kernel(struct utsname *ret_names)
{
	return uname(ret_names) < 0 ? 0
				    : doctor_kernel_version(ret_names->release);
}

static void probe_kernel(struct finding *finding, const char *scratch_dir)
{
	struct utsname names;
	int version = this_kernel(&names);

	(void)scratch_dir;
	find(finding, version >= KERNEL_OLDEST ? FINDING_OK : FINDING_COSTS,
	     "Linux %s%s", names.release,
	     version >= KERNEL_OLDEST ? "" : ": older than any that is tested");
}

static void probe_bwrap(struct finding *finding, const char *scratch_dir)
{
	AUTO_FREE char *path = programs_in_path("bwrap");
	char option[] = "--version";
	AUTO_BUF output = BUF_INIT;
	int minor = 0;
	int major = 0;

	(void)scratch_dir;
	if (!path) {
		find(finding, FINDING_FAILS, "bubblewrap is not installed");
		buf_adds(&finding->fix, "install the package bubblewrap");
		return;
	}
	if (child_run((char *[]){path, option, NULL}, NULL, NULL, &output) !=
		    0 ||
	    sscanf(output.data, "bubblewrap %d.%d", &major, &minor) != 2) {
		find(finding, FINDING_FAILS, "'%s' does not tell its version",
		     path);
		return;
	}
	if (major == 0 && minor < BWRAP_OLDEST) {
		find(finding, FINDING_FAILS,
		     "bubblewrap %d.%d: it must be 0.%d or newer", major, minor,
		     BWRAP_OLDEST);
		buf_adds(&finding->fix, "install a newer bubblewrap");
	} else if (major == 0 && minor < BWRAP_FOLLOWS_BELOW) {
		find(finding, FINDING_COSTS,
		     "bubblewrap %d.%d follows links below mount targets "
		     "(GHSA-pxhw-h44j-8pfx); no target lies behind one that "
		     "an agent made, but a newer one is a second lock",
		     major, minor);
		buf_adds(&finding->fix, "install bubblewrap 0.12 or newer");
	} else {
		find(finding, FINDING_OK, "bubblewrap %d.%d", major, minor);
	}
}

void doctor_explain_namespaces(struct finding *finding, const char *root)
{
	AUTO_BUF restricted = BUF_INIT;
	AUTO_BUF allowed = BUF_INIT;
	AUTO_BUF most = BUF_INIT;

	read_setting(root,
		     "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
		     &restricted);
	read_setting(root, "/proc/sys/kernel/unprivileged_userns_clone",
		     &allowed);
	read_setting(root, "/proc/sys/user/max_user_namespaces", &most);
	if (strcmp(allowed.data, "0") == 0) {
		find(finding, FINDING_FAILS,
		     "user namespaces are turned off for ordinary users");
		buf_adds(&finding->fix, "as root: sysctl "
					"kernel.unprivileged_userns_clone=1");
	} else if (strcmp(most.data, "0") == 0) {
		find(finding, FINDING_FAILS,
		     "there may be no user namespaces (user."
		     "max_user_namespaces is 0)");
		buf_adds(&finding->fix,
			 "as root: sysctl user.max_user_namespaces=15000");
	} else if (strcmp(restricted.data, "1") == 0) {
		find(finding, FINDING_FAILS,
		     "AppArmor refuses user namespaces to bubblewrap");
		buf_adds(&finding->fix, PROFILE_FOR_BWRAP);
	} else {
		find(finding, FINDING_FAILS,
		     "bubblewrap can't make a sandbox here: a container "
		     "around this may refuse user namespaces or mounts");
	}
}

/* Through bwrap, since the right may be bwrap's alone. */
static void probe_namespaces(struct finding *finding, const char *scratch_dir)
{
	AUTO_FREE char *path = programs_in_path("bwrap");
	char *argv[] = {path,
			(char[]){"--unshare-user"},
			(char[]){"--unshare-pid"},
			(char[]){"--ro-bind"},
			(char[]){"/"},
			(char[]){"/"},
			(char[]){"--proc"},
			(char[]){"/proc"},
			(char[]){"true"},
			NULL};

	(void)scratch_dir;
	if (path && child_run(argv, NULL, NULL, NULL) == 0) {
		find(finding, FINDING_OK, "user namespaces can be made");
	} else if (path && geteuid() == 0) {
		find(finding, FINDING_COSTS,
		     "no user namespaces: root's sandboxes need none");
	} else {
		doctor_explain_namespaces(finding, "");
	}
}

static void probe_fuse(struct finding *finding, const char *scratch_dir)
{
	AUTO_FD fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	(void)scratch_dir;
	if (fd >= 0) {
		find(finding, FINDING_OK, "/dev/fuse can be opened");
		return;
	}
	find(finding, FINDING_FAILS, "/dev/fuse can't be opened: %s",
	     err_text(errno));
	buf_adds(&finding->fix,
		 errno == EACCES ? "as root: chmod 666 /dev/fuse, and a udev "
				   "rule that keeps it so"
				 : "as root: modprobe fuse; in a container, "
				   "pass /dev/fuse in");
}

static void probe_fusermount(struct finding *finding, const char *scratch_dir)
{
	AUTO_FREE char *path = programs_in_path("fusermount3");
	struct stat st;

	(void)scratch_dir;
	if (geteuid() == 0) {
		find(finding, FINDING_OK, "root mounts without fusermount3");
	} else if (!path) {
		find(finding, FINDING_FAILS, "fusermount3 is not installed");
		buf_adds(&finding->fix, "install the package fuse3");
	} else if (stat(path, &st) < 0 || st.st_uid != 0 ||
		   !(st.st_mode & S_ISUID)) {
		find(finding, FINDING_FAILS, "'%s' is not setuid root", path);
		buf_addf(&finding->fix, "as root: chmod u+s %s", path);
	} else {
		find(finding, FINDING_OK, "'%s' mounts for ordinary users",
		     path);
	}
}

/* Whether a line of /etc/fuse.conf says so. */
static void probe_allow_other(struct finding *finding, const char *scratch_dir)
{
	AUTO_BUF text = BUF_INIT;
	char *rest;
	char *line;
	bool allowed = false;

	(void)scratch_dir;
	read_setting("", "/etc/fuse.conf", &text);
	rest = text.len > 0 ? text.data : NULL;
	while ((line = strsep(&rest, "\n")) != NULL) {
		allowed = allowed || strcmp(line, "user_allow_other") == 0;
	}
	find(finding, FINDING_OK,
	     "user_allow_other is %s; it is only for "
	     "views that root or other users enter",
	     allowed ? "set" : "not set");
}

static void probe_passthrough(struct finding *finding, const char *scratch_dir)
{
	struct utsname names;
	int version = this_kernel(&names);

	(void)scratch_dir;
	if (version < KERNEL_PASSTHROUGH) {
		find(finding, FINDING_COSTS,
		     "no FUSE passthrough before Linux 6.9: large files are "
		     "read and written through the daemon");
	} else if (geteuid() != 0) {
		find(finding, FINDING_COSTS,
		     "FUSE passthrough needs root: large files are read and "
		     "written through the daemon");
	} else {
		find(finding, FINDING_OK, "the kernel has FUSE passthrough");
	}
}

static void probe_uring(struct finding *finding, const char *scratch_dir)
{
	AUTO_BUF text = BUF_INIT;

	(void)scratch_dir;
	read_setting("", "/sys/module/fuse/parameters/enable_uring", &text);
	find(finding, FINDING_OK, "FUSE over io_uring: %s",
	     text.len == 0         ? "not in this kernel"
	     : text.data[0] == 'Y' ? "on"
				   : "off");
}

static void probe_cgroups(struct finding *finding, const char *scratch_dir)
{
	static const struct limits limits = {
		.values = {[LIMIT_MEMORY] = 1ULL << 30,
			   [LIMIT_PIDS] = 1000,
			   [LIMIT_CPU] = 1000}};
	AUTO_FREE char *name = text_format("doctor-%d", getpid());
	bool done[LIMIT_COUNT] = {false};
	struct cgroup cgroup;

	(void)scratch_dir;
	cgroup_make(&cgroup, name, &limits, done);
	cgroup_remove(&cgroup);
	if (done[LIMIT_MEMORY] && done[LIMIT_PIDS] && done[LIMIT_CPU]) {
		find(finding, FINDING_OK,
		     "control groups limit memory, processes and processors");
		return;
	}
	find(finding, FINDING_COSTS, "--limits has no effect on%s%s%s",
	     done[LIMIT_MEMORY] ? "" : " memory",
	     done[LIMIT_PIDS] || geteuid() != 0 ? "" : " pids",
	     done[LIMIT_CPU] ? "" : " cpu");
}

static void probe_scratch(struct finding *finding, const char *scratch_dir)
{
	AUTO_FREE char *folder = text_format("%s/.doctor-XXXXXX", scratch_dir);
	const char *lacks;
	AUTO_FD fd = -1;
	struct stat st;

	if (stat(scratch_dir, &st) < 0) {
		find(finding, FINDING_OK, "'%s' is made by the first run",
		     scratch_dir);
		return;
	}
	if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
		find(finding, FINDING_FAILS,
		     "'%s' is not yours alone to write in", scratch_dir);
		buf_adds(&finding->fix, "choose another with --scratch-dir");
		return;
	}
	if (!mkdtemp(folder)) {
		find(finding, FINDING_FAILS, "cannot write in '%s': %s",
		     scratch_dir, err_text(errno));
		return;
	}
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lacks = scratch_lacks(fd);
	rmdir(folder);
	if (lacks) {
		find(finding, FINDING_FAILS, "the disk of '%s' has no %s",
		     scratch_dir, lacks);
		buf_adds(&finding->fix, "choose another with --scratch-dir");
	} else {
		find(finding, FINDING_OK,
		     "the disk of '%s' has extended attributes", scratch_dir);
	}
}

static void probe_inotify(struct finding *finding, const char *scratch_dir)
{
	long watches = setting_number("/proc/sys/fs/inotify/max_user_watches",
				      WATCHES_WANTED);
	long instances = setting_number(
		"/proc/sys/fs/inotify/max_user_instances", INSTANCES_WANTED);

	(void)scratch_dir;
	if (watches >= WATCHES_WANTED && instances >= INSTANCES_WANTED) {
		find(finding, FINDING_OK, "%ld inotify watches", watches);
		return;
	}
	find(finding, FINDING_COSTS,
	     "%ld inotify watches, %ld instances: in large checkouts, changes "
	     "that you make outside show in a view later",
	     watches, instances);
	buf_addf(&finding->fix,
		 "as root: sysctl fs.inotify.max_user_watches=524288 "
		 "fs.inotify.max_user_instances=1024");
}

const struct doctor_probe doctor_probes[] = {
	{"kernel", probe_kernel},           {"bubblewrap", probe_bwrap},
	{"namespaces", probe_namespaces},   {"fuse", probe_fuse},
	{"fusermount", probe_fusermount},   {"allow-other", probe_allow_other},
	{"passthrough", probe_passthrough}, {"io-uring", probe_uring},
	{"limits", probe_cgroups},          {"scratch", probe_scratch},
	{"inotify", probe_inotify},
};
const size_t doctor_n_probes = ARRAY_SIZE(doctor_probes);
