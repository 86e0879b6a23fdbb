/* Listing folders: positions, changes while listing, many entries. */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "err.h"
#include "parity.h"

#define SOME 300
#define MANY 2500

static void make_entries(const char *dir, int from, int to, int step)
{
	char name[64];

	for (int i = from; i < to; i += step) {
		int fd;

		snprintf(name, sizeof(name), "%s/entry-%05d", dir, i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0) {
			record(name, "%s", err_name(errno));
			return;
		}
		close(fd);
	}
}

static void remove_entries(const char *dir, int from, int to, int step)
{
	char name[64];
	int failed = 0;

	for (int i = from; i < to; i += step) {
		snprintf(name, sizeof(name), "%s/entry-%05d", dir, i);
		failed += unlink(name) != 0;
	}
	record("failed to remove", "%d", failed);
}

/* How many entries a fresh listing has, and a hash that does not depend on
 * the order. */
static void record_count(const char *label, DIR *dir)
{
	struct dirent *entry;
	unsigned long sum = 0;
	int count = 0;

	rewinddir(dir);
	while ((entry = readdir(dir))) {
		sum += record_hash(entry->d_name, strlen(entry->d_name));
		count++;
	}
	record(label, "%d entries, %016lx", count, sum);
}

static void list_basics(void)
{
	struct stat st;
	struct stat up;
	DIR *dir = opendir("d");
	struct dirent *entry;

	record_listing(".", ".");
	record_listing("d", "d");
	record_listing("d/sub", "d/sub");
	record_listing("e", "e");
	record_listing("ld", "ld");
	record_listing("f", "f");
	record_listing("gone", "gone");
	TRY(stat("d", &st));
	TRY(stat(".", &up));
	while (dir && (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0) {
			record("d/. is d", "%d", entry->d_ino == st.st_ino);
		} else if (strcmp(entry->d_name, "..") == 0) {
			record("d/.. is the top", "%d",
			       entry->d_ino == up.st_ino);
		}
	}
	closedir(dir);
	TRY(chmod("d/a", 0600));
	TRY(rename("d/b", "d/c"));
	record_listing("d after changes", "d");
}

static void list_positions(void)
{
	static long at[SOME * 2];
	static char names[SOME * 2][64];
	DIR *dir;
	struct dirent *entry;
	int count = 0;
	int wrong = 0;

	make_entries("d", 0, SOME, 1);
	dir = opendir("d");
	at[0] = telldir(dir);
	while ((entry = readdir(dir))) {
		strcpy(names[count], entry->d_name);
		at[++count] = telldir(dir);
	}
	record("entries", "%d", count);
	for (int i = count - 1; i >= 0; i -= 7) {
		seekdir(dir, at[i]);
		entry = readdir(dir);
		wrong += !entry || strcmp(entry->d_name, names[i]) != 0;
	}
	seekdir(dir, at[count]);
	record("at the end", "%d", readdir(dir) == NULL);
	record("wrong after seekdir", "%d", wrong);
	for (int i = 0; i < count; i++) {
		for (int j = 0; j < i; j++) {
			wrong += at[i] == at[j];
		}
	}
	record("positions that are not unique", "%d", wrong);
	remove_entries("d", 0, SOME, 1);
	closedir(dir);
}

static void list_sees_changes(void)
{
	DIR *dir = opendir("d");
	int fd = open("d", O_RDONLY | O_DIRECTORY);

	record_count("at first", dir);
	make_entries("d", 0, 10, 1);
	record_count("after creating", dir);
	TRY(unlink("d/a"));
	TRY(rename("d/b", "d/c"));
	TRY(mkdir("d/new", 0700));
	record_count("after changing", dir);
	TRY(rmdir("d/new"));
	remove_entries("d", 0, 10, 1);
	record_count("after removing", dir);
	TRY(lseek(fd, 0, SEEK_SET));
	closedir(dir);
	close(fd);
}

/* As rm -rf does it: nothing is left over, nothing comes twice. */
static void list_while_removing(void)
{
	struct dirent *entry;
	int removed = 0;
	DIR *dir;

	make_entries("d", 0, SOME, 1);
	dir = opendir("d");
	while ((entry = readdir(dir))) {
		if (strncmp(entry->d_name, "entry-", 6) == 0) {
			removed += unlinkat(dirfd(dir), entry->d_name, 0) == 0;
		}
	}
	record("removed", "%d", removed);
	record_count("left", dir);
	closedir(dir);
}

