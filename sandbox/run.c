#include "run.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "argv.h"
#include "bounds.h"
#include "bwrap.h"
#include "cgroup.h"
#include "daemon.h"
#include "detach.h"
#include "discard.h"
#include "duration.h"
#include "enter.h"
#include "env.h"
#include "err.h"
#include "execution.h"
#include "failure.h"
#include "identity.h"
#include "manifest.h"
#include "owner.h"
#include "plan.h"
#include "policy.h"
#include "programs.h"
#include "pty.h"
#include "relay.h"
#include "remote.h"
#include "resolve.h"
#include "scratch.h"
#include "signals.h"
#include "spec.h"
#include "summary.h"
#include "unmount.h"
#include "usage.h"
#include "view.h"
#include "wait.h"
#include "why.h"

struct run {
	const struct spec *spec;
	struct programs programs;
	struct child_question version; /* asked of bwrap */
	struct child_question names;   /* asked of git */
	struct signals signals;
	struct execution execution;
	struct manifest manifest;
	struct policy policy;
	struct mounts mounts;
	struct env env;
	struct daemon daemon;
	struct relay relay;
	struct pty pty;
	struct bwrap bwrap;
	struct cgroup cgroup;
	uint64_t shim_pids; /* what the shim limits */
	struct remote remote;
	struct wait wait;
	struct detach detach;
	bool started; /* the command, so the folder is worth keeping */
};

static void run_init(struct run *run, const struct spec *spec,
		     const struct detach *detach)
{
	*run = (struct run){
		.spec = spec,
		.version = CHILD_QUESTION_INIT,
		.names = CHILD_QUESTION_INIT,
		.execution = EXECUTION_INIT,
		.daemon = DAEMON_INIT,
		.relay = RELAY_INIT,
		.pty = PTY_INIT,
		.bwrap = BWRAP_INIT,
		.remote = REMOTE_INIT,
		.detach = *detach,
	};
	manifest_init(&run->manifest);
}

static void run_release(struct run *run)
{
	bwrap_release(&run->bwrap);
	remote_release(&run->remote, &run->execution);
	env_release(&run->env);
	mounts_release(&run->mounts);
	policy_release(&run->policy);
	manifest_release(&run->manifest);
	execution_release(&run->execution);
	child_question_release(&run->names);
	child_question_release(&run->version);
	programs_release(&run->programs);
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static void build_env(struct run *run, const char *id)
{
	struct identity identity;

	identity_find(&identity, &run->names);
	env_build(&run->env, environ,
		  &(struct env_additions){
			  .home = run->spec->home,
			  .tmp = SPEC_TMP,
			  .execution = id,
			  .git_name = identity.name,
			  .git_email = identity.email,
			  .config = &run->spec->config,
			  .moved = &run->policy.seen.variables,
		  });
	identity_release(&identity);
}

static int print_plan(struct run *run)
{
	AUTO_FREE char *path =
		text_format("%s/" PLAN_EXECUTION, run->spec->scratch_dir);
	int code;

	view_declare(&run->manifest, run->spec, &run->policy, path);
	code = view_plan(&run->mounts, run->spec, &run->policy, &run->manifest,
			 path, run->programs.shim);
	if (!code && run->spec->why) {
		why_print(stdout, run->spec, &run->policy, &run->manifest,
			  &run->mounts, run->spec->json);
	} else if (!code) {
		const struct plan plan = {
			.spec = run->spec,
			.programs = &run->programs,
			.manifest = &run->manifest,
			.mounts = &run->mounts,
			.env = &run->env,
		};

		build_env(run, PLAN_EXECUTION);
		if (run->spec->json) {
			plan_print_json(stdout, &plan);
		} else {
			plan_print(stdout, &plan);
		}
	}
	return code;
}

/* The values were checked when they were set. */
static int set_quota(struct manifest *manifest, const struct config *config)
{
	static const struct {
		const char *name;
		enum config_key key;
	} keys[] = {
		{"size", CONFIG_QUOTA_SIZE},
		{"files", CONFIG_QUOTA_FILES},
		{"min_free", CONFIG_QUOTA_MIN_FREE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *value = config->values[keys[i].key].text;

		if (value &&
		    quota_parse_value(keys[i].name, value, &manifest->quota)) {
			return failure(EXIT_NOT_SET_UP,
				       "cannot use quota '%s=%s'", keys[i].name,
				       value);
		}
	}
	return 0;
}

static void fill_manifest(struct run *run)
{
	struct manifest *manifest = &run->manifest;
	const struct spec *spec = run->spec;
	size_t count = 0;

	manifest->id = text_copy(run->execution.id);
	manifest->name = spec->name ? text_copy(spec->name) : NULL;
	manifest->role = text_copy(spec_role_name(spec->role));
	manifest->checkout = text_copy(spec->checkout);
	manifest->created_ns = now_ns();
	while (spec->command[count]) {
		count++;
	}
	manifest->command = calloc(count + 1, sizeof(*manifest->command));
	die_if_no_memory(!manifest->command);
	for (size_t i = 0; i < count; i++) {
		manifest->command[i] = text_copy(spec->command[i]);
	}
	view_declare(manifest, spec, &run->policy, run->execution.path);
}

static int make_execution(struct run *run)
{
	const char *lacks;
	int code = scratch_check(run->spec->scratch_dir);
	int error;

	if (code) {
		return code;
	}
	error = execution_create(&run->execution, run->spec->scratch_dir);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make an execution in '%s': %s",
			       run->spec->scratch_dir, err_text(error));
	}
	lacks = scratch_lacks(run->execution.dir_fd);
	if (lacks) {
		return failure(EXIT_NOT_SET_UP,
			       "the disk of scratch folder '%s' has no %s",
			       run->spec->scratch_dir, lacks);
	}
	fill_manifest(run);
	code = set_quota(&run->manifest, &run->spec->config);
	code = code ? code
		    : view_plan(&run->mounts, run->spec, &run->policy,
				&run->manifest, run->execution.path,
				run->programs.shim);
	code = code ? code
		    : view_make(&run->execution, &run->manifest, &run->mounts);
	if (code) {
		return code;
	}
	error = manifest_write_for_now(&run->manifest, run->execution.dir_fd);
	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot write in '%s': %s",
			       run->execution.path, err_text(error));
	}
	return 0;
}

