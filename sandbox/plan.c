#include "plan.h"

#include <string.h>

#include "argv.h"
#include "env.h"
#include "failure.h"
#include "programs.h"
#include "spec.h"
#include "view.h"

#define PLAIN_CHARS                                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"       \
	"_-+=./,:@%"

static void print_quoted(FILE *out, const char *text)
{
	if (*text && text[strspn(text, PLAIN_CHARS)] == '\0') {
		fputs(text, out);
		return;
	}
	fputc('\'', out);
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", out);
		} else {
			fputc(*text, out);
		}
	}
	fputc('\'', out);
}

const char *plan_kind_name(enum mount_kind kind)
{
	static const char *const kinds[] = {
		[MOUNT_RO_BIND] = "read-only",  [MOUNT_BIND] = "read-write",
		[MOUNT_LINK] = "link",          [MOUNT_FOLDER] = "folder",
		[MOUNT_COVER_FILE] = "covered", [MOUNT_COVER_DIR] = "covered",
		[MOUNT_PROC] = "proc",          [MOUNT_DEV] = "dev",
	};

	return kinds[kind];
}

static void print_mount(FILE *out, const struct mount *mount)
{
	const char *kind = plan_kind_name(mount->kind);

	if (mount->view) {
		fprintf(out, "  view        %s (%s)\n", mount->target,
			mount->view);
	} else if (mount->source && strcmp(mount->source, mount->target) != 0) {
		fprintf(out, "  %-11s %s -> %s\n", kind, mount->target,
			mount->source);
	} else {
		fprintf(out, "  %-11s %s\n", kind, mount->target);
	}
}

static void print_names(FILE *out, const char *title, const struct strv *list)
{
	fprintf(out, "%s:", title);
	for (size_t i = 0; i < list->count; i++) {
		const char *text = list->list[i];

		fprintf(out, " %.*s", (int)strcspn(text, "="), text);
	}
	fputc('\n', out);
}

/* A value of the caller's is not shown, but the shell has it. */
static void print_option(FILE *out, const struct strv *args, size_t i,
			 const struct strv *passed)
{
	const char *name = i >= 1 ? args->list[i - 1] : "";
	bool is_value = i >= 2 && strcmp(args->list[i - 2], "--setenv") == 0;

	for (size_t j = 0; is_value && j < passed->count; j++) {
		if (strncmp(passed->list[j], name, strlen(name)) == 0 &&
		    passed->list[j][strlen(name)] == '=') {
			fprintf(out, " \"$%s\"", name);
			return;
		}
	}
	if (strcmp(name, "--seccomp") == 0) {
		fputs(" FILTER_FD", out);
	} else if (strcmp(name, "--json-status-fd") == 0) {
		fputs(" STATUS_FD", out);
	} else {
		fputc(' ', out);
		print_quoted(out, args->list[i]);
	}
}

void plan_add_call(const struct plan *plan, struct strv *args)
{
	const struct argv_plan argv_plan = {
		.mounts = plan->mounts,
		.env = plan->env,
		.cwd = plan->spec->cwd,
		.privileged = geteuid() == 0,
	};

	argv_add_options(args, &argv_plan);
}

static void print_call(FILE *out, const struct plan *plan)
{
	AUTO_STRV args = {0};

	plan_add_call(plan, &args);
	fputs("  ", out);
	print_quoted(out, plan->programs->bwrap);
	for (size_t i = 0; i < args.count; i++) {
		if (strncmp(args.list[i], "--", 2) == 0) {
			fputs(" \\\n   ", out);
		}
		print_option(out, &args, i, &plan->env->passed);
	}
	fputs(" \\\n    -- " VIEW_EXEC_AT
	      " init 0 STDERR_FD COMMAND_FD LAUNCHER_FD 0\n",
	      out);
}

void plan_print(FILE *out, const struct plan *plan)
{
	const struct spec *spec = plan->spec;
	const struct mounts *mounts = plan->mounts;
	const struct env *env = plan->env;

	fputs("command:", out);
	for (char *const *arg = spec->command; *arg; arg++) {
		fputc(' ', out);
		print_quoted(out, *arg);
	}
	fprintf(out, "\nrole: %s\n", spec_role_name(spec->role));
	fprintf(out, "checkout: %s\n", spec->checkout);
	fprintf(out, "execution: %s/" PLAN_EXECUTION "\n", spec->scratch_dir);
	fprintf(out, "daemon: %s\n", plan->programs->daemon);
	fputs("mounts:\n", out);
	for (size_t i = 0; i < mounts->count; i++) {
		print_mount(out, &mounts->list[i]);
	}
	print_names(out, "environment passed", &env->passed);
	print_names(out, "environment added", &env->added);
	print_names(out, "environment left out", &env->dropped);
	fputs("call:\n", out);
	print_call(out, plan);
}
