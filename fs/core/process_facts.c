#include "process_facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "fdio.h"
#include "journal_record.h"
#include "sys.h"

/* Enough for all fields of `stat` and for the first lines of `status`. */
#define STAT_BYTES 1024

/* Counted from the state, which follows the name. proc_pid_stat(5). */
#define FIELD_PPID        1
#define FIELD_THREADS     17
#define FIELD_START_TICKS 19
#define FIELD_START_CODE  23
#define FIELD_START_STACK 25

#define NAME_BYTES 32

static void name_of(char name[NAME_BYTES], pid_t thread, const char *what)
{
	snprintf(name, NAME_BYTES, "%d/%s", (int)thread, what);
}

int process_stat_open(int proc_fd, pid_t thread)
{
	char name[NAME_BYTES];

	name_of(name, thread, "stat");
	return sys_openat(proc_fd, name, O_RDONLY, 0);
}

/* The number in the field; 0 where there is none. */
static uint64_t field(const char *fields, unsigned int index)
{
	while (index-- > 0 && fields) {
		fields = strchr(fields, ' ');
		fields = fields ? fields + 1 : NULL;
	}
	return fields ? strtoull(fields, NULL, 10) : 0;
}

int process_stat_read(int stat_fd, struct process_image *ret_image)
{
	char text[STAT_BYTES];
	ssize_t n = sys_pread(stat_fd, text, sizeof(text) - 1, 0);
	const char *name;
	const char *fields;
	uint64_t where[2];

	if (n <= 0) {
		return n ? (int)n : -ESRCH;
	}
	text[n] = '\0';
	/* A name may hold anything, a ')' too. */
	name = strchr(text, '(');
	fields = strrchr(text, ')');
	if (!name || !fields || fields[1] != ' ') {
		return -EBADMSG;
	}
	fields += 2;
	where[0] = field(fields, FIELD_START_CODE);
	where[1] = field(fields, FIELD_START_STACK);
	ret_image->ppid = (pid_t)field(fields, FIELD_PPID);
	ret_image->is_alone = field(fields, FIELD_THREADS) == 1;
	ret_image->start_ticks = field(fields, FIELD_START_TICKS);
	ret_image->program =
		XXH3_64bits_withSeed(name, (size_t)(fields - name),
				     XXH3_64bits(where, sizeof(where)));
	return 0;
}

/* The number that follows `key`, the second one where `second`. */
static long status_field(const char *text, const char *key, bool second)
{
	const char *at = strstr(text, key);
	char *end;
	long number;

	if (!at) {
		return 0;
	}
	number = strtol(at + strlen(key), &end, 10);
	return second ? strtol(end, NULL, 10) : number;
}

static int read_status(int proc_fd, pid_t thread, struct process_facts *facts)
{
	char name[NAME_BYTES];
	char text[STAT_BYTES];
	ssize_t n;

	name_of(name, thread, "status");
	{
		AUTO_FD fd = sys_openat(proc_fd, name, O_RDONLY, 0);

		n = fd < 0 ? fd : sys_pread(fd, text, sizeof(text) - 1, 0);
	}
	if (n < 0) {
		return (int)n;
	}
	text[n] = '\0';
	facts->pid = (pid_t)status_field(text, "\nTgid:", false);
	facts->ppid = (pid_t)status_field(text, "\nPPid:", false);
	facts->uid = (uid_t)status_field(text, "\nUid:", true);
	return facts->pid > 0 ? 0 : -ESRCH;
}

static void read_link(int proc_fd, pid_t thread, const char *what,
		      struct buf *text)
{
	char name[NAME_BYTES];
	char target[PATH_MAX];
	ssize_t n;

	name_of(name, thread, what);
	n = sys_readlinkat(proc_fd, name, target, sizeof(target));
	if (n > 0) {
		buf_add(text, target, (size_t)n);
	}
}

static void read_command(int proc_fd, pid_t thread, struct buf *text)
{
	char name[NAME_BYTES];
	char arguments[JOURNAL_COMMAND_MAX];
	ssize_t n;

	name_of(name, thread, "cmdline");
	{
		AUTO_FD fd = sys_openat(proc_fd, name, O_RDONLY, 0);

		n = fd < 0 ? fd
			   : sys_pread(fd, arguments, sizeof(arguments), 0);
	}
	/* Each argument ends with a NUL, the last too. */
	if (n > 0) {
		buf_add(text, arguments,
			(size_t)(arguments[n - 1] ? n : n - 1));
	}
}

/* Most have one thread: then all is known but the owner of the folder. */
static int read_numbers(int proc_fd, pid_t thread, int stat_fd,
			const struct process_image *image,
			struct process_facts *facts)
{
	struct stat st;
	int error;

	if (!image->is_alone) {
		return read_status(proc_fd, thread, facts);
	}
	error = sys_fstat(stat_fd, &st);
	facts->pid = thread;
	facts->ppid = image->ppid;
	facts->uid = error ? 0 : st.st_uid;
	return error;
}

int process_facts_read(int proc_fd, pid_t thread, int stat_fd,
		       const struct process_image *image,
		       struct process_facts *facts)
{
	int error = read_numbers(proc_fd, thread, stat_fd, image, facts);

	if (error) {
		return error;
	}
	read_link(proc_fd, thread, "exe", &facts->exe);
	read_command(proc_fd, thread, &facts->command);
	read_link(proc_fd, thread, "cwd", &facts->cwd);
	error = buf_error(&facts->exe);
	error = error ? error : buf_error(&facts->command);
	return error ? error : buf_error(&facts->cwd);
}

void process_facts_release(struct process_facts *facts)
{
	buf_release(&facts->exe);
	buf_release(&facts->command);
	buf_release(&facts->cwd);
}