static void apply_limits(struct run *run)
{
	struct limits limits;

	bounds_from_config(&limits, &run->spec->config);
	bounds_apply(&limits, run->execution.id, &run->cgroup, &run->shim_pids);
}

static int start_command(struct run *run)
{
	struct argv_plan plan = {
		.cgroup = &run->cgroup,
		.mounts = &run->mounts,
		.env = &run->env,
		.cwd = run->spec->cwd,
		.privileged = geteuid() == 0,
	};
	int came = signals_next(&run->signals);
	int error;
	int code;

	/* From here on SIGINT is the command's. */
	if (came) {
		return EXIT_SIGNAL_BASE + came;
	}
	plan.max_pids = run->shim_pids;
	error = detach_enter(&run->detach, &run->execution);
	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot detach: %s",
			       err_text(error));
	}
	error = relay_start(&run->relay);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot relay stdin and stdout: %s",
			       err_text(error));
	}
	error = pty_start(&run->pty, run->relay.fds);
	if (error) {
		return failure(EXIT_NOT_SET_UP,
			       "cannot make a terminal for the command: %s",
			       err_text(error));
	}
	if (run->pty.used) {
		signals_leave_terminal(&run->signals);
	}
	plan.terminal = run->pty.used;
	code = bwrap_start(&run->bwrap, run->programs.bwrap, &plan,
			   run->spec->command, run->relay.fds, &run->signals);
	relay_let_go(&run->relay);
	pty_let_go(&run->pty);
	return code;
}

static int set_up(struct run *run)
{
	int code = make_execution(run);

	code = code ? code
		    : daemon_start(&run->daemon, &run->programs,
				   &run->execution, &run->signals,
				   run->spec->debug);
	if (code) {
		return code;
	}
	/* While the daemon starts. */
	build_env(run, run->execution.id);
	apply_limits(run);
	code = bwrap_prepare(&run->bwrap, run->spec->nested);
	code = code ? code
		    : daemon_wait_ready(&run->daemon, &run->execution,
					&run->signals);
	return code ? code : start_command(run);
}

