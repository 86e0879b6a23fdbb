#include "log_tree.h"

#include <string.h>
#include <xxhash.h>

#include "journal_words.h"
#include "log_select.h"
#include "text.h"

#define INDENT     2
#define DEPTH_MAX  40 /* deeper ones are not indented further */
#define FIRST_ROOM 256

/* What one process did with one path. */
struct log_tree_entry {
	uint64_t process;
	char *path;     /* owned, with the view's place, not quoted */
	char *old_path; /* owned; of a rename */
	char letter;
	bool made;    /* by this process */
	bool removed; /* is gone at its end */
	uint64_t bytes;
};

static uint64_t hash_entry(uint64_t process, const char *path)
{
	return XXH3_64bits_withSeed(path, strlen(path), process);
}

/* Where it is, or the empty slot where it would be. */
static size_t *find_slot(const struct log_tree *tree, uint64_t process,
			 const char *path)
{
	size_t mask = tree->n_slots - 1;
	size_t at = hash_entry(process, path) & mask;

	while (tree->slots[at]) {
		const struct log_tree_entry *entry =
			&tree->entries[tree->slots[at] - 1];

		if (entry->process == process &&
		    strcmp(entry->path, path) == 0) {
			break;
		}
		at = (at + 1) & mask;
	}
	return &tree->slots[at];
}

static int make_room(struct log_tree *tree)
{
	size_t capacity = tree->capacity ? tree->capacity * 2 : FIRST_ROOM;
	struct log_tree_entry *entries;

	if (tree->n < tree->capacity) {
		return 0;
	}
	entries = reallocarray(tree->entries, capacity, sizeof(*entries));
	if (!entries) {
		return -ENOMEM;
	}
	tree->entries = entries;
	free(tree->slots);
	tree->n_slots = capacity * 2;
	tree->slots = calloc(tree->n_slots, sizeof(*tree->slots));
	if (!tree->slots) {
		return -ENOMEM;
	}
	tree->capacity = capacity;
	for (size_t i = 0; i < tree->n; i++) {
		*find_slot(tree, entries[i].process, entries[i].path) = i + 1;
	}
	return 0;
}

/* The entry of `path`, made where missing; NULL when out of memory. */
static struct log_tree_entry *get_entry(struct log_tree *tree, uint64_t process,
					const char *path)
{
	size_t *slot;
	char *copy;

	if (make_room(tree)) {
		return NULL;
	}
	slot = find_slot(tree, process, path);
	if (!*slot) {
		copy = strdup(path);
		if (!copy) {
			return NULL;
		}
		tree->entries[tree->n++] = (struct log_tree_entry){
			.process = process,
			.path = copy,
		};
		*slot = tree->n;
	}
	return &tree->entries[*slot - 1];
}

/* A file that came from `old_path`: made, where this process made that. */
static int add_rename(struct log_tree *tree, uint64_t process,
		      const char *old_path, const char *path)
{
	struct log_tree_entry *entry = get_entry(tree, process, old_path);
	uint64_t bytes;
	bool made;

	if (!entry) {
		return -ENOMEM;
	}
	made = entry->made;
	bytes = entry->bytes;
	entry->removed = true;
	/* It is told by the other one's line. */
	entry->made = true;
	entry = get_entry(tree, process, path);
	if (!entry) {
		return -ENOMEM;
	}
	entry->letter = made ? 'A' : 'R';
	entry->made = made;
	entry->removed = false;
	entry->bytes = bytes;
	if (!made) {
		free(entry->old_path);
		entry->old_path = strdup(old_path);
	}
	return made || entry->old_path ? 0 : -ENOMEM;
}

