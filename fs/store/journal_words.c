#include "journal_words.h"

#include <string.h>

static const struct {
	const char *name;
	char letter;
} ops[] = {
	[JOURNAL_CREATE] = {"create", 'A'},
	[JOURNAL_MKDIR] = {"mkdir", 'A'},
	[JOURNAL_MKNOD] = {"mknod", 'A'},
	[JOURNAL_SYMLINK] = {"symlink", 'A'},
	[JOURNAL_TMPFILE] = {"tmpfile", 'A'},
	[JOURNAL_LINK] = {"link", 'A'},
	[JOURNAL_UNLINK] = {"unlink", 'D'},
	[JOURNAL_RMDIR] = {"rmdir", 'D'},
	[JOURNAL_RENAME] = {"rename", 'R'},
	[JOURNAL_EXCHANGE] = {"exchange", 'R'},
	[JOURNAL_WRITE] = {"write", 'M'},
	[JOURNAL_TRUNCATE] = {"truncate", 'M'},
	[JOURNAL_FALLOCATE] = {"fallocate", 'M'},
	[JOURNAL_COPY_RANGE] = {"copy_range", 'M'},
	[JOURNAL_CHMOD] = {"chmod", 'M'},
	[JOURNAL_CHOWN] = {"chown", 'M'},
	[JOURNAL_UTIMENS] = {"utimens", 'M'},
	[JOURNAL_SETXATTR] = {"setxattr", 'M'},
	[JOURNAL_REMOVEXATTR] = {"removexattr", 'M'},
	[JOURNAL_READ] = {"read", 'r'},
	[JOURNAL_REFUSED] = {"refused", '!'},
};

const char *journal_op_name(enum journal_op op)
{
	return (size_t)op < ARRAY_SIZE(ops) ? ops[op].name : NULL;
}

char journal_op_letter(enum journal_op op)
{
	return journal_op_name(op) ? ops[op].letter : '?';
}

enum journal_op journal_op_parse(const char *name)
{
	for (size_t i = 1; i < ARRAY_SIZE(ops); i++) {
		if (strcmp(ops[i].name, name) == 0) {
			return (enum journal_op)i;
		}
	}
	return 0;
}

bool journal_op_has_second_path(enum journal_op op)
{
	return op == JOURNAL_LINK || op == JOURNAL_RENAME ||
	       op == JOURNAL_EXCHANGE || op == JOURNAL_COPY_RANGE;
}

static bool is_plain(const char *word, size_t len)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	for (size_t i = 0; i < len; i++) {
		if (!word[i] || !strchr(plain, word[i])) {
			return false;
		}
	}
	return len > 0;
}

static void add_word(struct buf *buf, const char *word, size_t len)
{
	if (is_plain(word, len)) {
		buf_add(buf, word, len);
		return;
	}
	buf_addc(buf, '\'');
	for (size_t i = 0; i < len; i++) {
		if (word[i] == '\'') {
			buf_adds(buf, "'\\''");
		} else {
			buf_addc(buf, word[i]);
		}
	}
	buf_addc(buf, '\'');
}

void journal_add_command(struct buf *buf, const char *command, size_t size)
{
	size_t at = 0;

	/* The last argument ends in a NUL, unless it was cut. */
	while (at < size) {
		size_t len = strnlen(command + at, size - at);

		if (at > 0) {
			buf_addc(buf, ' ');
		}
		add_word(buf, command + at, len);
		at += len + 1;
	}
}