static int on_remote_signal(void *data, int signal)
{
	struct run *run = data;

	if (signal == SIGKILL) {
		run->wait.end_signal = SIGKILL;
		return 0;
	}
	return bwrap_signal_command(&run->bwrap, signal);
}

static int on_remote_enter(void *data, pid_t client, int *ret_init_fd,
			   int *ret_context_fd)
{
	struct run *run = data;

	const struct enter_given given = {
		.spec = run->spec,
		.env = &run->env,
		.max_pids = run->shim_pids,
	};
	/* The client's children are in its group. */
	int error = cgroup_add(&run->cgroup, client);

	return error ? error
		     : enter_answer(&run->bwrap, &given, ret_init_fd,
				    ret_context_fd);
}

static bool on_started(void *data)
{
	struct run *run = data;

	/* Not before: nobody waits for the disk now. */
	if (manifest_sync(run->execution.dir_fd)) {
		warning("execution '%s' may not survive a failure of the power",
			run->execution.id);
	}
	return detach_report(&run->detach, &run->execution);
}

static struct outcome wait_while_it_runs(struct run *run)
{
	const struct remote_handler handler = {
		.signal = on_remote_signal,
		.enter = on_remote_enter,
		.data = run,
	};
	int error = remote_listen(&run->remote, &run->execution);

	if (error) {
		warning("exec and kill will not reach this run: %s",
			err_text(error));
	}
	run->wait = (struct wait){
		.signals = &run->signals,
		.daemon = &run->daemon,
		.bwrap = &run->bwrap,
		.pty = &run->pty,
		.remote = &run->remote,
		.handler = &handler,
		.die_after_ms = run->spec->die_after_ns / NS_PER_MS,
		.started = on_started,
		.data = run,
	};
	return wait_for_end(&run->wait);
}

static void end_sandbox(struct run *run, const struct outcome *outcome)
{
	/* Nothing that waits for a dead daemon can be killed before. */
	if (outcome->daemon_died) {
		daemon_abandon(&run->daemon);
	}
	if (bwrap_end(&run->bwrap)) {
		return;
	}
	daemon_abandon(&run->daemon);
	if (!bwrap_end(&run->bwrap)) {
		warning("a process of execution '%s' cannot be killed",
			run->execution.id);
	}
}

static int report_daemon_death(struct run *run)
{
	AUTO_BUF why = BUF_INIT;

	daemon_describe_end(&run->daemon, &why);
	return failure(EXIT_NOT_SET_UP,
		       "legato-fs died under the command (%s): ended the "
		       "sandbox, see '%s/" EXECUTION_LOG_FILE "'",
		       why.data, run->execution.path);
}

/* After the end of everything in the sandbox. */
static int judge(struct run *run, const struct outcome *outcome)
{
	const struct child *child = &run->bwrap.child;

	run->started = true;
	if (outcome->daemon_died) {
		return report_daemon_death(run);
	}
	if (outcome->signal) {
		return EXIT_SIGNAL_BASE + outcome->signal;
	}
	if (run->bwrap.reported) {
		return run->bwrap.exit_code;
	}
	if (WIFSIGNALED(child->status)) {
		return EXIT_SIGNAL_BASE + WTERMSIG(child->status);
	}
	run->started = false;
	return bwrap_explain_failure(&run->bwrap);
}

static void record_end(struct run *run, int code)
{
	int error;

	run->manifest.ended_ns = now_ns();
	run->manifest.exit_code = code;
	if (run->spec->discard) {
		return; /* nobody will read it */
	}
	error = manifest_write(&run->manifest, run->execution.dir_fd);
	if (error) {
		warning("cannot record the end in '%s': %s",
			run->execution.path, err_text(error));
	}
}

/* legato-diff looks in the default folder. */
static bool is_default_scratch(const char *scratch_dir)
{
	AUTO_FREE char *path = NULL;
	AUTO_FREE char *resolved = NULL;

	if (execution_default_scratch(&path)) {
		return false;
	}
	resolved = resolve_future(path);
	return resolved && strcmp(resolved, scratch_dir) == 0;
}

