#include "argv.h"

#include <inttypes.h>
#include <string.h>

#include "env.h"
#include "privileges.h"
#include "view.h"

static void add_privileges(struct strv *args, bool privileged)
{
	if (!privileged) {
		strv_add(args, "--unshare-user");
		return;
	}
	strv_add_all(args, "--cap-drop", "ALL", NULL);
	for (size_t i = 0; i < privileges_n_root; i++) {
		strv_add_all(args, "--cap-add", privileges_root[i].name, NULL);
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
	case MOUNT_COVER_FILE:
		/* bwrap mounts with nodev: opening it gives EACCES. */
		strv_add_all(args, "--ro-bind", "/dev/null", mount->target,
			     NULL);
		break;
	case MOUNT_COVER_DIR:
		strv_add_all(args, "--perms", "0000", "--tmpfs", mount->target,
			     "--remount-ro", mount->target, NULL);
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
	/* The shim is the init, not bwrap, which what runs inside can trace. */
	strv_add_all(ret_args, "--unshare-pid", "--as-pid-1", "--unshare-ipc",
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

void argv_add_shim(struct strv *ret_argv, const struct argv_shim *shim)
{
	strv_add_all(ret_argv, VIEW_EXEC_AT, shim->mode, NULL);
	strv_addf(ret_argv, "%#x", shim->ignored);
	strv_addf(ret_argv, "%d", shim->error_fd);
	strv_addf(ret_argv, "%d", shim->command_fd);
	strv_addf(ret_argv, "%d", shim->launcher_fd);
	strv_addf(ret_argv, "%" PRIu64, shim->max_pids);
}

void argv_add_command(struct strv *ret_argv, const char *bwrap, int args_fd,
		      const struct argv_shim *shim)
{
	strv_add_all(ret_argv, bwrap, "--args", NULL);
	strv_addf(ret_argv, "%d", args_fd);
	strv_add(ret_argv, "--");
	argv_add_shim(ret_argv, shim);
}
