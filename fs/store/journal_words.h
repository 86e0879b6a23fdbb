/*
 * journal_words.h - what is in the journal, in words.
 *
 * Threads: any; no state.
 */
#ifndef FS_STORE_JOURNAL_WORDS_H
#define FS_STORE_JOURNAL_WORDS_H

#include "buf.h"
#include "journal_record.h"

#define JOURNAL_OP_LAST JOURNAL_REFUSED

/* "create", "rename", ...; NULL for a number that is no operation. */
const char *journal_op_name(enum journal_op op);

/* As in a diff: A makes a name, D takes one away, R moves it, M changes what
 * is there; r only reads, ! was refused. */
char journal_op_letter(enum journal_op op);

/* The operation called `name`; 0 for none. */
enum journal_op journal_op_parse(const char *name);

/* Whether path2 is a second path in the view, and not an attribute's name. */
bool journal_op_has_second_path(enum journal_op op);

/*
 * Adds a command line as one would type it into a shell: words that need it
 * are in single quotes. `command` is as in struct journal_process.
 */
void journal_add_command(struct buf *buf, const char *command, size_t size);

#endif
