/*
 * Compares the transcripts of a plain directory and of a view, section by
 * section and label by label.
 *
 * expected-differences.md is read as it is for people: each table row that
 * begins with "| `" holds three patterns (fnmatch) and a reason:
 * `case/state: label`, the plain value, the view's value. A value that is not
 * there at all is "-".
 */
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "die.h"
#include "parity.h"

#define SHOWN_DIFFERENCES 12
#define NOT_THERE         "-"

struct line {
	char *label;
	char *value;
	bool seen;
};

struct section {
	char *name;
	struct line *lines;
	size_t count;
};

struct transcript {
	struct section *sections;
	size_t count;
};

struct expectation {
	char *where;
	char *plain;
	char *view;
	bool used;
};

static struct expectation *expectations;
static size_t expectation_count;

/* One more element for an array; ends the program when out of memory. */
static void *grow(void *array, size_t count, size_t size)
{
	array = reallocarray(array, count + 1, size);
	if (!array) {
		die("out of memory");
	}
	return array;
}

static FILE *open_text(const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file) {
		die("can't open '%s'", path);
	}
	return file;
}

static void add_line(struct section *section, char *text)
{
	char *middle = strstr(text, " = ");

	if (!middle) {
		middle = text + strlen(text);
	} else {
		*middle = '\0';
		middle += strlen(" = ");
	}
	section->lines =
		grow(section->lines, section->count, sizeof(*section->lines));
	section->lines[section->count++] =
		(struct line){.label = strdup(text), .value = strdup(middle)};
}

static struct transcript read_transcript(const char *path)
{
	struct transcript transcript = {0};
	FILE *file = open_text(path);
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	while ((len = getline(&text, &size, file)) > 0) {
		text[len - 1] = '\0';
		if (strncmp(text, "== ", 3) == 0) {
			transcript.sections =
				grow(transcript.sections, transcript.count,
				     sizeof(struct section));
			transcript.sections[transcript.count++] =
				(struct section){.name = strdup(text + 3)};
		} else if (transcript.count) {
			add_line(&transcript.sections[transcript.count - 1],
				 text);
		}
	}
	free(text);
	fclose(file);
	return transcript;
}

/* The text between the next two backquotes; moves `at` behind it. */
static char *next_quoted(char **at)
{
	char *begin = *at ? strchr(*at, '`') : NULL;
	char *end = begin ? strchr(begin + 1, '`') : NULL;

	if (!end) {
		return NULL;
	}
	*end = '\0';
	*at = end + 1;
	return strdup(begin + 1);
}

static void read_expectations(const char *path)
{
	FILE *file = open_text(path);
	char *text = NULL;
	size_t size = 0;

	while (getline(&text, &size, file) > 0) {
		struct expectation e = {0};
		char *at = text;

		if (strncmp(text, "| `", 3) != 0) {
			continue;
		}
		e.where = next_quoted(&at);
		e.plain = next_quoted(&at);
		e.view = next_quoted(&at);
		if (!e.view) {
			die("'%s': a row without three patterns", path);
		}
		expectations = grow(expectations, expectation_count, sizeof(e));
		expectations[expectation_count++] = e;
	}
	free(text);
	fclose(file);
}

static bool expected(const char *section, const char *label, const char *plain,
		     const char *view)
{
	AUTO_FREE char *where = NULL;

	if (asprintf(&where, "%s: %s", section, label) < 0) {
		die("out of memory");
	}
	for (size_t i = 0; i < expectation_count; i++) {
		struct expectation *e = &expectations[i];

		if (fnmatch(e->where, where, 0) == 0 &&
		    fnmatch(e->plain, plain, 0) == 0 &&
		    fnmatch(e->view, view, 0) == 0) {
			e->used = true;
			return true;
		}
	}
	return false;
}

static struct line *find_line(struct section *section, const char *label)
{
	for (size_t i = 0; i < section->count; i++) {
		if (strcmp(section->lines[i].label, label) == 0) {
			return &section->lines[i];
		}
	}
	return NULL;
}

static struct section *find_section(struct transcript *transcript,
				    const char *name)
{
	for (size_t i = 0; i < transcript->count; i++) {
		if (strcmp(transcript->sections[i].name, name) == 0) {
			return &transcript->sections[i];
		}
	}
	return NULL;
}

