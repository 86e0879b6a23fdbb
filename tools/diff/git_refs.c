#include "git_refs.h"

#include <fcntl.h>
#include <string.h>

#include "content.h"
#include "names.h"

/* A ref's file is one line; packed-refs of 100 000 refs is 10 MiB. */
#define MAX_REF_BYTES    4096
#define MAX_PACKED_BYTES (64UL * 1024 * 1024)

#define PACKED_REFS "packed-refs"
#define STASH_REF   "refs/stash"

struct ref_line {
	const char *name; /* into the text, which is cut up */
	const char *value;
};

struct packed {
	struct buf text;
	struct ref_line *lines; /* by name */
	size_t n;
};

struct comparison {
	struct story *story;
	const struct sides *sides;
	const struct change *items; /* by path */
	size_t n_items;
	struct packed old_packed;
	struct packed new_packed;
	size_t capacity;
};

bool git_refs_is_one(const char *name)
{
	return strcmp(name, "HEAD") == 0 || strcmp(name, PACKED_REFS) == 0 ||
	       strncmp(name, "refs/", strlen("refs/")) == 0;
}

static int compare_lines(const void *a, const void *b)
{
	const struct ref_line *left = a;
	const struct ref_line *right = b;

	return strcmp(left->name, right->name);
}

/* Cuts "ID NAME\n" lines up; "#" begins a comment, "^" what a tag points at. */
static int parse_packed(struct packed *packed)
{
	char *rest = packed->text.data;
	size_t n_lines = 1;
	char *line;

	for (size_t i = 0; i < packed->text.len; i++) {
		n_lines += rest[i] == '\n';
	}
	packed->lines = calloc(n_lines, sizeof(*packed->lines));
	if (!packed->lines) {
		return -ENOMEM;
	}
	while (packed->text.len > 0 && (line = strsep(&rest, "\n"))) {
		char *space = strchr(line, ' ');

		if (space && *line != '#' && *line != '^') {
			*space = '\0';
			packed->lines[packed->n++] = (struct ref_line){
				.name = space + 1, .value = line};
		}
	}
	qsort(packed->lines, packed->n, sizeof(*packed->lines), compare_lines);
	return 0;
}

static const char *find_packed(const struct packed *packed, const char *name)
{
	struct ref_line key = {.name = name};
	const struct ref_line *line =
		packed->n > 0 ? bsearch(&key, packed->lines, packed->n,
					sizeof(key), compare_lines)
			      : NULL;

	return line ? line->value : NULL;
}

static void release_packed(struct packed *packed)
{
	buf_release(&packed->text);
	free(packed->lines);
}

/* The content of a regular file. False where there is none, and where it has
 * more than `max` bytes. `fd` is owned by the caller. */
static bool load_file(struct buf *buf, int fd, size_t max)
{
	struct stat st;

	return fd >= 0 && fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 &&
	       S_ISREG(st.st_mode) && (size_t)st.st_size <= max &&
	       content_load(fd, "", KIND_FILE, buf) == 0;
}

/* One side of `path`, which `change` is of; NULL: it is the base's on both. */
static bool load_side(struct buf *buf, const struct comparison *comparison,
		      const char *path, const struct change *change,
		      bool new_side, size_t max)
{
	AUTO_FD fd = -1;

	if (!change || !new_side) {
		fd = layer_open_path(&comparison->sides->base, path,
				     O_PATH | O_NOFOLLOW);
	} else if (change->new_side.kind == KIND_FILE) {
		fd = content_open_new(comparison->sides, change);
	}
	return load_file(buf, fd, max);
}

static int compare_change(const void *key, const void *element)
{
	const struct change *change = element;

	return strcmp(key, change->path);
}

static const struct change *find_change(const struct comparison *comparison,
					const char *path)
{
	return bsearch(path, comparison->items, comparison->n_items,
		       sizeof(*comparison->items), compare_change);
}

static char *path_of(const struct comparison *comparison, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", comparison->story->dir, name) < 0
		       ? NULL
		       : path;
}

