#include "record.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <time.h>

#include "buf.h"
#include "err.h"

#define LABELS_MAX  8192
#define CHUNK_BYTES 65536
#define SHOWN_BYTES 24
#define XATTR_BYTES 65536
/* Times of files that states.c made are in the year 2001. */
#define OLD_BEFORE_S 1500000000
/* Coarser than any kernel's tick, which is what file times come from. */
#define CLOCK_STEP_NS 12000000

static char *labels[LABELS_MAX];
static size_t label_count;
static const char *label_prefix = "";

void record_begin(const char *name)
{
	while (label_count > 0) {
		free(labels[--label_count]);
	}
	label_prefix = "";
	printf("== %s\n", name);
}

void record_prefix(const char *prefix)
{
	label_prefix = prefix;
}

/* How often this label was used before. */
static unsigned int label_uses(const char *label)
{
	unsigned int uses = 0;

	for (size_t i = 0; i < label_count; i++) {
		uses += strcmp(labels[i], label) == 0;
	}
	if (label_count < LABELS_MAX) {
		labels[label_count++] = strdup(label);
	}
	return uses;
}

void record(const char *label, const char *format, ...)
{
	int saved = errno;
	AUTO_BUF line = BUF_INIT;
	unsigned int uses;
	va_list args;

	buf_adds(&line, label_prefix);
	buf_adds(&line, label);
	uses = label_uses(line.data);
	if (uses) {
		buf_addf(&line, " #%u", uses + 1);
	}
	fputs(line.data, stdout);
	fputs(" = ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	fputc('\n', stdout);
	errno = saved;
}

long record_result(const char *call, long result)
{
	if (result == -1) {
		record(call, "%s", err_name(errno));
	} else {
		record(call, "%ld", result);
	}
	return result;
}

int record_fd(const char *call, int fd)
{
	record(call, "%s", fd < 0 ? err_name(errno) : "opened");
	return fd;
}

void record_open(const char *call, int fd)
{
	if (record_fd(call, fd) >= 0) {
		close(fd);
	}
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "dir";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFCHR:
		return "char";
	case S_IFBLK:
		return "block";
	default:
		return "?";
	}
}

static void add_stat(struct buf *line, const struct stat *st)
{
	buf_addf(line, "%s %04o %u:%u", type_name(st->st_mode),
		 st->st_mode & 07777, st->st_uid, st->st_gid);
	buf_addf(line, " links %lu", (unsigned long)st->st_nlink);
	if (S_ISDIR(st->st_mode)) {
		return;
	}
	buf_addf(line, " size %lld", (long long)st->st_size);
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode)) {
		buf_addf(line, " dev %u:%u", major(st->st_rdev),
			 minor(st->st_rdev));
	}
}

static void record_st(const char *label, int result, const struct stat *st)
{
	AUTO_BUF line = BUF_INIT;

	if (result) {
		buf_adds(&line, err_name(errno));
	} else {
		add_stat(&line, st);
	}
	record(label, "%s", line.data);
}

void record_stat(const char *label, const char *path)
{
	struct stat st;

	record_st(label, lstat(path, &st), &st);
}

void record_fstat(const char *label, int fd)
{
	struct stat st;

	record_st(label, fstat(fd, &st), &st);
}

#define FNV_START 0xcbf29ce484222325UL
#define FNV_PRIME 0x100000001b3UL

static unsigned long hash_on(unsigned long hash, const void *data, size_t size)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < size; i++) {
		hash = (hash ^ bytes[i]) * FNV_PRIME;
	}
	return hash;
}

unsigned long record_hash(const void *data, size_t size)
{
	return hash_on(FNV_START, data, size);
}

static void add_shown(struct buf *line, const char *data, size_t size)
{
	buf_addc(line, '\'');
	for (size_t i = 0; i < size && i < SHOWN_BYTES; i++) {
		buf_addc(line,
			 data[i] >= ' ' && data[i] < 0x7f ? data[i] : '.');
	}
	buf_addc(line, '\'');
}