struct outcome {
	size_t unexpected;
	size_t accepted;
	char *details; /* TAP comments, shown after the test's line */
	size_t details_size;
	FILE *to_details;
};

static void judge(struct outcome *outcome, const char *section,
		  const char *label, const char *plain, const char *view)
{
	if (strcmp(plain, view) == 0) {
		return;
	}
	if (expected(section, label, plain, view)) {
		outcome->accepted++;
		return;
	}
	if (outcome->unexpected++ < SHOWN_DIFFERENCES) {
		fprintf(outcome->to_details,
			"#   %s\n#     plain: %s\n#     view:  %s\n", label,
			plain, view);
	}
}

static void judge_section(struct outcome *outcome, struct section *plain,
			  struct section *view)
{
	for (size_t i = 0; i < plain->count; i++) {
		struct line *here = &plain->lines[i];
		struct line *there = find_line(view, here->label);

		if (there) {
			there->seen = true;
		}
		judge(outcome, plain->name, here->label, here->value,
		      there ? there->value : NOT_THERE);
	}
	for (size_t i = 0; i < view->count; i++) {
		if (!view->lines[i].seen) {
			judge(outcome, plain->name, view->lines[i].label,
			      NOT_THERE, view->lines[i].value);
		}
	}
}

/*
 * A state that the view could not get into: one difference, not one for each
 * call that followed on the plain directory. Listed in the expected ones, it
 * is a debt (TODO), never a pass. True if this was the case, then *ret_passed.
 */
static bool report_unreached(size_t number, struct section *plain,
			     struct section *view, bool *ret_passed)
{
	struct line *line = find_line(view, "set-up");

	if (!line || find_line(plain, "set-up")) {
		return false;
	}
	*ret_passed = expected(plain->name, "set-up", NOT_THERE, line->value);
	printf("not ok %zu - %s%s\n#   set-up: %s\n", number, plain->name,
	       *ret_passed ? " # TODO state not reached" : "", line->value);
	return true;
}

/* Prints the test's line; true if it passed. */
static bool report(size_t number, struct section *plain, struct section *view)
{
	struct outcome outcome = {0};
	struct section none = {0};
	bool passed;

	if (view && report_unreached(number, plain, view, &passed)) {
		return passed;
	}
	if (plain->count == 1 &&
	    strcmp(plain->lines[0].label, "skipped") == 0) {
		printf("ok %zu - %s # SKIP %s\n", number, plain->name,
		       plain->lines[0].value);
		return true;
	}
	outcome.to_details =
		open_memstream(&outcome.details, &outcome.details_size);
	judge_section(&outcome, plain, view ? view : &none);
	fclose(outcome.to_details);
	printf("%sok %zu - %s", outcome.unexpected ? "not " : "", number,
	       plain->name);
	if (outcome.accepted) {
		printf(" (%zu expected differences)", outcome.accepted);
	}
	printf("\n%s", outcome.details);
	if (outcome.unexpected > SHOWN_DIFFERENCES) {
		printf("#   and %zu more\n",
		       outcome.unexpected - SHOWN_DIFFERENCES);
	}
	free(outcome.details);
	return outcome.unexpected == 0;
}

int compare(const char *plain_path, const char *view_path,
	    const char *expected_path)
{
	/* static: kept until the program ends */
	static struct transcript plain;
	static struct transcript view;
	size_t failed = 0;

	plain = read_transcript(plain_path);
	view = read_transcript(view_path);
	read_expectations(expected_path);
	if (plain.count == 0) {
		printf("1..1\nnot ok 1 - the plain transcript is empty\n");
		return 1;
	}
	printf("1..%zu\n", plain.count);
	for (size_t i = 0; i < plain.count; i++) {
		struct section *section = &plain.sections[i];

		failed += !report(i + 1, section,
				  find_section(&view, section->name));
	}
	for (size_t i = 0; i < expectation_count; i++) {
		if (!expectations[i].used) {
			printf("# not seen this time: %s\n",
			       expectations[i].where);
		}
	}
	return failed != 0;
}