/* What to type to see the changes. */
static void print_diff_line(const struct run *run)
{
	AUTO_BUF line = BUF_INIT;

	buf_adds(&line, "legato-diff ");
	if (!is_default_scratch(run->spec->scratch_dir)) {
		buf_adds(&line, "--scratch-dir ");
		buf_add_quoted(&line, run->spec->scratch_dir);
		buf_addc(&line, ' ');
	}
	buf_adds(&line, run->execution.id);
	if (!buf_error(&line)) {
		fprintf(stderr, "%s\n", line.data);
	}
}

static void print_summary(const struct run *run)
{
	int error;

	/* The command may have left files that their owner can't read. Where
	 * that can't be helped the summary says so. No thread runs by now. */
	(void)owner_start();
	error = diff_summary_print(stderr, &run->execution, &run->manifest);
	owner_stop();
	if (error) {
		warning("cannot list the changes of '%s': %s",
			run->execution.id, err_text(error));
	}
	if (!run->spec->discard) {
		print_diff_line(run);
	}
}

/* What has never started is small, and nothing of it may be left when the
 * refusal is told. */
static void remove_folder(struct run *run)
{
	int error = run->started ? discard_in_background(&run->execution)
				 : execution_remove(&run->execution);

	if (error) {
		warning("cannot remove '%s': %s", run->execution.path,
			err_text(error));
	}
}

static void finish(struct run *run, int code)
{
	cgroup_remove(&run->cgroup);
	daemon_stop(&run->daemon, &run->execution);
	signals_take_terminal_back(&run->signals);
	if (run->started) {
		record_end(run, code);
		print_summary(run);
	}
	if (run->execution.path && (!run->started || run->spec->discard)) {
		remove_folder(run);
	}
}

static int run_with_signals(struct run *run)
{
	struct outcome outcome = {0};
	int code = set_up(run);
	bool is_set_up = code == 0;

	if (is_set_up) {
		outcome = wait_while_it_runs(run);
		end_sandbox(run, &outcome);
	}
	relay_finish(&run->relay);
	pty_finish(&run->pty);
	if (is_set_up) {
		code = judge(run, &outcome);
	}
	finish(run, code);
	return code;
}

/* What others have to say they say while this process goes on. */
static int ask(struct run *run)
{
	int code = programs_find(&run->programs);
	int error =
		code ? 0 : programs_ask_bwrap(&run->programs, &run->version);

	if (error) {
		return failure(EXIT_NOT_SET_UP, "cannot start '%s': %s",
			       run->programs.bwrap, err_text(error));
	}
	if (!code) {
		identity_ask(&run->names, run->spec->checkout);
	}
	return code;
}

static int check(struct run *run)
{
	int code = ask(run);

	code = code ? code : policy_init(&run->policy, run->spec);
	code = code ? code : daemon_check();
	return code ? code
		    : programs_check_bwrap(&run->programs, &run->version);
}

int run_spec(const struct spec *spec, const struct detach *detach)
{
	struct run run;
	int code;

	run_init(&run, spec, detach);
	code = check(&run);
	if (!code && spec->dry_run) {
		code = print_plan(&run);
	} else if (!code) {
		int error = signals_take(&run.signals);

		if (error) {
			code = failure(EXIT_NOT_SET_UP,
				       "cannot take signals: %s",
				       err_text(error));
		} else {
			unmount_stale(spec->scratch_dir);
			code = run_with_signals(&run);
			signals_give_back(&run.signals);
		}
	}
	run_release(&run);
	return code;
}

int verb_run(int argc, char **argv)
{
	struct detach detach = DETACH_INIT;
	struct spec spec;
	int code = spec_parse(&spec, argc, argv);
	bool is_parent = false;

	if (!code && spec.json && !spec.dry_run) {
		code = failure(EXIT_USAGE, "--json is for --dry-run");
	}
	if (!code && spec.detach && !spec.dry_run) {
		is_parent = detach_fork(&detach, &code);
	}
	if (!code && !is_parent) {
		code = run_spec(&spec, &detach);
	}
	spec_release(&spec);
	return code;
}

int verb_why(int argc, char **argv)
{
	struct detach detach = DETACH_INIT;
	struct spec spec;
	int code = spec_parse(&spec, argc, argv);

	spec.why = true;
	spec.dry_run = true;
	code = code ? code : run_spec(&spec, &detach);
	spec_release(&spec);
	return code == EXIT_NOT_SET_UP ? EXIT_TROUBLE : code;
}