/* Adds "N bytes HASH 'begin'", or the error. */
static void add_content(struct buf *line, int fd)
{
	static char chunk[CHUNK_BYTES];
	char shown[SHOWN_BYTES] = {0};
	unsigned long hash = FNV_START;
	off_t off = 0;
	ssize_t n;

	while ((n = pread(fd, chunk, sizeof(chunk), off)) > 0) {
		if (off == 0) {
			memcpy(shown, chunk,
			       n < SHOWN_BYTES ? (size_t)n : SHOWN_BYTES);
		}
		hash = hash_on(hash, chunk, (size_t)n);
		off += n;
	}
	if (n < 0) {
		buf_adds(line, err_name(errno));
		return;
	}
	buf_addf(line, "%lld bytes %016lx ", (long long)off, hash);
	add_shown(line, shown, (size_t)off);
}

void record_fd_content(const char *label, int fd)
{
	AUTO_BUF line = BUF_INIT;

	add_content(&line, fd);
	record(label, "%s", line.data);
}

static void add_path_content(struct buf *line, const char *path)
{
	AUTO_FD fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
					O_NOATIME);

	if (fd < 0 && errno == EPERM) {
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	}
	if (fd < 0) {
		buf_adds(line, err_name(errno));
	} else {
		add_content(line, fd);
	}
}