/* The value of a ref on one side, "" for none; the caller frees it. */
static char *value_of(const struct comparison *comparison, const char *name,
		      bool new_side)
{
	AUTO_FREE char *path = path_of(comparison, name);
	AUTO_BUF text = BUF_INIT;
	const char *packed = find_packed(new_side ? &comparison->new_packed
						  : &comparison->old_packed,
					 name);

	if (!path) {
		return NULL;
	}
	if (load_side(&text, comparison, path, find_change(comparison, path),
		      new_side, MAX_REF_BYTES) &&
	    text.len > 0) {
		text.data[strcspn(text.data, "\n")] = '\0';
		return strdup(text.data);
	}
	return strdup(packed ? packed : "");
}

static int add_ref(struct comparison *comparison, const char *name)
{
	struct story *story = comparison->story;
	struct story_ref ref = {.name = strdup(name)};

	if (story->n_refs == comparison->capacity) {
		size_t capacity = 2 * comparison->capacity + 8;
		struct story_ref *refs =
			reallocarray(story->refs, capacity, sizeof(*refs));

		if (!refs) {
			free(ref.name);
			return -ENOMEM;
		}
		story->refs = refs;
		comparison->capacity = capacity;
	}
	ref.old_value = value_of(comparison, name, false);
	ref.new_value = value_of(comparison, name, true);
	story->refs[story->n_refs++] = ref;
	if (!ref.name || !ref.old_value || !ref.new_value) {
		return -ENOMEM;
	}
	if (strcmp(ref.old_value, ref.new_value) == 0) {
		story->n_refs--;
		free(ref.name);
		free(ref.old_value);
		free(ref.new_value);
	}
	return 0;
}

static int load_packed(struct packed *packed,
		       const struct comparison *comparison, bool new_side)
{
	AUTO_FREE char *path = path_of(comparison, PACKED_REFS);

	if (!path) {
		return -ENOMEM;
	}
	(void)load_side(&packed->text, comparison, path,
			find_change(comparison, path), new_side,
			MAX_PACKED_BYTES);
	return parse_packed(packed);
}

/* The refs that may differ: those whose file changed, and the lines that are
 * not the same in both packed-refs. */
static int collect_names(struct names *names,
			 const struct comparison *comparison)
{
	const struct packed *sides[] = {&comparison->old_packed,
					&comparison->new_packed};
	size_t skip = strlen(comparison->story->dir) + 1;
	int error = 0;

	for (size_t i = 0; i < comparison->n_items && !error; i++) {
		const struct change *change = &comparison->items[i];
		const char *name = change->path + skip;
		bool is_file = change->new_side.kind == KIND_FILE ||
			       change->old_side.kind == KIND_FILE;

		if (is_file && git_refs_is_one(name) &&
		    strcmp(name, PACKED_REFS) != 0) {
			error = names_add(names, name);
		}
	}
	for (size_t side = 0; side < ARRAY_SIZE(sides); side++) {
		for (size_t i = 0; i < sides[side]->n && !error; i++) {
			const struct ref_line *line = &sides[side]->lines[i];
			const char *other =
				find_packed(sides[!side], line->name);

			if (!other || strcmp(other, line->value) != 0) {
				error = names_add(names, line->name);
			}
		}
	}
	return error;
}

static int compare_all(struct comparison *comparison)
{
	AUTO_NAMES names = {0};
	int error = load_packed(&comparison->old_packed, comparison, false);

	error = error ? error
		      : load_packed(&comparison->new_packed, comparison, true);
	error = error ? error : collect_names(&names, comparison);
	names_sort(&names);
	for (size_t i = 0; i < names.n && !error; i++) {
		if (strcmp(names.items[i], STASH_REF) != 0 &&
		    (i == 0 ||
		     strcmp(names.items[i], names.items[i - 1]) != 0)) {
			error = add_ref(comparison, names.items[i]);
		}
	}
	return error;
}

int git_refs_compare(struct story *story, const struct sides *sides,
		     const struct change *items, size_t n)
{
	struct comparison comparison = {
		.story = story,
		.sides = sides,
		.items = items,
		.n_items = n,
		.old_packed.text = BUF_INIT,
		.new_packed.text = BUF_INIT,
	};
	int error = compare_all(&comparison);

	release_packed(&comparison.old_packed);
	release_packed(&comparison.new_packed);
	return error;
}
