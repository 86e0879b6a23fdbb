#include "cgroup.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "buf.h"
#include "failure.h"
#include "fdio.h"

#define SHARED_V2          "legato"
#define NAME_PREFIX        "legato-"
#define TEXT_BYTES_MAX     ((size_t)1024 * 1024)
#define CPU_PERIOD_US      100000
#define REMOVE_TRIES       50
#define REMOVE_INTERVAL_MS 20
#define VALUE_BYTES        64

static const char *const controllers[LIMIT_COUNT] = {
	[LIMIT_MEMORY] = "memory",
	[LIMIT_PIDS] = "pids",
	[LIMIT_CPU] = "cpu",
};

/* ------------------------------------------------------------- the plan */

/* Whether `name` is one of those in `list`, with commas between. */
static bool is_listed(const char *list, size_t len, const char *name)
{
	size_t name_len = strlen(name);

	while (len > 0) {
		const char *comma = memchr(list, ',', len);
		size_t item = comma ? (size_t)(comma - list) : len;

		if (item == name_len && strncmp(list, name, item) == 0) {
			return true;
		}
		item += comma != NULL;
		list += item;
		len -= item;
	}
	return false;
}

/* The launcher's group of a v1 controller, "" for v2's: the path in a line
 * "4:memory:/path". Caller frees; NULL if there is none. */
static char *own_path(const char *self, const char *controller)
{
	while (*self) {
		size_t len = strcspn(self, "\n");
		const char *first = memchr(self, ':', len);
		const char *second =
			first ? memchr(first + 1, ':',
				       len - (size_t)(first + 1 - self))
			      : NULL;

		if (second &&
		    (*controller ? is_listed(first + 1,
					     (size_t)(second - first - 1),
					     controller)
				 : second == first + 1)) {
			const char *path = second + 1;

			return text_format("%.*s", (int)(self + len - path),
					   path);
		}
		self += len + (self[len] == '\n');
	}
	return NULL;
}

/* Where v1's controller, or v2 (NULL), is mounted. Caller frees. */
static char *mounted_at(const char *mounts, const char *controller)
{
	AUTO_FREE char *copy = text_copy(mounts);
	char *lines = copy;
	char *line;

	while ((line = strsep(&lines, "\n")) != NULL) {
		const char *device = strsep(&line, " ");
		const char *at = strsep(&line, " ");
		const char *type = strsep(&line, " ");
		const char *options = strsep(&line, " ");

		if (!device || !options) {
			continue;
		}
		if (controller ? strcmp(type, "cgroup") == 0 &&
					 is_listed(options, strlen(options),
						   controller)
			       : strcmp(type, "cgroup2") == 0) {
			return text_copy(at);
		}
	}
	return NULL;
}

static void plan_v1(struct cgroup_plan *plan, const char *self,
		    const char *mounts, const char *id, enum limit limit)
{
	AUTO_FREE char *own = own_path(self, controllers[limit]);
	AUTO_FREE char *top = mounted_at(mounts, controllers[limit]);
	AUTO_FREE char *path = NULL;

	if (!own || !top) {
		return;
	}
	path = text_format("%s%s/" NAME_PREFIX "%s", top,
			   strcmp(own, "/") == 0 ? "" : own, id);
	for (int i = 0; i < plan->count; i++) { /* cpu,cpuacct are one */
		if (strcmp(plan->folders[i].path, path) == 0) {
			plan->folders[i].limits[limit] = true;
			return;
		}
	}
	plan->folders[plan->count] =
		(struct cgroup_folder){.path = TAKE_PTR(path)};
	plan->folders[plan->count++].limits[limit] = true;
}

static void plan_v2(struct cgroup_plan *plan, const char *mounts,
		    const char *id, const bool wanted[LIMIT_COUNT])
{
	AUTO_FREE char *top = mounted_at(mounts, NULL);
	struct cgroup_folder *folder = &plan->folders[plan->count];

	if (!top) {
		return;
	}
	*folder = (struct cgroup_folder){
		.path = text_format("%s/" SHARED_V2 "/" NAME_PREFIX "%s", top,
				    id),
		.shared = text_format("%s/" SHARED_V2, top),
		.is_v2 = true,
	};
	memcpy(folder->limits, wanted, sizeof(folder->limits));
	plan->count++;
}

void cgroup_plan(struct cgroup_plan *ret_plan, const char *self,
		 const char *mounts, const char *id,
		 const struct limits *limits)
{
	bool left[LIMIT_COUNT] = {false};
	bool any = false;

	*ret_plan = (struct cgroup_plan){0};
	for (int i = 0; i < LIMIT_COUNT; i++) {
		AUTO_FREE char *v1 = mounted_at(mounts, controllers[i]);

		if (limits->values[i] && v1) {
			plan_v1(ret_plan, self, mounts, id, (enum limit)i);
		} else if (limits->values[i]) {
			left[i] = any = true;
		}
	}
	if (any) {
		plan_v2(ret_plan, mounts, id, left);
	}
}

void cgroup_plan_release(struct cgroup_plan *plan)
{
	for (int i = 0; i < plan->count; i++) {
		free(plan->folders[i].path);
		free(plan->folders[i].shared);
	}
	plan->count = 0;
}

/* ------------------------------------------------------------- on the disk */

static int read_text(const char *path, struct buf *ret_text)
{
	AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fdio_read_all(fd, ret_text, TEXT_BYTES_MAX);
}

