/*
 * requests.c - sequences of the kernel's requests on the core, in any order and
 * with any arguments; the base changes meanwhile.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attr.h"
#include "create.h"
#include "dirlist.h"
#include "file.h"
#include "fuzz.h"
#include "rename.h"
#include "temp.h"
#include "unlink.h"

#define HELD       24 /* what the kernel knows at a time */
#define MAX_STEPS  96
#define DATA_BYTES 4096
#define OFF_MASK   0xfffff

static struct fs fs;
static struct node *held[HELD]; /* each looked up once */

/* The root, or one of those that are held. */
static struct node *choose(struct input *input)
{
	struct node *node = held[input_choice(input, HELD)];

	return node ? node : fs.root;
}

static void forget(unsigned int at)
{
	if (held[at]) {
		node_forget(&fs.nodes, held[at], 1);
		held[at] = NULL;
	}
}

/* What a reply with an entry does. */
static void hold(struct input *input, struct entry *entry)
{
	unsigned int at = input_choice(input, HELD);

	forget(at);
	node_add_lookup(&fs.nodes, entry->node);
	held[at] = entry->node;
	node_put(&fs.nodes, entry->node);
}

static void took(struct input *input, int error, struct entry *entry,
		 const char *what)
{
	fuzz_check(error, what);
	if (!error) {
		hold(input, entry);
	}
}

/* Requests on a directory: the kernel never sends them for anything else. */
static struct node *choose_dir(struct input *input)
{
	struct node *node = choose(input);

	return node_is_dir(node) ? node : fs.root;
}

static void do_lookup(struct input *input)
{
	struct node *dir = choose_dir(input);
	struct entry entry;
	enum missing missing;

	took(input, op_lookup(&fs, dir, input_name(input), &entry, &missing),
	     &entry, "lookup");
}

static void do_make(struct input *input)
{
	struct node *dir = choose_dir(input);
	const char *name = input_name(input);
	mode_t mode = (mode_t)(input_word(input) & 07777);
	struct entry entry;
	int error;

	switch (input_choice(input, 6)) {
	case 0:
		error = op_create(&fs, dir, name, mode, &fuzz_caller, &entry);
		break;
	case 1:
		error = op_mkdir(&fs, dir, name, mode, &fuzz_caller, &entry);
		break;
	case 2:
		error = op_symlink(&fs, dir, name, input_name(input),
				   &fuzz_caller, &entry);
		break;
	case 3:
		error = op_mknod(&fs, dir, name, S_IFIFO | mode, 0,
				 &fuzz_caller, &entry);
		break;
	case 4: /* a whiteout for a layer of its own */
		error = op_mknod(&fs, dir, name, S_IFCHR | mode, 0,
				 &fuzz_caller, &entry);
		break;
	default:
		error = op_tmpfile(&fs, dir, mode, &fuzz_caller, &entry);
		break;
	}
	took(input, error, &entry, "make");
}

static void do_link(struct input *input)
{
	struct node *node = choose(input);
	struct node *dir = choose_dir(input);
	struct entry entry;

	took(input,
	     op_link(&fs, node, dir, input_name(input), &fuzz_caller, &entry),
	     &entry, "link");
}

static void do_remove(struct input *input)
{
	struct node *dir = choose_dir(input);
	const char *name = input_name(input);

	fuzz_check(input_byte(input) & 1
			   ? op_rmdir(&fs, dir, name, &fuzz_caller)
			   : op_unlink(&fs, dir, name, &fuzz_caller),
		   "remove");
}

static void do_rename(struct input *input)
{
	struct node *from_dir = choose_dir(input);
	const char *from = input_name(input);
	struct node *to_dir = choose_dir(input);
	const char *to = input_name(input);

	fuzz_check(op_rename(&fs, from_dir, from, to_dir, to,
			     input_choice(input, 8), &fuzz_caller),
		   "rename");
}

static void do_setattr(struct input *input)
{
	struct node *node = choose(input);
	struct attr_change change = {
		.flags = input_byte(input),
		.mode = (mode_t)input_word(input),
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.size = (off_t)(input_word(input) & OFF_MASK),
		.times = {{input_byte(input), UTIME_OMIT},
			  {input_byte(input), input_byte(input)}},
	};
	struct stat st;

	fuzz_check(op_setattr(&fs, node, &change, &fuzz_caller, &st),
		   "setattr");
}

static void do_read(struct input *input)
{
	struct node *node = choose(input);
	char data[DATA_BYTES];
	struct stat st;

	if (S_ISREG(node->type)) {
		fuzz_check(op_read(node, data, sizeof(data),
				   (off_t)(input_word(input) & OFF_MASK)),
			   "read");
		fuzz_check(
			op_lseek(node, (off_t)(input_word(input) & OFF_MASK),
				 input_byte(input) & 1 ? SEEK_DATA : SEEK_HOLE),
			"lseek");
	} else if (S_ISLNK(node->type)) {
		fuzz_check(op_readlink(node, data, sizeof(data)), "readlink");
	}
	fuzz_check(op_getattr(&fs, node, &st), "getattr");
}