/* Old entries come exactly once, whatever happens to others meanwhile. */
static void list_while_creating(void)
{
	struct dirent *entry;
	int seen = 0;
	int made = 0;
	DIR *dir;

	make_entries("d", 0, SOME, 1);
	dir = opendir("d");
	while ((entry = readdir(dir)) && made < 2000) {
		if (strncmp(entry->d_name, "entry-", 6) == 0 &&
		    atoi(entry->d_name + 6) < SOME) {
			seen++;
			make_entries("d", 1000 + made, 1000 + made + 2, 1);
			made += 2;
		}
	}
	record("old entries", "%d", seen);
	record_count("all", dir);
	closedir(dir);
}

/* The smallest buffers that hold an entry. (The array is larger: an entry is
 * looked at through the whole struct.) */
#define SMALL_STEP_BYTES 64

static void list_in_small_steps(void)
{
	char data[sizeof(struct dirent64)] __attribute__((aligned(8)));
	unsigned long sum = 0;
	int fd;
	int entries = 0;
	long n;

	make_entries("d", 0, SOME, 1);
	fd = open("d", O_RDONLY | O_DIRECTORY);
	while ((n = syscall(SYS_getdents64, fd, data, SMALL_STEP_BYTES)) > 0) {
		for (long at = 0; at < n;) {
			/* A whole struct is larger than the buffer. */
			const char *name =
				data + at + offsetof(struct dirent64, d_name);
			unsigned short size;

			memcpy(&size,
			       data + at + offsetof(struct dirent64, d_reclen),
			       sizeof(size));
			sum += record_hash(name, strlen(name));
			entries++;
			at += size;
		}
	}
	record("getdents", "%ld, %d entries, %016lx", n, entries, sum);
	TRY(lseek(fd, 0, SEEK_SET));
	TRY(syscall(SYS_getdents64, fd, data, 8));
	remove_entries("d", 0, SOME, 1);
	close(fd);
}

static void prepare_many(void)
{
	if (mkdir("many", 0755)) {
		record("many", "%s", err_name(errno));
	}
	make_entries("many", 0, MANY / 2, 1);
}

static void list_many(void)
{
	DIR *dir;

	if (access("many", F_OK)) {
		TRY(mkdir("many", 0755));
	}
	make_entries("many", MANY / 2, MANY, 1);
	dir = opendir("many");
	record_count("all", dir);
	remove_entries("many", 0, MANY, 2);
	record_count("half", dir);
	make_entries("many", 0, MANY, 2);
	record_count("all again", dir);
	remove_entries("many", 0, MANY, 1);
	record_count("none", dir);
	closedir(dir);
	TRY(rmdir("many"));
	TRY(mkdir("many", 0700));
	record_listing("many", "many");
}

static void record_nlink(const char *path)
{
	struct stat st;

	if (stat(path, &st)) {
		record(path, "%s", err_name(errno));
	} else {
		record(path, "%lu links", (unsigned long)st.st_nlink);
	}
}

static void list_folder_links(void)
{
	record_nlink(".");
	record_nlink("d");
	record_nlink("e");
	record_nlink("d/sub");
	TRY(mkdir("d/new", 0755));
	record_nlink("d");
	TRY(rename("d/sub", "e/sub"));
	record_nlink("d");
	record_nlink("e");
	TRY(rmdir("d/new"));
	record_nlink("d");
}

#define BASE_AND_MIXED (STATE_BIT(STATE_BASE) | STATE_BIT(STATE_MIXED))

const struct parity_case cases_dir[] = {
	{"list-basics", list_basics, STATE_ALL, PARITY_ANYONE, NULL},
	{"list-positions", list_positions, STATE_ALL, PARITY_ANYONE, NULL},
	{"list-sees-changes", list_sees_changes, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"list-while-removing", list_while_removing, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"list-while-creating", list_while_creating, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{"list-in-small-steps", list_in_small_steps, STATE_FEW, PARITY_ANYONE,
	 NULL},
	{"list-many", list_many, BASE_AND_MIXED, PARITY_ANYONE, prepare_many},
	{"list-folder-links", list_folder_links, STATE_ALL, PARITY_ANYONE,
	 NULL},
	{.name = NULL},
};
