#include "argv.h"

#include <string.h>

#include "env.h"
#include "failure.h"
#include "view.h"

/*
 * As root the command has no user namespace around it, and bwrap leaves it
 * every capability: then it could remount /usr writable, or open disks. It
 * keeps what root in a container has that builds and installs need.
 */
static const char *const root_capabilities[] = {
	"CAP_CHOWN",      "CAP_DAC_OVERRIDE", "CAP_FOWNER",
	"CAP_FSETID",     "CAP_KILL",         "CAP_SETGID",
	"CAP_SETUID",     "CAP_SETPCAP",      "CAP_NET_BIND_SERVICE",
	"CAP_SYS_CHROOT", "CAP_SETFCAP",
};

static void add_privileges(struct strv *args, bool privileged)
{
	if (!privileged) {
		strv_add(args, "--unshare-user");
		return;
	}
	strv_add_all(args, "--cap-drop", "ALL", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(root_capabilities); i++) {
		strv_add_all(args, "--cap-add", root_capabilities[i], NULL);
	}
}

static void add_mount(struct strv *args, const struct mount *mount)
{
	switch (mount->kind) {
	case MOUNT_RO_BIND:
		strv_add_all(args, "--ro-bind", mount->source, mount->target,
			     NULL);
		break;
	case MOUNT_BIND:
		strv_add_all(args, "--bind", mount->source, mount->target,
			     NULL);
		break;
	case MOUNT_LINK:
		strv_add_all(args, "--symlink", mount->source, mount->target,
			     NULL);
		break;
	case MOUNT_FOLDER:
		strv_add_all(args, "--dir", mount->target, NULL);
		break;
	case MOUNT_PROC:
		strv_add_all(args, "--proc", mount->target, NULL);
		break;
	case MOUNT_DEV:
		strv_add_all(args, "--dev", mount->target, NULL);
		break;
	}
}

static void add_variables(struct strv *args, const struct strv *variables)
{
	for (size_t i = 0; i < variables->count; i++) {
		const char *variable = variables->list[i];
		const char *equals = strchr(variable, '=');

		strv_add(args, "--setenv");
		strv_addf(args, "%.*s", (int)(equals - variable), variable);
		strv_add(args, equals + 1);
	}
}

void argv_add_options(struct strv *ret_args, const struct argv_plan *plan)
{
	strv_add_all(ret_args, "--unshare-pid", "--unshare-ipc",
		     "--unshare-uts", "--die-with-parent", NULL);
	add_privileges(ret_args, plan->privileged);
	for (size_t i = 0; i < plan->mounts->count; i++) {
		add_mount(ret_args, &plan->mounts->list[i]);
	}
	/* What lies in no view is in memory, seen by no diff and no quota. */
	strv_add_all(ret_args, "--remount-ro", "/", NULL);
	strv_add_all(ret_args, "--chdir", plan->cwd, "--clearenv", NULL);
	add_variables(ret_args, &plan->env->added);
	add_variables(ret_args, &plan->env->passed);
	strv_add(ret_args, "--seccomp");
	strv_addf(ret_args, "%d", plan->seccomp_fd);
	strv_add(ret_args, "--json-status-fd");
	strv_addf(ret_args, "%d", plan->status_fd);
}

void argv_add_command(struct strv *ret_argv, const char *bwrap, int args_fd,
		      unsigned int ignored, int error_fd, int command_fd)
{
	strv_add_all(ret_argv, bwrap, "--args", NULL);
	strv_addf(ret_argv, "%d", args_fd);
	strv_add_all(ret_argv, "--", VIEW_EXEC_AT, NULL);
	strv_addf(ret_argv, "%#x", ignored);
	strv_addf(ret_argv, "%d", error_fd);
	strv_addf(ret_argv, "%d", command_fd);
}