static void do_write(struct input *input)
{
	struct node *node = choose(input);
	off_t off = (off_t)(input_word(input) & OFF_MASK);
	size_t size;
	const uint8_t *data = input_bytes(input, input_byte(input), &size);

	if (S_ISREG(node->type)) {
		fuzz_check(op_write(&fs, node, data, size, off, &fuzz_caller),
			   "write");
	}
}

static void do_space(struct input *input)
{
	struct node *node = choose(input);
	struct node *other = choose(input);
	off_t off = (off_t)(input_word(input) & OFF_MASK);
	off_t size = (off_t)(input_word(input) & OFF_MASK);

	if (!S_ISREG(node->type)) {
		return;
	}
	fuzz_check(op_fallocate(&fs, node, input_byte(input), off, size,
				&fuzz_caller),
		   "fallocate");
	if (S_ISREG(other->type)) {
		fuzz_check(op_copy_file_range(&fs, node, off, other, off,
					      (size_t)size, &fuzz_caller),
			   "copy_file_range");
	}
	fuzz_check(op_fsync(node, input_byte(input) & 1), "fsync");
}

static void do_attr(struct input *input)
{
	struct node *node = choose(input);
	const char *attr = input_attr(input);
	char value[DATA_BYTES];
	size_t size;
	const uint8_t *data = input_bytes(input, input_byte(input), &size);

	fuzz_check(op_setxattr(&fs, node, attr, data, size,
			       input_choice(input, 4), &fuzz_caller),
		   "setxattr");
	fuzz_check(op_getxattr(node, attr, value,
			       input_word(input) % sizeof(value)),
		   "getxattr");
	fuzz_check(op_listxattr(node, value, sizeof(value)), "listxattr");
	if (input_byte(input) & 1) {
		fuzz_check(op_removexattr(&fs, node, attr, &fuzz_caller),
			   "removexattr");
	}
}

static void do_list(struct input *input)
{
	struct node *dir = choose_dir(input);
	bool plus = input_byte(input) & 1;
	struct dirlist *list;
	int error = dirlist_current(&fs, dir, &list);

	fuzz_check(error, "list");
	if (error) {
		return;
	}
	for (size_t i = dirlist_after(list, input_byte(input)); i < list->count;
	     i++) {
		struct entry entry = {0};
		const char *name = dirlist_name(list, i);

		error = dirlist_stat(&fs, dir, name, plus, &entry);
		fuzz_check(error, "list entry");
		if (!error && entry.node) {
			hold(input, &entry);
		}
	}
	dirlist_put(list);
}

/* Somebody else changes the base. */
static void change_base(struct input *input)
{
	const char *base = input_byte(input) & 1 ? "base" : "base2";
	char from[NAME_MAX * 2];
	char to[NAME_MAX * 2];
	int result;

	snprintf(from, sizeof(from), "%s/d/%s", base, input_name(input));
	snprintf(to, sizeof(to), "%s/%s", base, input_name(input));
	switch (input_choice(input, 4)) {
	case 0:
		result = rename(from, to);
		break;
	case 1:
		result = rename(to, from);
		break;
	case 2:
		result = mkdir(to, 0755);
		break;
	default:
		result = remove(to);
		break;
	}
	(void)result; /* whatever came of it */
}

static void (*const requests[])(struct input *input) = {
	do_lookup, do_lookup, do_make,    do_make,     do_link,
	do_remove, do_rename, do_setattr, do_read,     do_write,
	do_space,  do_attr,   do_list,    change_base,
};

/* Some files of each kind, and a file with two names. */
static void fill_base(const char *base)
{
	char path[64];

	for (const char *const *name =
		     (const char *const[]){"d", "d/e", "d/f", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", base, *name);
		if (mkdir(path, 0755)) {
			return;
		}
	}
	for (const char *const *name =
		     (const char *const[]){"a", "d/a", "d/e/b", NULL};
	     *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", base, *name);
		temp_write(path, path, strlen(path));
	}
	snprintf(path, sizeof(path), "%s/b", base);
	if (symlink("d", path)) {
		return;
	}
	snprintf(path, sizeof(path), "%s/d/c", base);
	if (link("base/a", path)) {
		return;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};

	fuzz_enter();
	fill_base("base");
	fill_base("base2");
	if (fuzz_start(&fs, input_byte(&input) & 1)) {
		for (int i = 0; i < MAX_STEPS && input.size; i++) {
			requests[input_choice(&input, ARRAY_SIZE(requests))](
				&input);
		}
		for (unsigned int i = 0; i < HELD; i++) {
			forget(i);
		}
		fuzz_stop(&fs);
	}
	fuzz_leave();
	return 0;
}
