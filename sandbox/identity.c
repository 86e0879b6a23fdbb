#include "identity.h"

#include <string.h>

#include "child.h"
#include "failure.h"
#include "programs.h"
#include "strv.h"

/* One of "key\nvalue"; a later one overrides, as in git. */
static void take_entry(struct identity *identity, const char *entry)
{
	const char *newline = strchr(entry, '\n');
	char **field;

	if (!newline) {
		return;
	}
	field = strncmp(entry, "user.name\n", strlen("user.name\n")) == 0
			? &identity->name
			: &identity->email;
	free(*field);
	*field = text_copy(newline + 1);
}

void identity_ask(struct child_question *question, const char *checkout)
{
	AUTO_FREE char *git = programs_in_path("git");
	AUTO_STRV argv = {0};

	if (!git) {
		return;
	}
	strv_add_all(&argv, git, "config", "--null", "--get-regexp",
		     "^user\\.(name|email)$", NULL);
	/* What can't be asked has no answer. */
	(void)!child_ask(question, argv.list, checkout, NULL);
}

void identity_find(struct identity *ret_identity,
		   struct child_question *question)
{
	AUTO_BUF output = BUF_INIT;

	*ret_identity = (struct identity){0};
	if (question->output_fd < 0 || child_answer(question, &output) != 0) {
		return;
	}
	for (size_t at = 0; at < output.len;
	     at += strlen(output.data + at) + 1) {
		take_entry(ret_identity, output.data + at);
	}
}

void identity_release(struct identity *identity)
{
	free(identity->name);
	free(identity->email);
	*identity = (struct identity){0};
}
