#include "expand.h"

#include <string.h>

#include "failure.h"
#include "strv.h"

#define NAME_CHARS                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* "${NAME:-default}rest" in its parts. */
struct reference {
	const char *name;
	size_t name_len;
	const char *fallback; /* NULL: "${NAME}" */
	size_t fallback_len;
	const char *rest;
};

static const char *closing_brace(const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		depth += text[0] == '{';
		if (*text == '}' && depth-- == 0) {
			return text;
		}
	}
	return NULL;
}

static bool parse_reference(const char *text, struct reference *ret_reference)
{
	struct reference reference = {.name = text + 2};
	const char *end;

	if (strncmp(text, "${", 2) != 0) {
		return false;
	}
	reference.name_len = strspn(reference.name, NAME_CHARS);
	end = closing_brace(text + 2);
	if (reference.name_len == 0 || !end) {
		return false;
	}
	reference.rest = end + 1;
	if (strncmp(reference.name + reference.name_len, ":-", 2) == 0) {
		reference.fallback = reference.name + reference.name_len + 2;
		reference.fallback_len = (size_t)(end - reference.fallback);
	} else if (reference.name + reference.name_len != end) {
		return false;
	}
	*ret_reference = reference;
	return true;
}

static bool leads_up(const char *text)
{
	for (; (text = strstr(text, "..")) != NULL; text += 2) {
		if ((text[2] == '/' || text[2] == '\0') && text[-1] == '/') {
			return true;
		}
	}
	return false;
}

bool expand_valid(const char *text)
{
	struct reference reference;
	AUTO_FREE char *fallback = NULL;

	if (text[0] == '/') {
		return !leads_up(text);
	}
	if (text[0] == '~') {
		return text[1] == '\0' || (text[1] == '/' && !leads_up(text));
	}
	if (!parse_reference(text, &reference) ||
	    (*reference.rest && reference.rest[0] != '/') ||
	    (*reference.rest && leads_up(reference.rest))) {
		return false;
	}
	if (!reference.fallback) {
		return true;
	}
	fallback = text_format("%.*s", (int)reference.fallback_len,
			       reference.fallback);
	return expand_valid(fallback);
}

const char *expand_lookup(char *const *variables, const char *name)
{
	size_t len = strlen(name);

	for (; *variables; variables++) {
		if (strncmp(*variables, name, len) == 0 &&
		    (*variables)[len] == '=') {
			return *variables + len + 1;
		}
	}
	return NULL;
}

char *expand_tidy(const char *text)
{
	char *tidy = text_copy(text);
	char *to = tidy;

	for (const char *from = text; *from;) {
		size_t len;

		while (*from == '/') {
			from++;
		}
		len = strcspn(from, "/");
		if (len == 0 || (len == 1 && *from == '.')) {
			from += len;
			continue;
		}
		*to++ = '/';
		memmove(to, from, len);
		to += len;
		from += len;
	}
	if (to == tidy) {
		*to++ = '/';
	}
	*to = '\0';
	return tidy;
}

static void add_tidy(struct strv *paths, const char *head, const char *rest)
{
	AUTO_FREE char *joined = text_format("%s%s", head, rest);
	AUTO_FREE char *tidy = expand_tidy(joined);

	strv_add(paths, tidy);
}

/* The path in "unix:///x", "unix:path=/x,guid=1" and "/x"; "" where the value
 * is none, such as "tcp://host". */
static char *strip_address(const char *value)
{
	static const char *const prefixes[] = {"unix://",
					       "unix:path=", "file://"};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(value, prefixes[i], len) == 0) {
			value += len;
			return text_format("%.*s", (int)strcspn(value, ",;"),
					   value);
		}
	}
	return text_copy(strstr(value, "://") || strncmp(value, "unix:", 5) == 0
				 ? ""
				 : value);
}

static void add_value(const struct expand *expand, const char *value,
		      const char *rest, struct strv *paths)
{
	AUTO_FREE char *list = strip_address(value);
	char *save = NULL;

	for (char *part = strtok_r(list, ":", &save); part;
	     part = strtok_r(NULL, ":", &save)) {
		AUTO_FREE char *tail = text_format("%s%s", part, rest);

		if (part[0] == '/') {
			add_tidy(paths, tail, "");
		} else if (part[0] == '~' && (part[1] == '/' || !part[1])) {
			add_tidy(paths, expand->home, tail + 1);
		} else if (expand->cwd) {
			AUTO_FREE char *joined =
				text_format("%s/%s", expand->cwd, tail);

			if (!leads_up(joined)) {
				add_tidy(paths, joined, "");
			}
		}
	}
}

static void expand_with_rest(const struct expand *expand, const char *text,
			     const char *rest, struct strv *paths)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *inner = NULL;
	AUTO_FREE char *tail = NULL;
	struct reference reference;
	const char *value;

	if (text[0] == '~') {
		AUTO_FREE char *full = text_format("%s%s", text + 1, rest);

		add_tidy(paths, expand->home, full);
		return;
	}
	if (!parse_reference(text, &reference)) {
		add_tidy(paths, text, rest);
		return;
	}
	name = text_format("%.*s", (int)reference.name_len, reference.name);
	tail = text_format("%s%s", reference.rest, rest);
	value = expand->moved ? expand_lookup(expand->variables, name) : NULL;
	if (value && *value) {
		add_value(expand, value, tail, paths);
	} else if (reference.fallback) {
		inner = text_format("%.*s", (int)reference.fallback_len,
				    reference.fallback);
		expand_with_rest(expand, inner, tail, paths);
	}
}

void expand_path(const struct expand *expand, const char *text,
		 struct strv *paths)
{
	expand_with_rest(expand, text, "", paths);
}

char *expand_variable(const struct expand *expand, const char *text,
		      char **ret_rest)
{
	AUTO_FREE char *name = NULL;
	AUTO_FREE char *inner = NULL;
	AUTO_FREE char *below = NULL;
	struct reference reference;
	const char *value;
	char *found;

	if (!parse_reference(text, &reference)) {
		return NULL;
	}
	name = text_format("%.*s", (int)reference.name_len, reference.name);
	value = expand_lookup(expand->variables, name);
	if (value && *value) {
		*ret_rest = text_copy(reference.rest);
		return TAKE_PTR(name);
	}
	if (!reference.fallback) {
		return NULL;
	}
	inner = text_format("%.*s", (int)reference.fallback_len,
			    reference.fallback);
	found = expand_variable(expand, inner, &below);
	if (found) {
		*ret_rest = text_format("%s%s", below, reference.rest);
	}
	return found;
}
