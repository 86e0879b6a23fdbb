/*
 * identity.h - the person's git name and address, as git would use them in
 * the checkout. ~/.gitconfig is not in the sandbox, so they go into the
 * environment.
 */
#ifndef SANDBOX_IDENTITY_H
#define SANDBOX_IDENTITY_H

#include "compiler.h"

struct child_question;

struct identity {
	char *name;  /* owned; NULL: not configured, or there is no git */
	char *email; /* the same */
};

/* Asks git, which answers meanwhile. Without git nothing is asked. */
void identity_ask(struct child_question *question, const char *checkout);

/* After identity_ask, once. */
void identity_find(struct identity *ret_identity,
		   struct child_question *question);
void identity_release(struct identity *identity);

#endif
