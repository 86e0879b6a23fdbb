/*
 * identity.h - the person's git name and address, as git would use them in
 * the checkout. ~/.gitconfig is not in the sandbox, so they go into the
 * environment.
 */
#ifndef SANDBOX_IDENTITY_H
#define SANDBOX_IDENTITY_H

#include "compiler.h"

struct signals;

struct identity {
	char *name;  /* owned; NULL: not configured, or there is no git */
	char *email; /* the same */
};

void identity_find(struct identity *ret_identity, const char *checkout,
		   const struct signals *signals);
void identity_release(struct identity *identity);

#endif