static int add_change(struct log_tree *tree,
		      const struct journal_record *record, const char *path,
		      char letter)
{
	struct log_tree_entry *entry = get_entry(tree, record->process, path);

	if (!entry) {
		return -ENOMEM;
	}
	if (letter == 'D') {
		entry->removed = true;
		entry->bytes = 0;
	} else if (letter == 'A') {
		/* Removed and made again is changed. */
		entry->made = !entry->letter || entry->made;
		entry->removed = false;
	}
	if (!entry->letter) {
		entry->letter = letter;
	} else if (letter == 'D' || (letter == 'A' && entry->letter == 'D')) {
		entry->letter = letter == 'D' ? 'D' : 'M';
	}
	if (record->op == JOURNAL_WRITE || record->op == JOURNAL_COPY_RANGE) {
		entry->bytes += record->bytes > 0 ? (uint64_t)record->bytes : 0;
	}
	return 0;
}

int log_tree_add(struct log_tree *tree, const struct log_lines *lines,
		 const struct journal_record *record)
{
	char letter = journal_op_letter(record->op);
	AUTO_BUF path = BUF_INIT;
	AUTO_BUF path2 = BUF_INIT;

	if (record->result || record->nameless || !strchr("ADMR", letter)) {
		return 0;
	}
	log_add_place(&path, lines->manifest, record->view);
	buf_adds(&path, record->path);
	if (journal_op_has_second_path(record->op) && record->path2) {
		log_add_place(&path2, lines->manifest, record->view);
		buf_adds(&path2, record->path2);
	}
	if (buf_error(&path) || buf_error(&path2)) {
		return -ENOMEM;
	}
	if (record->op == JOURNAL_RENAME) {
		return add_rename(tree, record->process, path.data, path2.data);
	}
	if (record->op == JOURNAL_EXCHANGE) {
		int error = add_change(tree, record, path2.data, 'M');

		return error ? error : add_change(tree, record, path.data, 'M');
	}
	return add_change(tree, record,
			  record->op == JOURNAL_LINK ? path2.data : path.data,
			  letter);
}

/* ---------------------------------------------------------------- output */

/* Numbers are indexes; 0 is the root of those whose parent isn't known. */
struct family {
	uint64_t n; /* of processes, and the root */
	uint64_t *first_child;
	uint64_t *next_sibling;
	size_t *first_entry; /* index + 1 */
	size_t *next_entry;  /* by entry */
	bool *shown;
};

static void release_family(struct family *family)
{
	free(family->first_child);
	free(family->next_sibling);
	free(family->first_entry);
	free(family->next_entry);
	free(family->shown);
}

static uint64_t parent_of(const struct log_lines *lines, uint64_t number)
{
	const struct journal_process *process =
		history_process(lines->history, number);

	/* A parent has the lower number; what differs is damage. */
	return process && process->parent < number ? process->parent : 0;
}

static int make_family(struct family *family, const struct log_tree *tree,
		       const struct log_lines *lines)
{
	uint64_t n = 1;

	for (size_t i = 0; i < tree->n; i++) {
		if (tree->entries[i].process >= n) {
			n = tree->entries[i].process + 1;
		}
	}
	family->n = n;
	family->first_child = calloc(n, sizeof(*family->first_child));
	family->next_sibling = calloc(n, sizeof(*family->next_sibling));
	family->first_entry = calloc(n, sizeof(*family->first_entry));
	family->next_entry = calloc(tree->n + 1, sizeof(*family->next_entry));
	family->shown = calloc(n, sizeof(*family->shown));
	if (!family->first_child || !family->next_sibling ||
	    !family->first_entry || !family->next_entry || !family->shown) {
		return -ENOMEM;
	}
	/* From behind, so that each list is in order. */
	for (size_t i = tree->n; i-- > 0;) {
		uint64_t process = tree->entries[i].process;

		family->next_entry[i] = family->first_entry[process];
		family->first_entry[process] = i + 1;
		family->shown[process] = true;
	}
	for (uint64_t i = n; i-- > 1;) {
		uint64_t parent = parent_of(lines, i);

		if (family->shown[i]) {
			family->shown[parent] = true;
			family->next_sibling[i] = family->first_child[parent];
			family->first_child[parent] = i;
		}
	}
	return 0;
}