static int write_in(const char *folder, const char *name, const char *text)
{
	AUTO_FREE char *path = text_format("%s/%s", folder, name);
	AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fdio_write_all(fd, text, strlen(text));
}

static int set_memory(const struct cgroup_folder *folder, const char *value)
{
	int error;

	if (folder->is_v2) {
		error = write_in(folder->path, "memory.max", value);
		if (!error) { /* not all kernels count swap */
			(void)!write_in(folder->path, "memory.swap.max", "0");
		}
		return error;
	}
	error = write_in(folder->path, "memory.limit_in_bytes", value);
	if (!error) {
		(void)!write_in(folder->path, "memory.memsw.limit_in_bytes",
				value);
	}
	return error;
}

static int set_cpu(const struct cgroup_folder *folder, uint64_t milli)
{
	uint64_t quota_us = milli * CPU_PERIOD_US / 1000;
	char text[VALUE_BYTES];

	if (folder->is_v2) {
		snprintf(text, sizeof(text), "%" PRIu64 " %d", quota_us,
			 CPU_PERIOD_US);
		return write_in(folder->path, "cpu.max", text);
	}
	snprintf(text, sizeof(text), "%" PRIu64, quota_us);
	return write_in(folder->path, "cpu.cfs_quota_us", text);
}

static int set_limit(const struct cgroup_folder *folder, enum limit limit,
		     uint64_t value)
{
	char text[VALUE_BYTES];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	switch (limit) {
	case LIMIT_MEMORY:
		return set_memory(folder, text);
	case LIMIT_PIDS:
		return write_in(folder->path, "pids.max", text);
	case LIMIT_CPU:
		return set_cpu(folder, value);
	case LIMIT_COUNT:
		break;
	}
	return -EINVAL;
}

/* v2: the folder of ours above, which hands the controllers on. The top has
 * done that already where systemd runs; it isn't ours to change. */
static void make_shared(const struct cgroup_folder *folder)
{
	if (!folder->shared) {
		return;
	}
	(void)!mkdir(folder->shared, 0755);
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (folder->limits[i]) {
			AUTO_FREE char *text =
				text_format("+%s", controllers[i]);

			(void)!write_in(folder->shared,
					"cgroup.subtree_control", text);
		}
	}
}

/* A group without its limits is no use, and goes again. */
static void make_folder(struct cgroup *cgroup, int index,
			const struct limits *limits, bool done[LIMIT_COUNT])
{
	struct cgroup_folder *folder = &cgroup->plan.folders[index];
	AUTO_FREE char *procs = text_format("%s/cgroup.procs", folder->path);
	bool any = false;

	make_shared(folder);
	if (mkdir(folder->path, 0755) < 0) {
		return;
	}
	cgroup->procs_fds[index] = open(procs, O_WRONLY | O_CLOEXEC);
	for (int i = 0; i < LIMIT_COUNT && cgroup->procs_fds[index] >= 0; i++) {
		if (folder->limits[i] &&
		    set_limit(folder, (enum limit)i, limits->values[i]) == 0) {
			done[i] = any = true;
		}
	}
	if (!any) {
		auto_close_fd(&cgroup->procs_fds[index]);
		cgroup->procs_fds[index] = -1;
		rmdir(folder->path);
	}
}

void cgroup_make(struct cgroup *ret_cgroup, const char *id,
		 const struct limits *limits, bool ret_done[LIMIT_COUNT])
{
	AUTO_BUF self = BUF_INIT;
	AUTO_BUF mounts = BUF_INIT;

	*ret_cgroup = (struct cgroup){0};
	if (read_text("/proc/self/cgroup", &self) < 0 ||
	    read_text("/proc/self/mounts", &mounts) < 0) {
		return;
	}
	cgroup_plan(&ret_cgroup->plan, self.data, mounts.data, id, limits);
	for (int i = 0; i < ret_cgroup->plan.count; i++) {
		ret_cgroup->procs_fds[i] = -1;
		make_folder(ret_cgroup, i, limits, ret_done);
	}
}

int cgroup_add(const struct cgroup *cgroup, pid_t pid)
{
	char text[VALUE_BYTES];
	int error = 0;

	snprintf(text, sizeof(text), "%d", pid);
	for (int i = 0; !error && i < cgroup->plan.count; i++) {
		if (cgroup->procs_fds[i] >= 0) {
			error = fdio_write_all(cgroup->procs_fds[i], text,
					       strlen(text));
		}
	}
	return error;
}

int cgroup_join(const struct cgroup *cgroup)
{
	return cgroup_add(cgroup, 0);
}

/* What was killed takes a moment to leave. */
static void remove_folder(const char *path)
{
	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (rmdir(path) == 0 || errno != EBUSY) {
			return;
		}
		poll(NULL, 0, REMOVE_INTERVAL_MS);
	}
	warning("cannot remove control group '%s'", path);
}

void cgroup_remove(struct cgroup *cgroup)
{
	for (int i = 0; i < cgroup->plan.count; i++) {
		const struct cgroup_folder *folder = &cgroup->plan.folders[i];

		if (cgroup->procs_fds[i] < 0) {
			continue;
		}
		close(cgroup->procs_fds[i]);
		if (folder->is_v2) {
			(void)!write_in(folder->path, "cgroup.kill", "1");
		}
		remove_folder(folder->path);
		if (folder->shared) {
			rmdir(folder->shared); /* others' groups keep it */
		}
	}
	cgroup_plan_release(&cgroup->plan);
}
