#include "log_select.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "diff.h"
#include "journal_words.h"

#define SECOND_NS INT64_C(1000000000)

void log_add_place(struct buf *buf, const struct manifest *manifest,
		   const char *name)
{
	const struct manifest_view *checkout = diff_checkout_view(manifest);
	const struct manifest_view *view = manifest_view(manifest, name);
	const char *place = view && view->mount_at ? view->mount_at : name;

	if (checkout && strcmp(checkout->name, name) == 0) {
		return;
	}
	buf_adds(buf, place);
	if (buf->len > 0 && buf->data[buf->len - 1] != '/') {
		buf_addc(buf, '/');
	}
}

static bool path_matches(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	while (len > 1 && pattern[len - 1] == '/') {
		len--;
	}
	return (strncmp(pattern, path, len) == 0 &&
		(path[len] == '/' || !path[len])) ||
	       (strpbrk(pattern, "*?[") && fnmatch(pattern, path, 0) == 0);
}

/* The path is matched as it is in the view, and as the agent knows it. */
static bool takes_path(const struct log_select *select,
		       const struct manifest *manifest, const char *view,
		       const char *path)
{
	const struct manifest_view *place = manifest_view(manifest, view);
	AUTO_BUF whole = BUF_INIT;

	if (!path) {
		return false;
	}
	if (path_matches(select->path, path)) {
		return true;
	}
	buf_addf(&whole, "%s/%s",
		 place && place->mount_at ? place->mount_at : view, path);
	return path_matches(select->path, whole.data);
}

static bool takes_process(const struct log_select *select,
			  const struct history *history, uint64_t number)
{
	const struct journal_process *process =
		history_process(history, number);
	const char *wanted = select->process;
	AUTO_BUF command = BUF_INIT;

	if (!process) {
		return false;
	}
	if (*wanted == '#') {
		return strtoull(wanted + 1, NULL, 10) == number;
	}
	if (wanted[strspn(wanted, "0123456789")] == '\0') {
		return strtol(wanted, NULL, 10) == process->pid;
	}
	journal_add_command(&command, process->command, process->command_size);
	return strstr(command.data, wanted) || strstr(process->exe, wanted);
}

bool log_select_takes(const struct log_select *select,
		      const struct manifest *manifest,
		      const struct history *history,
		      const struct journal_record *record)
{
	const char *path2 =
		journal_op_has_second_path(record->op) ? record->path2 : NULL;

	if ((select->ops && !(select->ops & UINT32_C(1) << record->op)) ||
	    (select->view && strcmp(select->view, record->view) != 0) ||
	    (select->failed && record->result == 0 &&
	     record->op != JOURNAL_REFUSED) ||
	    record->last_wall_ns < select->since_ns ||
	    record->wall_ns > select->until_ns) {
		return false;
	}
	if (select->path &&
	    !takes_path(select, manifest, record->view, record->path) &&
	    !takes_path(select, manifest, record->view, path2)) {
		return false;
	}
	return !select->process ||
	       takes_process(select, history, record->process);
}

static uint32_t ops_of(const char *word)
{
	enum journal_op op = journal_op_parse(word);
	uint32_t ops = 0;

	if (op) {
		return UINT32_C(1) << op;
	}
	for (int i = 1; i <= JOURNAL_OP_LAST && strlen(word) == 1; i++) {
		if (journal_op_letter((enum journal_op)i) == *word) {
			ops |= UINT32_C(1) << i;
		}
	}
	return ops;
}

int log_select_parse_ops(uint32_t *ret_ops, const char *text)
{
	AUTO_FREE char *copy = strdup(text);
	uint32_t all = 0;
	char *rest = copy;
	char *word;

	if (!copy) {
		return -ENOMEM;
	}
	while ((word = strsep(&rest, ","))) {
		uint32_t ops = ops_of(word);

		if (!ops) {
			return -EINVAL;
		}
		all |= ops;
	}
	*ret_ops = all;
	return 0;
}

static int parse_ago(int64_t *ret_ns, const char *text, int64_t now_ns)
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = {1, 60, 3600, 86400};
	const char *unit;
	char *end;
	unsigned long long n = strtoull(text, &end, 10);
	int64_t ago;

	if (!isdigit((unsigned char)*text) || !*end || end[1] ||
	    !(unit = strchr(units, *end)) ||
	    __builtin_mul_overflow(n, seconds[unit - units] * SECOND_NS,
				   &ago)) {
		return -EINVAL;
	}
	*ret_ns = now_ns - ago;
	return 0;
}

/* ".5", "Z" or both, behind the time. */
static int parse_end(int64_t *ret_ns, bool *ret_utc, const char *text)
{
	int64_t unit = SECOND_NS / 10;

	*ret_ns = 0;
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++) {
			*ret_ns += (*text - '0') * unit;
			unit /= 10;
		}
	}
	*ret_utc = *text == 'Z';
	text += *ret_utc;
	return *text ? -EINVAL : 0;
}

int log_select_parse_time(int64_t *ret_ns, const char *text, int64_t now_ns)
{
	static const char *const forms[] = {
		"%Y-%m-%dT%H:%M:%S",
		"%Y-%m-%d %H:%M:%S",
		"%Y-%m-%dT%H:%M",
		"%Y-%m-%d %H:%M",
		"%Y-%m-%d",
		"%H:%M:%S",
		"%H:%M",
	};
	time_t now = (time_t)(now_ns / SECOND_NS);
	int64_t fraction;
	bool utc;

	if (parse_ago(ret_ns, text, now_ns) == 0) {
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm tm;
		const char *end;
		time_t seconds;

		localtime_r(&now, &tm);
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		end = strptime(text, forms[i], &tm);
		if (!end || parse_end(&fraction, &utc, end)) {
			continue;
		}
		tm.tm_isdst = -1;
		seconds = utc ? timegm(&tm) : mktime(&tm);
		*ret_ns = (int64_t)seconds * SECOND_NS + fraction;
		return 0;
	}
	return -EINVAL;
}