static void write_entry(const struct log_lines *lines,
			const struct log_tree_entry *entry, int indent)
{
	AUTO_BUF line = BUF_INIT;

	buf_addf(&line, "%*s%s%c ", indent, "",
		 log_color(entry->letter, lines->color), entry->letter);
	if (entry->old_path) {
		buf_add_quoted(&line, entry->old_path);
		buf_adds(&line, " -> ");
	}
	buf_add_quoted(&line, entry->path);
	buf_adds(&line, log_color_end(lines->color));
	if (entry->bytes) {
		buf_adds(&line, "  ");
		text_add_size(&line, entry->bytes);
	}
	buf_addc(&line, '\n');
	fwrite(line.data, 1, line.len, lines->out);
}

static void write_entries(const struct log_tree *tree,
			  const struct log_lines *lines,
			  const struct family *family, uint64_t process,
			  int indent)
{
	size_t temporary = 0;

	for (size_t i = family->first_entry[process]; i;
	     i = family->next_entry[i - 1]) {
		const struct log_tree_entry *entry = &tree->entries[i - 1];

		if (!entry->removed) {
			write_entry(lines, entry, indent);
		} else if (!entry->made) {
			write_entry(lines, entry, indent);
		} else if (entry->letter) {
			temporary++;
		}
	}
	if (temporary) {
		fprintf(lines->out, "%*s(%zu temporary)\n", indent, "",
			temporary);
	}
}

static void write_process(const struct log_lines *lines, uint64_t number,
			  int indent, unsigned int width)
{
	/* What is deep inside gets some room even so. */
	const unsigned int least = 24;
	unsigned int taken = (unsigned int)indent + 3;
	AUTO_BUF line = BUF_INIT;

	if (width) {
		width = width > taken + least ? width - taken : least;
	}
	history_add_process(&line, lines->history, number, width);
	fprintf(lines->out, "%*s%s%s%s\n", indent, "",
		lines->color ? "\033[1m" : "", line.data,
		log_color_end(lines->color));
}

/* Where the tree begins: the daemon knows processes up to the first of all, but
 * a reader only wants to see from the first on that did something, or from
 * which several lead on. 0 where there are several from the beginning. */
static uint64_t find_top(const struct family *family)
{
	uint64_t at = 0;

	while (!family->first_entry[at] && family->first_child[at] &&
	       !family->next_sibling[family->first_child[at]]) {
		at = family->first_child[at];
	}
	return at;
}

int log_tree_write(struct log_tree *tree, const struct log_lines *lines,
		   unsigned int width)
{
	AUTO(release_family) struct family family = {0};
	int error = make_family(&family, tree, lines);
	uint64_t top;
	uint64_t at;
	int depth = 0;

	if (error) {
		return error;
	}
	top = find_top(&family);
	at = top;
	/* Down to the first child, else on to the next sibling, or to that of
	 * the nearest one above that has any. */
	for (;;) {
		int indent = (depth < DEPTH_MAX ? depth : DEPTH_MAX) * INDENT;

		if (at || family.first_entry[0]) {
			write_process(lines, at, indent, width);
			write_entries(tree, lines, &family, at,
				      indent + 2 * INDENT);
		}
		if (family.first_child[at]) {
			/* Whose parent isn't known stands at the margin. */
			depth += at != 0;
			at = family.first_child[at];
			continue;
		}
		while (at != top && !family.next_sibling[at]) {
			at = parent_of(lines, at);
			depth -= at != 0;
		}
		if (at == top) {
			return 0;
		}
		at = family.next_sibling[at];
	}
}

void log_tree_release(struct log_tree *tree)
{
	for (size_t i = 0; i < tree->n; i++) {
		free(tree->entries[i].path);
		free(tree->entries[i].old_path);
	}
	free(tree->entries);
	free(tree->slots);
	*tree = (struct log_tree){0};
}
