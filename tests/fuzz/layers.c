/*
 * layers.c - layers with any content: whiteouts, marks, attributes of the
 * format and sidecars with anything in them. The whole view is read, every
 * entry is changed, and it is mounted again: an entry that can't be understood
 * is EIO, and everything else goes on.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attr.h"
#include "create.h"
#include "dirlist.h"
#include "file.h"
#include "fuzz.h"
#include "rename.h"
#include "temp.h"
#include "unlink.h"

#define MAX_ENTRIES 64
#define MAX_DEPTH   6
#define VALUE_BYTES 80

static struct fs fs;

static const char *choose_layer(struct input *input)
{
	static const char *const layers[] = {"upper", "upper", "base",
					     "base2", "links", "work"};

	return layers[input_choice(input, ARRAY_SIZE(layers))];
}

/* A value that means something, or any bytes. */
static void set_attr(struct input *input, const char *path)
{
	static const char *const values[] = {
		"y", "x",   "/d",       "/d/e", "/a", "a",
		"d", "/..", "/d/../..", "//",   "/",
	};
	const char *attr = input_attr(input);
	size_t size;
	const uint8_t *bytes;
	int result;

	if (input_byte(input) & 1) {
		const char *value =
			values[input_choice(input, ARRAY_SIZE(values))];

		result = lsetxattr(path, attr, value, strlen(value), 0);
	} else {
		bytes = input_bytes(input, input_choice(input, VALUE_BYTES),
				    &size);
		result = lsetxattr(path, attr, bytes, size, 0);
	}
	(void)result; /* whatever the disk takes */
}

/* The names that sidecars have (links.h), of files that there may be. */
static void sidecar(struct input *input, const char *path)
{
	char name[NAME_MAX * 2];
	char text[64];
	struct stat st;
	size_t size;
	const uint8_t *bytes;

	if (lstat(path, &st)) {
		return;
	}
	bytes = input_bytes(input, input_choice(input, sizeof(text) - 1),
			    &size);
	memcpy(text, bytes, size);
	text[size] = '\0';
	snprintf(name, sizeof(name), "links/i%llx",
		 (unsigned long long)st.st_ino);
	if (symlink(text, name) && errno != EEXIST && *text) {
		return;
	}
	snprintf(name, sizeof(name), "links/%llx-%llx-0.n",
		 (unsigned long long)st.st_dev, (unsigned long long)st.st_ino);
	if (symlink(text, name)) {
		return; /* it is there, or no target */
	}
}

static void add_entry(struct input *input)
{
	const char *dirs[] = {"", "d/", "d/e/", "a/"};
	char path[NAME_MAX * 3];
	char other[NAME_MAX * 3];
	int result = 0;

	snprintf(path, sizeof(path), "%s/%s%s", choose_layer(input),
		 dirs[input_choice(input, ARRAY_SIZE(dirs))],
		 input_name(input));
	switch (input_choice(input, 9)) {
	case 0:
	case 1:
		result = mkdir(path, 0755);
		break;
	case 2:
		result = mknod(path, S_IFCHR | 0644, makedev(0, 0));
		break;
	case 3:
		result = mknod(path, S_IFIFO | 0644, 0);
		break;
	case 4:
		result = symlink(input_name(input), path);
		break;
	case 5:
		snprintf(other, sizeof(other), "%s/%s", choose_layer(input),
			 input_name(input));
		result = link(other, path);
		break;
	case 6:
		sidecar(input, path);
		break;
	default: {
		int fd = open(path,
			      O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW |
				      O_NONBLOCK,
			      0644);

		result = fd < 0 ? fd : ftruncate(fd, input_byte(input) * 64);
		if (fd >= 0) {
			close(fd);
		}
	}
	}
	(void)result; /* whatever came of it */
	if (input_byte(input) & 1) {
		set_attr(input, path);
	}
}

static void use_file(struct node *node)
{
	char data[256];
	struct stat st;

	fuzz_check(op_getattr(&fs, node, &st), "getattr");
	fuzz_check(op_listxattr(node, data, sizeof(data)), "listxattr");
	if (S_ISREG(node->type)) {
		fuzz_check(op_read(node, data, sizeof(data), 0), "read");
		fuzz_check(op_write(&fs, node, "w", 1, 3, &fuzz_caller),
			   "write");
	} else if (S_ISLNK(node->type)) {
		fuzz_check(op_readlink(node, data, sizeof(data)), "readlink");
	}
}

static void walk(struct node *dir, int depth);

/* Renames the entry there and back. */
static void move(struct node *dir, const char *name)
{
	int error = op_rename(&fs, dir, name, dir, "moved", 0, &fuzz_caller);

	fuzz_check(error, "rename");
	if (!error) {
		fuzz_check(op_rename(&fs, dir, "moved", dir, name, 0,
				     &fuzz_caller),
			   "rename back");
	}
}

static void use_entry(struct node *dir, const char *name, int depth)
{
	struct entry entry;
	enum missing missing;
	int error;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		return;
	}
	error = op_lookup(&fs, dir, name, &entry, &missing);
	fuzz_check(error, "lookup");
	if (error) {
		return;
	}
	if (!node_is_dir(entry.node)) {
		use_file(entry.node);
	} else if (depth < MAX_DEPTH) {
		walk(entry.node, depth + 1);
	}
	move(dir, name);
	node_put(&fs.nodes, entry.node);
}

static void walk(struct node *dir, int depth)
{
	struct dirlist *list;
	struct stat st;
	int error = dirlist_current(&fs, dir, &list);

	fuzz_check(error, "list");
	fuzz_check(op_getattr(&fs, dir, &st), "getattr");
	if (error) {
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		use_entry(dir, dirlist_name(list, i), depth);
	}
	dirlist_put(list);
}

static void remove_all(struct node *dir)
{
	struct dirlist *list;

	if (dirlist_current(&fs, dir, &list)) {
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		const char *name = dirlist_name(list, i);

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			continue;
		}
		fuzz_check(op_unlink(&fs, dir, name, &fuzz_caller), "unlink");
		fuzz_check(op_rmdir(&fs, dir, name, &fuzz_caller), "rmdir");
	}
	dirlist_put(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	bool foreign = input_byte(&input) & 1;

	fuzz_enter();
	for (int i = 0; i < MAX_ENTRIES && input.size; i++) {
		add_entry(&input);
	}
	if (fuzz_start(&fs, foreign)) {
		walk(fs.root, 0);
		fuzz_stop(&fs);
	}
	if (fuzz_start(&fs, foreign)) {
		walk(fs.root, 0);
		remove_all(fs.root);
		fuzz_stop(&fs);
	}
	fuzz_leave();
	return 0;
}