void record_content(const char *label, const char *path)
{
	AUTO_BUF line = BUF_INIT;

	add_path_content(&line, path);
	record(label, "%s", line.data);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

/* What the entry and stat disagree about, or "". */
static const char *entry_lie(const char *dir, const struct dirent *entry)
{
	char path[PATH_MAX + NAME_MAX + 2];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
	if (strcmp(entry->d_name, "..") == 0 || lstat(path, &st)) {
		return "";
	}
	if (entry->d_ino != st.st_ino) {
		return " (d_ino is not st_ino)";
	}
	if (entry->d_type != IFTODT(st.st_mode)) {
		return " (d_type is not the type)";
	}
	return "";
}

void record_listing(const char *label, const char *path)
{
	struct dirent **entries;
	int count = scandir(path, &entries, NULL, by_name);
	AUTO_BUF line = BUF_INIT;

	if (count < 0) {
		record(label, "%s", err_name(errno));
		return;
	}
	for (int i = 0; i < count; i++) {
		if (i) {
			buf_addc(&line, ' ');
		}
		buf_add_quoted(&line, entries[i]->d_name);
		buf_adds(&line, entry_lie(path, entries[i]));
		free(entries[i]);
	}
	free(entries);
	record(label, "%s", line.data);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_xattr(struct buf *line, const char *path, const char *name)
{
	char value[XATTR_NAME_MAX + 1];
	ssize_t size = lgetxattr(path, name, value, sizeof(value));

	buf_addc(line, ' ');
	buf_add_quoted(line, name);
	if (size < 0) {
		buf_addf(line, "=%s", err_name(errno));
	} else {
		buf_addc(line, '=');
		add_shown(line, value, (size_t)size);
	}
}

static void add_xattrs(struct buf *line, const char *path)
{
	static char list[XATTR_BYTES];
	ssize_t size = llistxattr(path, list, sizeof(list));
	char *names[256];
	size_t count = 0;

	if (size < 0) {
		buf_addf(line, " attributes: %s", err_name(errno));
		return;
	}
	for (char *at = list; at < list + size && count < ARRAY_SIZE(names);
	     at += strlen(at) + 1) {
		/* belongs to the machine, not to the file system */
		if (strcmp(at, "security.selinux") != 0) {
			names[count++] = at;
		}
	}
	qsort(names, count, sizeof(*names), by_text);
	for (size_t i = 0; i < count; i++) {
		add_xattr(line, path, names[i]);
	}
}

void record_xattrs(const char *label, const char *path)
{
	AUTO_BUF line = BUF_INIT;

	add_xattrs(&line, path);
	record(label, "[%s ]", line.data);
}

/* A time that states.c set is shown to the nanosecond, any other as "new". */
static void add_time(struct buf *line, const struct timespec *time)
{
	if (time->tv_sec < OLD_BEFORE_S) {
		buf_addf(line, " mtime %lld.%09ld", (long long)time->tv_sec,
			 time->tv_nsec);
	} else {
		buf_adds(line, " mtime new");
	}
}

static void add_target(struct buf *line, const char *path)
{
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	buf_adds(line, " -> ");
	if (size < 0) {
		buf_adds(line, err_name(errno));
	} else {
		target[size] = '\0';
		buf_add_quoted(line, target);
	}
}

static void record_entry(const char *path, const struct stat *st)
{
	AUTO_BUF label = BUF_INIT;
	AUTO_BUF line = BUF_INIT;

	buf_adds(&label, "tree ");
	buf_add_quoted(&label, path);
	add_stat(&line, st);
	add_time(&line, &st->st_mtim);
	if (S_ISLNK(st->st_mode)) {
		add_target(&line, path);
	} else if (S_ISREG(st->st_mode)) {
		buf_addc(&line, ' ');
		add_path_content(&line, path);
	}
	add_xattrs(&line, path);
	record(label.data, "%s", line.data);
}

/* More entries than this are recorded as one hash of their names. */
#define TREE_WIDTH_MAX 200

static void record_wide(const char *path, struct dirent **entries, int count)
{
	unsigned long hash = FNV_START;
	AUTO_BUF label = BUF_INIT;

	for (int i = 0; i < count; i++) {
		hash = hash_on(hash, entries[i]->d_name,
			       strlen(entries[i]->d_name) + 1);
		free(entries[i]);
	}
	buf_adds(&label, "tree ");
	buf_add_quoted(&label, path);
	buf_adds(&label, "/*");
	record(label.data, "%d entries %016lx", count, hash);
}

static int not_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 &&
	       strcmp(entry->d_name, "..") != 0;
}

void record_tree(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int count;

	if (lstat(path, &st)) {
		record(path, "%s", err_name(errno));
		return;
	}
	record_entry(path, &st);
	if (!S_ISDIR(st.st_mode)) {
		return;
	}
	count = scandir(path, &entries, not_dots, by_name);
	if (count < 0) {
		record(path, "%s", err_name(errno));
		return;
	}
	if (count > TREE_WIDTH_MAX) {
		record_wide(path, entries, count);
	} else {
		for (int i = 0; i < count; i++) {
			AUTO_FREE char *below = NULL;
			const char *lie = entry_lie(path, entries[i]);

			if (asprintf(&below, "%s/%s", path,
				     entries[i]->d_name) >= 0) {
				record_tree(below);
			}
			if (*lie) {
				record(below, "%s", lie);
			}
			free(entries[i]);
		}
	}
	free(entries);
}

void record_times_before(struct record_times *times, const char *path)
{
	times->path = path;
	if (lstat(path, &times->before)) {
		times->before = (struct stat){0};
	}
}

void record_clock_step(void)
{
	const struct timespec step = {.tv_nsec = CLOCK_STEP_NS};

	nanosleep(&step, NULL);
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

void record_times_after(const char *label, const struct record_times *times)
{
	struct stat now;

	if (lstat(times->path, &now)) {
		record(label, "%s", err_name(errno));
		return;
	}
	record(label, "%s:%s%s%s", times->path,
	       same_time(&now.st_atim, &times->before.st_atim) ? "" : " atime",
	       same_time(&now.st_mtim, &times->before.st_mtim) ? "" : " mtime",
	       same_time(&now.st_ctim, &times->before.st_ctim) ? "" : " ctime");
}
